/**
 * Benchmarks the devnet: the time to its first response, payments and application calls per second, a call with the full
 * budget, a group with 256 inner transactions, and the rate after many payments. Another algod in dev mode can be
 * measured in the same rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Algod } from './devnet/Algod.js'
import { DevnetProcess, emptyProcessMs } from './devnet/Process.js'
import * as Workload from './devnet/Workload.js'
import { Load, type Outcome } from './support/Load.js'
import { median, pairedRatio, tidy } from './support/Statistics.js'

const help = `Usage:
  npm run bench:devnet -- [--quick] [--durable] [--transactions N] [--algod PORT --token TOKEN]

Starts the devnet and measures, each the median over rounds:
  first_answer_ms     from the start of the process to its first answer; own_ms is that less what an empty Node takes
  payments_per_s_16   single payments submitted over HTTP on 16 connections, each signature verified, each in a block
  payments_per_s_1    the same on one connection
  calls_per_s_16      calls of an application that counts in its global state, writes the count to a box and logs it
  calls_per_s_1       the same on one connection
  full_budget_ms      the median time of a submission over HTTP whose call costs exactly 700
  inner_256_ms        the median time of a submission over HTTP of 16 calls that make 256 inner payments
  ..._after           payments after N payments in all (250000; with --quick 50000), with the memory then
  after_to_fresh      those, divided by what a fresh devnet does that is measured in turn with it

Counters of the target are read before and after each measurement: rounds, the count in the global state and in the box,
the number of transactions. The benchmark fails if they do not match the number of answers.

  --durable           with a state file: an answer comes only after its payment is on the disk
  --transactions N    how many payments before the second measurement
  --algod PORT        another algod in dev mode on this machine, measured in turn with ours; its --token, and a funded
                      account's words in the environment variable DISPENSER_MNEMONIC. ratios are ours to the other's
Prints one line of JSON.
`

type Pace = { rounds: number; windowMs: number; transactions: number }

const fillBatch = 20_000

/** Signing takes longer than the window, so a little more is signed than the target accepted before. */
const spare = 1.3

/** A number in the result. */
type Figure = {
  readonly name: string
  readonly workload: Workload.Workload
  readonly connections: number
  readonly valueOf: (outcome: Outcome) => number
}

type Target = {
  readonly algod: Algod
  readonly payments: readonly Figure[]
  readonly programs: readonly Figure[]
  readonly samples: Map<string, number[]>
  /** The highest rate so far, by the name of the figure. */
  readonly fastest: Map<string, number>
}

const perSecondOf = ({ perSecond }: Outcome): number => perSecond
const medianMsOf = ({ p50Ms }: Outcome): number => p50Ms

function targetOf(algod: Algod): Target {
  const workload = Workload.payments(algod)
  const payments = [16, 1].map((connections) => ({
    name: `payments_per_s_${connections}`,
    workload,
    connections,
    valueOf: perSecondOf,
  }))
  return { algod, payments, programs: [], samples: new Map(), fastest: new Map() }
}

/** Deploys the applications of the measurements with programs. */
async function withPrograms(target: Target): Promise<Target> {
  const { algod } = target
  const calls = await Workload.calls(algod)
  const [full, inner] = [await Workload.fullBudgets(algod), await Workload.innerTransactions(algod)]
  const programs: Figure[] = [
    { name: 'calls_per_s_16', workload: calls, connections: 16, valueOf: perSecondOf },
    { name: 'calls_per_s_1', workload: calls, connections: 1, valueOf: perSecondOf },
    { name: 'full_budget_ms', workload: full, connections: 1, valueOf: medianMsOf },
    { name: 'inner_256_ms', workload: inner, connections: 1, valueOf: medianMsOf },
  ]
  return { ...target, programs }
}

async function measure({ algod, fastest }: Target, figure: Figure, load: Load, windowMs: number): Promise<number> {
  const { name, workload, connections } = figure
  const perSecondBefore = fastest.get(name)
  const most = Math.min(workload.maxPerSecond, (perSecondBefore ?? workload.maxPerSecond) * spare)
  const requests = await workload.requests(Math.ceil((most * windowMs) / 1000))
  const before = await workload.counters()
  const outcome = await load.run({ port: algod.port, requests, connections, windowMs, unrepeatable: true })
  Workload.checkCounters(before, await workload.counters(), outcome.requests)
  fastest.set(name, Math.max(perSecondBefore ?? 0, outcome.perSecond))
  return figure.valueOf(outcome)
}

/** Measures the targets alternately; the order changes from round to round. */
async function compare(
  targets: readonly Target[],
  load: Load,
  { rounds, windowMs }: Pick<Pace, 'rounds' | 'windowMs'>,
  suffix: string,
  figuresOf: (target: Target) => readonly Figure[] = ({ payments }) => payments,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      for (const figure of figuresOf(target)) {
        const name = `${figure.name}${suffix}`
        const value = await measure(target, figure, load, windowMs)
        target.samples.set(name, [...(target.samples.get(name) ?? []), value])
      }
    }
  }
}

/** Signs the next batch while the last one is submitted. */
async function fill(algod: Algod, load: Load, transactions: number): Promise<void> {
  const first = await algod.round()
  let requests = await algod.payments(fillBatch, first)
  for (let round = first; round < BigInt(transactions); round += BigInt(fillBatch)) {
    const next = round + BigInt(fillBatch)
    const submitted = load.run({ port: algod.port, requests, connections: 16, windowMs: 120_000, once: true })
    if (next < BigInt(transactions)) requests = await algod.payments(fillBatch, next)
    await submitted
    process.stderr.write(`\r${next} payments`)
  }
  process.stderr.write('\n')
}

function starts(rounds: number): Promise<{ first: number[]; own: number[] }> {
  const measured = { first: [] as number[], own: [] as number[] }
  const one = async (): Promise<void> => {
    const empty = emptyProcessMs()
    const devnet = await DevnetProcess.start()
    measured.first.push(devnet.firstAnswerMs)
    measured.own.push(devnet.firstAnswerMs - empty)
    await devnet.stop()
  }
  return Array.from({ length: rounds })
    .reduce<Promise<void>>((before) => before.then(one), Promise.resolve())
    .then(() => measured)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      durable: { type: 'boolean' },
      transactions: { type: 'string' },
      algod: { type: 'string' },
      token: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const usual = values.quick ? { rounds: 3, windowMs: 500 } : { rounds: 7, windowMs: 1_000 }
  const transactions = Number(values.transactions ?? (values.quick ? 50_000 : 250_000))
  const pace: Pace = { ...usual, transactions }
  const loadBefore = tidy(loadavg()[0]!)
  const load = new Load()
  const { first, own } = await starts(pace.rounds)

  const directory = mkdtempSync(join(tmpdir(), 'bench-devnet-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const devnet = await DevnetProcess.start(values.durable ? ['--state', join(directory, 'ledger.log')] : [])
  const ours = await withPrograms(await fundedTarget(devnet.port, '', devnet.mnemonic))
  const targets = [ours]
  if (values.algod !== undefined) targets.push(await other(Number(values.algod), values.token ?? ''))
  for (const { algod } of targets) await algod.checkThatSignaturesCount()

  const all = ({ payments, programs }: Target): Figure[] => [...payments, ...programs]
  await compare(targets, load, { ...pace, rounds: 1 }, '_warm_up', all)
  await compare(targets, load, pace, '', all)
  const memoryMb = devnet.memoryMb()
  await fill(ours.algod, load, transactions)
  // Alternates with a fresh devnet, so other load on the machine affects both.
  const fresh = await DevnetProcess.start(values.durable ? ['--state', join(directory, 'fresh.log')] : [])
  const young = await fundedTarget(fresh.port, '', fresh.mnemonic)
  await compare([young], load, { ...pace, rounds: 1 }, '_warm_up')
  await compare([ours, young], load, pace, '_after')
  const result = {
    name: 'devnet',
    nodeVersion: process.version,
    cpus: availableParallelism(),
    durable: values.durable ?? false,
    first_answer_ms: tidy(median(first)),
    own_ms: tidy(median(own)),
    ...medians(ours),
    after_to_fresh: ratios(ours, young),
    memory_mb: tidy(memoryMb),
    memory_mb_after: tidy(devnet.memoryMb()),
    transactions: Number(await ours.algod.round()),
    ...(targets.length === 1 ? {} : { other: medians(targets[1]!), ratios: ratios(ours, targets[1]!) }),
    method: { ...pace, load_before: loadBefore },
    samples: Object.fromEntries([...ours.samples].map(([name, values]) => [name, values.map(tidy)])),
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  await devnet.stop()
  await fresh.stop()
  await load.stop()
}

async function other(port: number, token: string): Promise<Target> {
  const mnemonic = process.env['DISPENSER_MNEMONIC']
  if (mnemonic === undefined) throw new Error('DISPENSER_MNEMONIC must hold the words of a funded account there')
  return withPrograms(await fundedTarget(port, token, mnemonic))
}

async function fundedTarget(port: number, token: string, mnemonic: string): Promise<Target> {
  const algod = new Algod(port, token)
  await algod.fundPayers(mnemonic)
  return targetOf(algod)
}

function medians({ samples }: Target): object {
  return Object.fromEntries(
    [...samples].filter(([name]) => !name.endsWith('_warm_up')).map(([name, values]) => [name, tidy(median(values))]),
  )
}

function ratios(ours: Target, theirs: Target): object {
  return Object.fromEntries(
    [...theirs.samples]
      .filter(([name]) => !name.endsWith('_warm_up'))
      .map(([name, values]) => [name, tidy(pairedRatio(ours.samples.get(name)!, values))]),
  )
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
