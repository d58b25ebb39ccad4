/**
 * Benchmarks how long a facilitator takes from the block that contains a payment to the response that reports the
 * settlement.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BlockTimes } from './block/BlockTimes.js'
import { Payer } from './block/Payer.js'
import { DevnetProcess } from './devnet/Process.js'
import { Party } from './paid/Party.js'
import { percentile, tidy } from './support/Statistics.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

const help = `Usage:
  npm run bench:block -- [--blocks N] [--at N] [--block-ms N] [--checkout DIR] [--no-published]

Starts a devnet that makes a block every 2.8 s, as the public networks do, and facilitators on it, each in a process of its
own: of this checkout, of others, and the published one. For each block all of them settle payments at the same time.
Prints one line of JSON: the time from the block that has a payment to the answer of the facilitator, over all payments, and
how many payments it did not settle before its own time limit (missed).

  --blocks        how many blocks are measured (30)
  --at            how many payments each facilitator settles in a block (4)
  --block-ms      the time between blocks (2800)
  --checkout      another built checkout of this repository, for instance of the state before a change; repeat it for more
  --no-published  without the published packages
  --help          this text
`

type Contestant = { readonly name: string; readonly party: Party; readonly afterBlockMs: number[]; missed: number }

async function startAll(
  checkouts: readonly string[],
  isPublishedToo: boolean,
  devnet: DevnetProcess,
): Promise<Contestant[]> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-block-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const contestants: Contestant[] = []
  const start = async (name: string, checkout: string | undefined): Promise<void> => {
    const own = join(directory, String(contestants.length))
    mkdirSync(own)
    const party = await Party.start({ role: 'facilitator', checkout, directory: own, devnet: devnet.facts })
    contestants.push({ name, party, afterBlockMs: [], missed: 0 })
  }
  await start('ours', root)
  for (const checkout of checkouts) await start(checkout, resolve(checkout))
  if (isPublishedToo) await start('published', undefined)
  return contestants
}

/** Settles one payment through one facilitator. */
async function settle(contestant: Contestant, payer: Payer, times: BlockTimes): Promise<void> {
  const payment = await payer.payment()
  const { isSettled, transaction, answeredMs } = await payer.settle(contestant.party.ready as string, payment)
  if (isSettled) contestant.afterBlockMs.push(answeredMs - (await times.ofTransaction(transaction)))
  else contestant.missed++
}

type Options = { blocks: number; at: number; blockMs: number }

/** Payments start at random moments between two blocks. */
async function measure(contestants: readonly Contestant[], payer: Payer, times: BlockTimes, options: Options) {
  for (let block = 0; block < options.blocks; block++) {
    await times.next()
    await sleep((Math.random() * options.blockMs) / 2)
    const order = block % 2 === 0 ? contestants : contestants.toReversed()
    const each = order.flatMap((contestant) => Array<Contestant>(options.at).fill(contestant))
    await Promise.all(each.map((contestant) => settle(contestant, payer, times)))
    process.stderr.write('.')
  }
  process.stderr.write('\n')
}

function figures({ afterBlockMs, missed }: Contestant): object {
  const sorted = [...afterBlockMs].sort((a, b) => a - b)
  return {
    p50_ms: tidy(percentile(sorted, 0.5)),
    p99_ms: tidy(percentile(sorted, 0.99)),
    payments: sorted.length,
    missed,
  }
}

function number(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${name} cannot be ${text}`)
  return Number(text)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      blocks: { type: 'string', default: '30' },
      at: { type: 'string', default: '4' },
      'block-ms': { type: 'string', default: '2800' },
      checkout: { type: 'string', multiple: true, default: [] },
      'no-published': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const [blocks, at] = [number('blocks', values.blocks), number('at', values.at)]
  const options = { blocks, at, blockMs: number('block-ms', values['block-ms']) }
  const loadBefore = tidy(loadavg()[0]!)
  const devnet = await DevnetProcess.start(['--block-time', String(options.blockMs), '--log-level', 'error'])
  const times = new BlockTimes(devnet.facts.url)
  const watching = times.run()
  const contestants = await startAll(values.checkout, !values['no-published'], devnet)
  const payer = await Payer.open(devnet.facts)
  await measure(contestants, payer, times, { ...options, blocks: 1 })
  for (const contestant of contestants) Object.assign(contestant, { missed: 0 }).afterBlockMs.length = 0
  await measure(contestants, payer, times, options)
  const all = Object.fromEntries(contestants.map((contestant) => [contestant.name, figures(contestant)]))
  const method = {
    ...{ blocks, at, block_ms: options.blockMs },
    ...{ node: process.version, cpus: availableParallelism(), load_before: loadBefore },
  }
  process.stdout.write(`${JSON.stringify({ name: 'block', ...all, method })}\n`)
  for (const { party } of contestants) await party.stop()
  await times.stop()
  await watching
  await devnet.stop()
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
