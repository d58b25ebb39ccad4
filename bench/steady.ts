/**
 * Benchmarks paid requests by an agent at a steady rate, with pauses about as long as the keep-alive time. None may
 * fail, as a request on a connection that its server is closing would.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPayingAgent } from './steady/PayingAgent.js'
import { percentile, tidy } from './support/Statistics.js'
import { priceMicroDollars } from './x402/Market.js'

const help = `Usage:
  npm run bench:steady -- [--minutes N] [--rate N] [--pauses SECONDS,...]

Pays for requests with an agent's token for N minutes (1 by default), at N a second on average (10 by default): a burst, a
steady load, and a pause, over and over. The pauses (seconds) are about as long as clients and servers keep idle connections. Prints one
line of JSON: how many were paid, how many failed and why, and what the key daemon counts as spent. The exit code is 1 if one failed, or
if the daemon counts another amount than was paid.
`

const burst = 16
/** The requests of a burst start this far apart, so some of them hit the moment at which connections are closed. */
const stepMs = 10

type Outcome = { readonly latenciesMs: number[]; readonly failures: Map<string, number> }

async function attempt(buy: () => Promise<void>, { latenciesMs, failures }: Outcome): Promise<void> {
  const startedAt = performance.now()
  try {
    await buy()
    latenciesMs.push(performance.now() - startedAt)
  } catch (error) {
    const { message, cause } = error as Error
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message
    process.stderr.write(`${new Date().toISOString()} ${reason}\n`)
    failures.set(reason, (failures.get(reason) ?? 0) + 1)
  }
}

/** Runs a pause, then a load of the same length at twice the rate. */
async function cycle(buy: () => Promise<void>, outcome: Outcome, pauseMs: number, rate: number): Promise<void> {
  const running: Promise<void>[] = []
  const startedAt = performance.now()
  const early = (burst / 2) * stepMs
  const count = Math.max(burst, Math.round((pauseMs * 2 * rate) / 1000))
  for (let index = 0; index < count; index++) {
    const afterMs = index < burst ? index * stepMs : early + (index * 1000) / (2 * rate)
    const waitMs = startedAt + pauseMs - early + afterMs - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    running.push(attempt(buy, outcome))
  }
  await Promise.all(running)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      rate: { type: 'string', default: '10' },
      pauses: { type: 'string', default: '4,5,4.5,30,29,5,60,4,75' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const rate = Number(values.rate)
  const pausesMs = values.pauses.split(',').map((text) => Number(text) * 1000)
  const directory = mkdtempSync(join(tmpdir(), 'bench-steady-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const { buy, spent, stop } = await startPayingAgent(directory)
  const outcome: Outcome = { latenciesMs: [], failures: new Map() }
  const startedAt = performance.now()
  const endAt = startedAt + Number(values.minutes) * 60_000
  for (let round = 0; performance.now() < endAt; round++) {
    const longestMs = Math.max(1_000, (endAt - performance.now()) / 2)
    await cycle(buy, outcome, Math.min(pausesMs[round % pausesMs.length]!, longestMs), rate)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const [paid, failed] = [outcome.latenciesMs.length, [...outcome.failures.values()].reduce((a, b) => a + b, 0)]
  const spentAmount = await spent()
  await stop()
  const sorted = outcome.latenciesMs.sort((a, b) => a - b)
  const result = {
    ...{ bench: 'steady', node: process.version, seconds: tidy(seconds), load: tidy(loadavg()[0]!) },
    ...{ paid, failed, per_second: tidy((paid + failed) / seconds), failures: Object.fromEntries(outcome.failures) },
    ...{ p50_ms: tidy(percentile(sorted, 0.5)), p99_ms: tidy(percentile(sorted, 0.99)) },
    ...{ spent: `${spentAmount}`, expected: `${paid * priceMicroDollars}` },
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  const isExact = spentAmount === BigInt(paid * priceMicroDollars)
  process.exitCode = failed === 0 && isExact ? 0 : 1
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
