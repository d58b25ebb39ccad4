/**
 * Benchmarks HTTP 402: the payments per second that a facilitator verifies, and verifies and settles, for ours and the
 * published one alternately on the same devnet; and the complete paid requests per second.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DevnetProcess } from './devnet/Process.js'
import { median, pairedRatio, tidy } from './support/Statistics.js'
import { type Judge, Market } from './x402/Market.js'
import { type PaidOutcome, paidRequests } from './x402/PaidRequests.js'

const help = `Usage:
  npm run bench:x402 -- [--quick]

Starts a devnet in a process of its own and, in this one, our facilitator (with its records in SQLite) and the published
@x402/avm's, and sends both the same kind of payments in turn, 16 concurrently:
  verify_per_s             payments verified
  verify_and_settle_per_s  payments verified, settled and confirmed, as for one paid request
  paid_requests_per_s      complete requests with ours: 402, payment, verify, handler, settle, 200; with their p50 and p99
  pass_requests_per_s      the same requests, opened by a pass of one payment each; counted_pass_...: with its requests counted
  schemes                  exact and upto (half of the maximum charged): verified and settled per second, CPU time of this
                           process per payment, and bytes of the header PAYMENT-SIGNATURE
Each is the median over rounds. Prints one line of JSON, with the ratios of ours to the published one.
`

const concurrency = 16

type Samples = Map<string, number[]>

async function inTurn(count: number, work: (index: number) => Promise<void>): Promise<number> {
  let next = 0
  const startedAt = performance.now()
  const run = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index)
  }
  await Promise.all(Array.from({ length: concurrency }, run))
  return (count * 1000) / (performance.now() - startedAt)
}

async function measure(judge: Judge, market: Market, count: number, samples: Samples): Promise<void> {
  const { requirements } = market
  const verified = await market.payments(count)
  const verify = await inTurn(count, async (index) => {
    const verdict = await judge.verify(verified[index]!, requirements)
    if (!verdict.isValid) throw new Error(`${judge.name}: ${verdict.invalidReason} ${verdict.invalidMessage}`)
  })
  const settled = await market.payments(count)
  const settle = await inTurn(count, async (index) => {
    const verdict = await judge.verify(settled[index]!, requirements)
    const done = await judge.settle(settled[index]!, requirements)
    if (!verdict.isValid || !done.success) throw new Error(`${judge.name}: ${done.errorReason} ${done.errorMessage}`)
  })
  push(samples, 'verify_per_s', verify)
  push(samples, 'verify_and_settle_per_s', settle)
}

/** Measures a scheme with our facilitator: payments verified and settled, its CPU time, and the size of the header. */
async function measureScheme(market: Market, scheme: 'exact' | 'upto', count: number, samples: Samples): Promise<void> {
  const requirements = scheme === 'exact' ? market.requirements : market.upto
  const charged = scheme === 'exact' ? requirements : { ...requirements, amount: '500' }
  const payments = await market.payments(count, requirements)
  const before = process.cpuUsage()
  const perSecond = await inTurn(count, async (index) => {
    const { isValid, invalidReason } = await market.ours.verify(payments[index]!, requirements)
    const { success, errorReason } = await market.ours.settle(payments[index]!, charged)
    if (!isValid || !success) throw new Error(`${scheme}: ${invalidReason} ${errorReason}`)
  })
  const { user, system } = process.cpuUsage(before)
  push(samples, 'verify_and_settle_per_s', perSecond)
  push(samples, 'facilitator_cpu_ms', (user + system) / 1000 / count)
  push(samples, 'header_bytes', Buffer.from(JSON.stringify(payments[0])).toString('base64').length)
}

function push(samples: Samples, name: string, value: number): void {
  samples.set(name, [...(samples.get(name) ?? []), value])
}

const medians = (samples: Samples): object =>
  Object.fromEntries([...samples].map(([name, values]) => [name, tidy(median(values))]))

function requestFigures(name: string, outcomes: readonly PaidOutcome[]): object {
  const of = (figure: keyof PaidOutcome): number => tidy(median(outcomes.map((outcome) => outcome[figure])))
  return {
    [`${name}_requests_per_s`]: of('perSecond'),
    [`${name}_request_p50_ms`]: of('p50Ms'),
    [`${name}_request_p99_ms`]: of('p99Ms'),
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const { rounds, count } = values.quick ? { rounds: 2, count: 50 } : { rounds: 7, count: 300 }
  const loadBefore = tidy(loadavg()[0]!)
  const devnet = await DevnetProcess.start()
  const directory = mkdtempSync(join(tmpdir(), 'bench-x402-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const market = await Market.open(devnet.facts, join(directory, 'facilitator.db'))
  const judges = [market.ours, market.theirs]
  for (const judge of judges) await measure(judge, market, 20, new Map())
  const samples = new Map(judges.map((judge) => [judge, new Map() as Samples]))
  const schemes = { exact: new Map() as Samples, upto: new Map() as Samples }
  const paid: PaidOutcome[] = []
  const opened: PaidOutcome[] = []
  const counted: PaidOutcome[] = []
  for (let round = 0; round < rounds; round++) {
    for (const judge of round % 2 === 0 ? judges : judges.toReversed()) {
      await measure(judge, market, count, samples.get(judge)!)
    }
    for (const scheme of ['exact', 'upto'] as const) await measureScheme(market, scheme, count, schemes[scheme])
    paid.push(await paidRequests(market, count, concurrency))
    opened.push(await paidRequests(market, count, concurrency, { minutes: 60 }))
    counted.push(await paidRequests(market, count, concurrency, { requests: 1_000_000 }))
  }
  const [ours, theirs] = judges.map((judge) => samples.get(judge)!) as [Samples, Samples]
  const result = {
    name: 'x402',
    nodeVersion: process.version,
    cpus: availableParallelism(),
    latchkey: medians(ours),
    published: medians(theirs),
    ratios: Object.fromEntries([...ours].map(([name, own]) => [name, tidy(pairedRatio(own, theirs.get(name)!))])),
    schemes: { exact: medians(schemes.exact), upto: medians(schemes.upto) },
    ...requestFigures('paid', paid),
    ...requestFigures('pass', opened),
    ...requestFigures('counted_pass', counted),
    method: { rounds, count, concurrency, load_before: loadBefore },
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  await market.facilitator.stop()
  await devnet.stop()
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
