/**
 * Runs three replicas of a facilitator, two gates of a seller, PostgreSQL and two nodes on hosts of a simulated
 * network, with load from many buyers. Processes are killed, the database is restarted and killed, connections are cut,
 * packets are lost, nodes lag, accept and forget, and clocks are off by a minute. Afterwards ledger, database, and the
 * sellers' and buyers' records agree to the unit: no purchase is paid twice, every payment has its answer, and no fee
 * is over budget. LATCHKEY_FAULTS_SECONDS=300 extends the run, LATCHKEY_FAULTS_SEED sets the random seed,
 * LATCHKEY_FAULTS_LOG keeps the logs, LATCHKEY_FAULTS_CLAIMS=sqlite uses only one store, and
 * LATCHKEY_FAULTS_LEASES=long turns off renewals.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNamespaces } from './namespaces.test.helper.js'

type Report = { claims: string; problems: number; failing: string[]; payments: number; budgetReached: boolean }

const seconds = process.env['LATCHKEY_FAULTS_SECONDS']
const seed =
  process.env['LATCHKEY_FAULTS_SEED'] ?? (process.env['CI'] === undefined ? String(Date.now() % 2 ** 31) : '1')

const shortRuns = [
  { claims: 'postgres', shortSeconds: 8 },
  { claims: 'redis', shortSeconds: 5 },
  { claims: 'sqlite', shortSeconds: 5 },
]
const only = process.env['LATCHKEY_FAULTS_CLAIMS']
const leases = process.env['LATCHKEY_FAULTS_LEASES'] ?? 'renewed'
/**
 * The buyers of each of two processes, and their pauses. The faults take the time; more buyers and shorter pauses only
 * make more of the same purchases.
 */
const load =
  seconds === undefined
    ? { FAULTS_BUYERS: '5', FAULTS_PAUSE_MS: '250' }
    : { FAULTS_BUYERS: '10', FAULTS_PAUSE_MS: '100' }
const runs = shortRuns
  .filter(({ claims }) => only === undefined || claims === only)
  .map(({ claims, shortSeconds }) => ({ claims, length: Number(seconds ?? shortSeconds) }))
const inAll = runs.reduce((sum, { length }) => sum + length, 0)

test('faults', { timeout: 2_400_000 * runs.length + inAll * 2_000 }, async (t) => {
  const { lines } = await runInNamespaces(t, 'run', {
    FAULTS_RUNS: runs.map(({ claims, length }) => `${claims}:${length}`).join(','),
    FAULTS_SEED: seed,
    FAULTS_LEASES: leases,
    ...load,
  })
  for (const { claims, length } of runs) {
    await t.test(`${length} seconds of faults, with the claims of gates in ${claims}`, () => {
      const report = (lines as Report[]).find((line) => line.claims === claims)!
      process.stdout.write(`${JSON.stringify(report)}\n`)
      assert.equal(report.problems, 0, report.failing.join('\n'))
      assert.ok(report.payments > 0)
    })
  }
})
