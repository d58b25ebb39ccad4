/**
 * Benchmarks agents: signatures per second with an agent's token and with the owner's, on the same daemon, alternating
 * in every round. The daemon reserves and records every agent signature on disk before signing.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fillLog } from './agents/fillLog.js'
import { confirmAgents, type Grant, makeGrants } from './agents/grants.js'
import { LongestBlock } from './agents/LongestBlock.js'
import { SignRequests } from './agents/SignRequests.js'
import { Daemon } from './support/Daemon.js'
import * as DataDirectory from './support/DataDirectory.js'
import { Load } from './support/Load.js'
import { median, pairedRatio, tidy } from './support/Statistics.js'

const help = `Usage:
  npm run bench:agents -- [--quick] [--records N]

Signs with the owner's token and with an agent's, each on 1 and on 16 connections, in turn. Then the same with 100 agents
and N records in the log (1000000 by default), each agent in its turn. Prints one line of JSON: medians of signatures a
second, the ratio of agent to owner, the 99th percentile of a signature in milliseconds, the daemon's processor time for one
in microseconds, which other load on the machine changes least, and the longest block of the daemon's event loop from the
first request after the start with N records on.
`

const program = fileURLToPath(new URL('../../node_modules/.bin/kmd', import.meta.url))
const command = [program, '-d', '{dir}']
const manyAgents = 100

type Samples = { [name: string]: number[] }

/** Measures the owner and the agents on 1 and 16 connections. The order is reversed in every other round. */
async function measure(daemon: Daemon, grants: readonly Grant[], rounds: number, windowMs: number): Promise<Samples> {
  const samples: Samples = {}
  const load = new Load()
  const requests = new SignRequests(daemon.port)
  const kinds = [1, 16].flatMap((connections) => [
    { name: `owner_${connections}`, connections, callers: [grants[0]!.owner] },
    { name: `agent_${connections}`, connections, callers: grants.map(({ agent }) => agent) },
  ])
  for (let round = 0; round < rounds; round++) {
    for (const { name, connections, callers } of round % 2 === 0 ? kinds : kinds.toReversed()) {
      // Every transaction is different, because a transaction that an agent has signed before would cost less.
      const count = Math.ceil((windowMs / 1_000) * mostPerSecond)
      const cpu = daemon.cpuMicroseconds()
      const outcome = await load.run({
        port: daemon.port,
        requests: requests.take(callers, count),
        connections,
        windowMs,
      })
      if (callers[0]!.token !== grants[0]!.owner.token && outcome.requests > count) {
        throw new Error('the daemon is quicker than the requests that were made')
      }
      add(samples, name, outcome.perSecond)
      add(samples, `${name}_p99_ms`, outcome.p99Ms)
      add(samples, `${name}_cpu_us`, (daemon.cpuMicroseconds() - cpu) / outcome.requests)
    }
  }
  await load.stop()
  return samples
}

const mostPerSecond = 12_000

function add(samples: Samples, name: string, value: number): void {
  samples[name] ??= []
  samples[name].push(value)
}

function summary(samples: Samples): { [name: string]: number } {
  const medians = Object.entries(samples).map(([name, values]) => [name, tidy(median(values))])
  const ratios = [1, 16].map((connections) => [
    `ratio_${connections}`,
    tidy(pairedRatio(samples[`agent_${connections}`]!, samples[`owner_${connections}`]!)),
  ])
  return Object.fromEntries([...medians, ...ratios])
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(help)
    return
  }
  const isQuick = args.includes('--quick')
  const at = args.indexOf('--records')
  const records = at < 0 ? (isQuick ? 100_000 : 1_000_000) : Number(args[at + 1])
  const [rounds, windowMs] = isQuick ? [3, 1_000] : [7, 3_000]
  const root = mkdtempSync(join(tmpdir(), 'latchkey-bench-agents-'))
  const loadBefore = loadavg()[0]!
  try {
    const dataDir = DataDirectory.create(join(root, 'data'), 'unsafe')
    let daemon = await Daemon.start(command, dataDir)
    const grants = await makeGrants(daemon, manyAgents)
    const few = await measure(daemon, grants.slice(0, 1), rounds, windowMs)
    await daemon.stop()
    fillLog(dataDir, records)
    const block = new LongestBlock(root)
    daemon = await Daemon.start(command, dataDir, block.environment)
    block.start(daemon)
    await confirmAgents(daemon, grants[0]!)
    const reopened = await Promise.all(grants.map((grant) => grant.reopen(daemon)))
    const [startedAt, cpuAtStart] = [performance.now(), daemon.cpuMicroseconds()]
    for (const { agent } of reopened) await new SignRequests(daemon.port).sendOne(agent)
    const firstMs = performance.now() - startedAt
    const firstCpuMs = (daemon.cpuMicroseconds() - cpuAtStart) / 1_000
    const many = await measure(daemon, reopened, rounds, windowMs)
    const { rssMb } = daemon.memory()
    const { longestCpuMs, longestWallMs } = await block.end(daemon)
    await daemon.stop()
    const result = {
      ...{ bench: 'agents', node: process.version, rounds, load_before: tidy(loadBefore) },
      one_agent: summary(few),
      many: {
        agents: manyAgents,
        records,
        first_of_each_ms: tidy(firstMs),
        first_of_each_cpu_ms: tidy(firstCpuMs),
        rss_mb: tidy(rssMb),
        longest_block_cpu_ms: tidy(longestCpuMs),
        longest_block_ms: tidy(longestWallMs),
        ...summary(many),
      },
    }
    process.stdout.write(`${JSON.stringify(result)}\n`)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

await main(process.argv.slice(2))
