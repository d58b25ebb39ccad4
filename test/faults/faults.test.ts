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
import { after, test } from 'node:test'
import { runInNamespaces } from './namespaces.test.helper.js'
import { bundlePrograms } from './programs.test.helper.js'

type Report = { problems: number; failing: string[]; payments: number; budgetReached: boolean }

const seconds = process.env['LATCHKEY_FAULTS_SECONDS']
const seed =
  process.env['LATCHKEY_FAULTS_SEED'] ?? (process.env['CI'] === undefined ? String(Date.now() % 2 ** 31) : '1')

const runs = [
  { claims: 'postgres', shortSeconds: 8 },
  { claims: 'redis', shortSeconds: 5 },
  { claims: 'sqlite', shortSeconds: 5 },
]
const only = process.env['LATCHKEY_FAULTS_CLAIMS']
const leases = process.env['LATCHKEY_FAULTS_LEASES'] ?? 'renewed'
/** The buyers of each of two processes. The faults take the time; more buyers only make more of the same purchases. */
const buyers = seconds === undefined ? 5 : 10
const programs = await bundlePrograms({ after })

for (const { claims, shortSeconds } of runs.filter((one) => only === undefined || one.claims === only)) {
  const length = Number(seconds ?? shortSeconds)
  const name = `${length} seconds of faults, with the claims of gates in ${claims}`
  test(name, { timeout: 900_000 + length * 2_000 }, async (t) => {
    const { lines } = await runInNamespaces(t, 'run', {
      FAULTS_CLAIMS: claims,
      FAULTS_SECONDS: String(length),
      FAULTS_SEED: seed,
      FAULTS_LEASES: leases,
      FAULTS_BUYERS: String(buyers),
      FAULTS_PROGRAMS: programs,
    })
    const report = lines[0] as Report
    process.stdout.write(`${JSON.stringify(report)}\n`)
    assert.equal(report.problems, 0, report.failing.join('\n'))
    assert.ok(report.payments > 0)
  })
}
