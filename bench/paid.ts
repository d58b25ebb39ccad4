/** Benchmarks the cost of a paid request: the processor time of each party, and how long the buyer waits. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Family, type Sample, totalMs } from './paid/Family.js'
import { roles } from './paid/Party.js'
import { median, pairedRatio, tidy } from './support/Statistics.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

const help = `Usage:
  npm run bench:paid -- [--quick] [--rounds N] [--count N] [--at N] [--checkout DIR] [--no-published]

Runs complete paid requests (402, payment, verify, handler, settle, 200), with buyer, seller, facilitator and devnet each in
a process of its own: of this checkout, of others, and of the published packages on the devnet of this checkout, in turn.
Prints one line of JSON, with the medians over the rounds:
  cpu_ms       processor time, user and system, for one paid request, by party and in all
  per_s        paid requests per second; p50_ms and p99_ms is what the buyer waits
  cpu_ratios   this checkout divided by the other, in the same round: by party and in all
The times depend on what else the machine does; the processor times hardly do.

  --quick         3 rounds of 100 requests
  --rounds        how often each is measured (9)
  --count         how many requests in a round (320)
  --at            how many at a time (16)
  --checkout      another built checkout of this repository, for instance of the state before a change; repeat it for more
  --no-published  without the published packages
  --help          this text
`

/** Before this count, most of the time goes to compiling, which a long-running process does only once. */
const warmUpCount = 1_000

type Options = { rounds: number; count: number; at: number; checkouts: string[]; isPublishedToo: boolean }

async function startAll({ checkouts, isPublishedToo }: Options, directory: string): Promise<Family[]> {
  const families: Family[] = []
  const start = async (name: string, checkout: string | undefined, on?: Family): Promise<void> => {
    const own = join(directory, String(families.length))
    mkdirSync(own)
    families.push(await Family.start(name, checkout, own, on))
  }
  await start('ours', root)
  for (const checkout of checkouts) await start(checkout, resolve(checkout))
  if (isPublishedToo) await start('published', undefined, families[0])
  return families
}

async function measureAll(families: readonly Family[], { rounds, count, at }: Options): Promise<void> {
  for (const family of families) await family.warmUp(warmUpCount, at)
  for (let round = 0; round < rounds; round++) {
    for (const family of round % 2 === 0 ? families : families.toReversed()) await family.measure(count, at)
    process.stderr.write('.')
  }
  process.stderr.write('\n')
}

type Figure = (sample: Sample) => number
const cpuFigures: readonly (readonly [string, Figure])[] = [
  ...roles.map((role) => [role, (sample: Sample) => sample.cpuMs[role]] as const),
  ['all', totalMs],
]

function result(families: readonly Family[]): object {
  const [ours, ...others] = families as [Family, ...Family[]]
  const medianOf = ({ samples }: Family, figure: Figure): number => tidy(median(samples.map(figure)))
  const figures = (family: Family): object => ({
    cpu_ms: Object.fromEntries(cpuFigures.map(([name, figure]) => [name, medianOf(family, figure)])),
    per_s: medianOf(family, ({ purchases }) => purchases.perSecond),
    p50_ms: medianOf(family, ({ purchases }) => purchases.p50Ms),
    p99_ms: medianOf(family, ({ purchases }) => purchases.p99Ms),
  })
  const ratios = (other: Family): object =>
    Object.fromEntries(
      cpuFigures.map(([name, figure]) => [
        name,
        tidy(pairedRatio(ours.samples.map(figure), other.samples.map(figure))),
      ]),
    )
  return {
    ...Object.fromEntries(families.map((family) => [family.name, figures(family)])),
    cpu_ratios: Object.fromEntries(others.map((other) => [other.name, ratios(other)])),
  }
}

function number(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${name} cannot be ${text}`)
  return Number(text)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      count: { type: 'string' },
      at: { type: 'string', default: '16' },
      checkout: { type: 'string', multiple: true, default: [] },
      'no-published': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const options: Options = {
    rounds: number('rounds', values.rounds ?? (values.quick ? '3' : '9')),
    count: number('count', values.count ?? (values.quick ? '100' : '320')),
    at: number('at', values.at),
    checkouts: values.checkout,
    isPublishedToo: !values['no-published'],
  }
  const loadBefore = tidy(loadavg()[0]!)
  const directory = mkdtempSync(join(tmpdir(), 'bench-paid-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const families = await startAll(options, directory)
  await measureAll(families, options)
  const { rounds, count, at } = options
  const method = {
    rounds,
    count,
    at,
    warm_up: warmUpCount,
    node: process.version,
    cpus: availableParallelism(),
    load_before: loadBefore,
  }
  process.stdout.write(`${JSON.stringify({ name: 'paid', ...result(families), method })}\n`)
  for (const family of families) await family.stop()
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
