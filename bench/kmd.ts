/**
 * Benchmarks the key daemon. Ours and any other daemon with the same API are measured alternately in every round, so
 * other load on the machine affects all of them alike.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Bench, type Measurement, measurements } from './measurements.js'
import * as Arguments from './support/Arguments.js'
import { Candidate, type Identity } from './support/Candidate.js'
import * as Fixtures from './support/Fixtures.js'
import { Load } from './support/Load.js'
import * as Report from './support/Report.js'
import { tidy } from './support/Statistics.js'

const ourProgram = fileURLToPath(new URL('../../node_modules/.bin/kmd', import.meta.url))
const ours: Identity = {
  name: 'latchkey',
  command: [ourProgram, '-d', '{dir}'],
  shownCommand: 'node_modules/.bin/kmd -d {dir}',
  nodeVersion: process.version,
}

const help = `Usage:
  npm run bench:kmd -- [--quick] [--only <names>] [-- <command of another kmd with {dir}> ...]
  node bench/dist/kmd.js [--quick] [--only <names>] [-- <command of another kmd with {dir}> ...]

Measures our daemon, and side by side any other that is given, each on fresh data directories made for it and put in
the place of {dir}. A command ends with the argument that holds {dir}; quotes around it are optional. Prints one line
of JSON for each daemon and, if there are several, one with the ratios of ours to the others.

  --quick   shorter and fewer rounds, for a first impression
  --only    measurements to run, separated by commas, of these:
            ${measurements.map(({ name }) => name).join('\n            ')}
  --help    this text

In the JSON every quantity is the median over the rounds; the samples are given too. _1 and _16 are the connections in
use, each with one request under way; lists and generation use one. _first_ms is the first list after a start.
_while_10_unlocks is signing with ten wallets of default strength being unlocked at any time, and its _ratio is to
signing without them just before. rss_mb and rss_peak_mb are taken at the end, rss_started_mb right after a start,
rss_peak_mb_while_10_unlocks with the ten unlocks. load_before is the load average of the machine at the beginning: on
a busy one only the ratios mean something.
`

/** Measures all daemons alternately. The order is reversed in every other round. */
async function runRounds(
  measurement: Measurement,
  rounds: number,
  candidates: readonly Candidate[],
  bench: Bench,
): Promise<void> {
  for (const candidate of candidates) await measurement.prepare?.(candidate, bench)
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? candidates : candidates.toReversed()
    for (const candidate of order) await measurement.measure(candidate, bench)
  }
}

function select(only: readonly string[]): Measurement[] {
  for (const name of only) {
    if (measurements.every((measurement) => measurement.name !== name)) {
      throw new Arguments.UsageError(`unknown measurement ${JSON.stringify(name)}; --help lists them`)
    }
  }
  return only.length === 0 ? measurements : measurements.filter(({ name }) => only.includes(name))
}

async function createCandidates(
  others: readonly string[][],
  fixtures: Fixtures.Fixtures,
  root: string,
): Promise<Candidate[]> {
  const identities = [
    ours,
    ...others.map((command) => ({ name: command[0]!, command, shownCommand: command.join(' ') })),
  ]
  const candidates: Candidate[] = []
  for (const [index, identity] of identities.entries()) {
    const directory = join(root, String(index))
    mkdirSync(directory, { mode: 0o700 })
    candidates.push(await Candidate.create(identity, directory, fixtures))
  }
  return candidates
}

async function measureAll({ quick, only, others }: Arguments.Arguments, root: string): Promise<void> {
  const selected = select(only)
  const loadBefore = tidy(loadavg()[0]!)
  const load = new Load()
  process.stderr.write('creating wallets\n')
  const fixtures = await Fixtures.make(ours.command, root)
  const candidates = await createCandidates(others, fixtures, root)
  const pace = quick ? { windowMs: 300, warmUpMs: 300 } : { windowMs: 1000, warmUpMs: 1000 }
  const bench: Bench = { fixtures, load, ...pace, signatures: new Map() }

  const rounds: Record<string, number> = {}
  for (const measurement of selected) {
    rounds[measurement.name] = quick ? measurement.rounds.quick : measurement.rounds.full
    const startedAt = performance.now()
    await runRounds(measurement, rounds[measurement.name]!, candidates, bench)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    process.stderr.write(`${measurement.name}: ${rounds[measurement.name]} rounds, ${seconds} s\n`)
  }
  for (const candidate of candidates) {
    const { rssMb, peakMb } = candidate.main.daemon.memory()
    candidate.record('rss_mb', rssMb)
    candidate.record('rss_peak_mb', peakMb)
    await candidate.main.daemon.stop()
  }
  await load.stop()

  const method = { quick, window_ms: bench.windowMs, warm_up_ms: bench.warmUpMs, rounds, load_before: loadBefore }
  for (const candidate of candidates) print(Report.result(candidate, method))
  const [first, ...rest] = candidates
  if (rest.length > 0) print(Report.ratios(first!, rest))
}

const print = (value: object): boolean => process.stdout.write(`${JSON.stringify(value)}\n`)

async function main(args: readonly string[]): Promise<void> {
  const parsed = Arguments.parse(args)
  if (parsed.help) {
    process.stdout.write(help)
    return
  }
  if (process.platform !== 'linux') throw new Error('memory and time of a daemon are read from /proc: Linux only')
  const root = mkdtempSync(join(tmpdir(), 'bench-kmd-'))
  // A listener registered earlier stops daemons that are still running.
  process.on('exit', () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  await measureAll(parsed, root)
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${error instanceof Arguments.UsageError ? error.message : error.stack}\n`)
  process.exit(error instanceof Arguments.UsageError ? 2 : 1)
})
