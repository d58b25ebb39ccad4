/**
 * Runs fault tests from start to end in separate namespaces: load and faults, then everything heals, every purchase
 * ends, every settlement is requested once more at each replica, and all records are compared. Prints one line of JSON
 * for each store of claims. They use the same ledger and database server, one after the other.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, Random } from '../x402/soakRandom.test.helper.js'
import { askAgain } from './askAgain.test.helper.js'
import { compareBooks } from './books.test.helper.js'
import {
  type ClaimsEngine,
  type Cluster,
  endClaims,
  feeMicroAlgos,
  type Ground,
  openCluster,
  openGround,
  post,
  query,
  startServers,
  unfinishedAt,
} from './Cluster.test.helper.js'
import { checkHistory } from './checkHistory.test.helper.js'
import { faultAtRandom, heal } from './faultKinds.test.helper.js'
import {
  HistoryLog,
  type LedgerLine,
  type Line,
  lastRound,
  openIntents,
  ownLines,
  readLedger,
  readLines,
} from './history.test.helper.js'
import { readSales, recoverSales } from './salesBooks.test.helper.js'
import { setting } from './settings.test.helper.js'
import { recoverWork } from './usageWork.test.helper.js'
import { waitsBehindKilled } from './waits.test.helper.js'

const root = setting('FAULTS_DIRECTORY')
/** The stores of claims, each with its seconds of faults, like `postgres:8,sqlite:5`. */
const runs = setting('FAULTS_RUNS')
  .split(',')
  .map((run) => run.split(':') as [ClaimsEngine, string])
const seed = Number(setting('FAULTS_SEED'))
const buyers = Number(setting('FAULTS_BUYERS'))
const env = { FAULTS_PAUSE_MS: setting('FAULTS_PAUSE_MS') }
/** Longer than an authorization of `maxUsageSeconds` is valid. */
const roundsToExpire = 500
/**
 * Once all faults are over, buyers have time as long as a purchase ends in these minutes: how fast they are depends on the
 * machine. A buyer that waits for something that never comes is ended after that.
 */
const lastChanceMs = 180_000
/** How long a phase of the end takes at most. What is open then is reported. */
const maxPhaseMs = 600_000
const pollMs = 5_000

/** Leases that are not renewed last for minutes. */
const isRenewed = setting('FAULTS_LEASES') === 'renewed'

const ends: (() => unknown)[] = []

async function run(ground: Ground, claims: ClaimsEngine, seconds: number): Promise<object> {
  const startedMs = performance.now()
  const directory = join(root, claims)
  const log = (text: string): void => {
    const line = `${((performance.now() - startedMs) / 1_000).toFixed(1)} ${text}\n`
    appendFileSync(join(directory, 'faults.log'), line)
  }
  const budget = Math.max(8, Math.round(seconds))
  const firstRound = await lastRound(ground.ledger)
  const options = { directory, claims, replicas: 3, gates: 2, buyers: [2, buyers] as const, budget, env }
  const cluster = await openCluster(ground, options)
  await startServers(cluster)
  await Promise.all(cluster.buyers.map((service) => service.start()))
  log('load')
  const counts = new Counter()
  const endsAt = performance.now() + seconds * 1_000
  const isOver = (): boolean => performance.now() > endsAt
  const history = new HistoryLog(directory, 'faults')
  const onKilled = (victim: string): void => history.add({ type: 'killed', victim })
  await faultAtRandom(cluster, { random: new Random(seed), counts, log, isOver, onKilled })
  log('healed')
  await heal(cluster)
  await finish(cluster, log)
  log('every settlement is asked for again')
  await askAgain(cluster)
  log('what killed gates have not recorded is looked up')
  await recoverSales(cluster)
  log('ends')
  const ledger = ownLines(cluster, await readLedger(ground.ledger, firstRound))
  const facts = { seconds, seed, claims, secondsInAll: Math.round((performance.now() - startedMs) / 1_000) }
  const result = { ...facts, ...(await report(cluster, ledger, counts)) }
  await Promise.all([...cluster.replicas, ...cluster.gates].map((service) => service.kill()))
  await cluster.redis?.server.kill()
  return result
}

/** Waits until every purchase ends: it is answered, or its seller has no budget and nothing is paid. */
async function finish(cluster: Cluster, log: (text: string) => void): Promise<void> {
  const { buyers, gates, ledger, options } = cluster
  const untilEnd = async (mode: string): Promise<void> => {
    const lines = readLines(options.directory)
    const waiting = buyers.filter(({ name }) => openIntents(lines, name).length > 0)
    const calm = { FAULTS_DOUBLE_RATE: '0', FAULTS_REPEAT_RATE: '0' }
    for (const service of waiting) service.setEnv({ FAULTS_MODE: mode, ...calm })
    await Promise.all(waiting.map((service) => service.start()))
    const startMs = performance.now()
    let [lastMs, left] = [startMs, openNow()]
    const poll = setInterval(() => {
      const [nowMs, now] = [performance.now(), openNow()]
      if (now < left) [lastMs, left] = [nowMs, now]
      if (nowMs - lastMs < lastChanceMs && nowMs - startMs < maxPhaseMs) return
      for (const service of waiting) void service.kill()
    }, pollMs)
    await Promise.all(waiting.map((service) => service.ended()))
    clearInterval(poll)
  }
  const openNow = (): number => {
    const lines = readLines(options.directory)
    return buyers.reduce((sum, { name }) => sum + openIntents(lines, name).length, 0)
  }
  await Promise.all(buyers.map((service) => service.signal('SIGTERM')))
  await untilEnd('finish')
  while ((await Promise.all(gates.map(unfinishedAt))).some((count) => count > 0)) await sleep(100)
  if (!isRenewed) {
    log('claims of gates that were killed end')
    await endClaims(cluster)
  }
  await untilEnd('finish')
  log('streams of gates that were killed are charged')
  await recoverWork(cluster)
  log('what is not settled expires')
  await post(ledger, '/devnet/mine', { rounds: roundsToExpire })
  await untilEnd('close')
}

async function report(cluster: Cluster, ledger: readonly LedgerLine[], faults: Counter): Promise<object> {
  const { sponsor, payTos, options } = cluster
  const { directory } = options
  writeFileSync(join(directory, 'ledger.json'), JSON.stringify(ledger))
  writeFileSync(join(directory, 'claims.json'), JSON.stringify(await claimsIn(cluster), undefined, 1))
  const lines = readLines(directory)
  const checked = { feePayers: [sponsor], feesPerPayTo: feeMicroAlgos * BigInt(options.budget) }
  const problems = [
    ...checkHistory({ lines, ledger }, checked).map(({ rule, text }) => `${rule}: ${text}`),
    ...(await compareBooks(cluster, ledger)),
  ]
  const of = (type: string): number => lines.filter((line) => line.type === type).length
  const sales = (await readSales(cluster))?.sales.length
  return {
    ...{
      purchases: of('intent'),
      payments: ledger.length / 2,
      answers: of('answer'),
      refused: of('refused'),
      lost: of('lost'),
      sales,
    },
    usage: usageIn(lines, ledger),
    ...{ signed: of('signed'), settleResponses: of('settle'), handled: of('handled'), sent: of('sent') },
    ...{
      leases: isRenewed ? 'renewed' : 'long',
      gatesKilled: of('killed'),
      behindKilledGates: waitsBehindKilled(lines),
    },
    budgetReached: ledger.filter(({ receiver }) => receiver === payTos[0]).length === options.budget,
    ...{ faultsInAll: faults.total, faults, problems: problems.length, failing: problems.slice(0, 20) },
  }
}

/** Counts what was sold by usage. */
function usageIn(lines: readonly Line[], ledger: readonly LedgerLine[]): object {
  const used = lines.filter((line) => line.type === 'used')
  const ids = (isStream: boolean): Set<string> =>
    new Set(used.flatMap((line) => (line.isStream === isStream ? line.transactionId : [])))
  const charged = ledger.filter(({ paymentId }) => paymentId.startsWith('upto-'))
  const lost = lines.filter((line) => line.type === 'lost' && ids(true).has(line.transactionId))
  return { buffered: ids(false).size, streams: ids(true).size, charged: charged.length, streamsLost: lost.length }
}

/** Returns the claims that gates hold at the end, for analysing failures. */
async function claimsIn({ databaseUrl, redis, options }: Cluster): Promise<unknown[]> {
  if (options.claims === 'sqlite') return []
  const sql = 'SELECT transaction_id, owner, result, state, until_at, is_done, answer_bytes FROM latchkey.claims'
  return redis === undefined ? query(databaseUrl, sql) : []
}

try {
  const ground = await openGround({ after: (work) => void ends.unshift(work) }, root)
  for (const [claims, seconds] of runs) {
    process.stdout.write(`${JSON.stringify(await run(ground, claims, Number(seconds)))}\n`)
  }
} finally {
  for (const end of ends) await end()
}
process.exit(0)
