/** Runs the scenarios one after the other in separate namespaces, and prints what the checker found in each. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { askAgain } from './askAgain.test.helper.js'
import { feeMicroAlgos, type Ground, openCluster, openGround, startServers } from './Cluster.test.helper.js'
import { checkHistory } from './checkHistory.test.helper.js'
import { lastRound, ownLines, readLedger, readLines } from './history.test.helper.js'
import { type Scenario, scenarios } from './scenarios.test.helper.js'
import { setting } from './settings.test.helper.js'

const directory = setting('FAULTS_DIRECTORY')
const wanted = process.env['FAULTS_SCENARIO']
const defaultBudget = 100
/**
 * A purchase that has not ended after this time counts as endless. On an overloaded machine, other purchases take long.
 */
const [endlessMs, patienceMs] = [9_000, 120_000]
const ends: (() => unknown)[] = []

async function run(ground: Ground, scenario: Scenario, index: number): Promise<object> {
  const startedMs = performance.now()
  const { plants, env, purchases, budget = defaultBudget } = scenario
  const firstRound = await lastRound(ground.ledger)
  const cluster = await openCluster(ground, {
    ...{ directory: join(directory, String(index)), claims: 'postgres', replicas: 2, gates: 2, buyers: [1, 4], budget },
    env: {
      FAULTS_SETTLE_MS: '1500',
      FAULTS_PURCHASES: String(purchases),
      FAULTS_DOUBLE_RATE: '0',
      FAULTS_GOODS: 'report,order',
      ...env,
    },
  })
  const services = [...cluster.replicas, ...cluster.gates]
  for (const service of services) {
    const plant = plants[service.name]
    if (plant !== undefined) service.setEnv({ FAULTS_PLANT: plant })
  }
  await startServers(cluster)
  const [buyers] = cluster.buyers
  await buyers!.start()
  await Promise.race([buyers!.ended(), sleep(scenario.isEndless ? endlessMs : patienceMs)])
  await buyers!.kill()
  await askAgain(cluster)
  const history = {
    lines: readLines(cluster.options.directory),
    ledger: ownLines(cluster, await readLedger(ground.ledger, firstRound)),
  }
  const setting = { feePayers: [cluster.sponsor], feesPerPayTo: feeMicroAlgos * BigInt(budget) }
  const problems = checkHistory(history, setting)
  await Promise.all(services.map((service) => service.kill()))
  const found = [...new Set(problems.map(({ rule }) => rule))]
  const payments = history.ledger.length / 2
  return {
    name: scenario.name,
    found,
    payments,
    ms: Math.round(performance.now() - startedMs),
    example: problems[0]?.text,
  }
}

try {
  const ground = await openGround({ after: (work) => void ends.unshift(work) }, directory)
  for (const [index, scenario] of scenarios.entries()) {
    if (wanted !== undefined && !scenario.name.includes(wanted)) continue
    process.stdout.write(`${JSON.stringify(await run(ground, scenario, index))}\n`)
  }
} finally {
  for (const end of ends) await end()
}
process.exit(0)
