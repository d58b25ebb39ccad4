/**
 * Benchmarks the devnet: the time to its first response, payments per second, and the rate after many payments.
 * Another algod in dev mode can be measured in the same rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Algod } from './devnet/Algod.js'
import { DevnetProcess, emptyProcessMs } from './devnet/Process.js'
import { Load } from './support/Load.js'
import { median, pairedRatio, tidy } from './support/Statistics.js'

const help = `Usage:
  npm run bench:devnet -- [--quick] [--durable] [--transactions N] [--algod PORT --token TOKEN]

Starts the devnet and measures, each the median over rounds:
  first_answer_ms     from the start of the process to its first answer; own_ms is that less what an empty Node takes
  payments_per_s_16   single payments submitted over HTTP on 16 connections, each signature verified, each in a block
  payments_per_s_1    the same on one connection
  ..._after           the same after N payments in all (250000; with --quick 50000), with the memory then
  after_to_fresh      those, divided by what a fresh devnet does that is measured in turn with it

  --durable           with a state file: an answer comes only after its payment is on the disk
  --transactions N    how many payments before the second measurement
  --algod PORT        another algod in dev mode on this machine, measured in turn with ours; its --token, and a funded
                      account's words in the environment variable DISPENSER_MNEMONIC
Prints one line of JSON.
`

type Pace = { rounds: number; windowMs: number; transactions: number }

const connectionCounts = [16, 1] as const
/** More than any target accepts in the time, because a payment cannot be sent twice. */
const maxPerSecond = 15_000
const fillBatch = 20_000

/** Signing takes longer than the window, so a little more is signed than the target accepted before. */
const spare = 1.3

type Window = { readonly connections: number; readonly windowMs: number; readonly perSecondBefore: number | undefined }

async function measure(target: Algod, load: Load, window: Window): Promise<number> {
  const { connections, windowMs, perSecondBefore } = window
  const most = perSecondBefore === undefined ? maxPerSecond : Math.min(maxPerSecond, perSecondBefore * spare)
  const requests = await target.payments(Math.ceil((most * windowMs) / 1000))
  const before = await target.round()
  const assignment = { port: target.port, requests, connections, windowMs, unrepeatable: true }
  const { perSecond, requests: answered } = await load.run(assignment)
  const made = (await target.round()) - before
  if (made !== BigInt(answered)) throw new Error(`${answered} payments were answered, ${made} blocks made`)
  return perSecond
}

/** Measures the targets alternately; the order changes from round to round. */
async function compare(targets: readonly Target[], load: Load, pace: Pace, suffix: string): Promise<void> {
  for (let round = 0; round < pace.rounds; round++) {
    for (const { algod, samples, fastest } of round % 2 === 0 ? targets : targets.toReversed()) {
      for (const connections of connectionCounts) {
        const { windowMs } = pace
        const perSecondBefore = fastest.get(connections)
        const perSecond = await measure(algod, load, { connections, windowMs, perSecondBefore })
        const name = `payments_per_s_${connections}${suffix}`
        samples.set(name, [...(samples.get(name) ?? []), perSecond])
        fastest.set(connections, Math.max(perSecondBefore ?? 0, perSecond))
      }
    }
  }
}

type Target = {
  name: string
  algod: Algod
  samples: Map<string, number[]>
  /** The highest rate so far, by the number of connections. */
  fastest: Map<number, number>
}

function targetOf(name: string, algod: Algod): Target {
  return { name, algod, samples: new Map(), fastest: new Map() }
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
  const ours = targetOf('latchkey', new Algod(devnet.port, ''))
  const targets = [ours]
  await ours.algod.fundPayers(devnet.mnemonic)
  if (values.algod !== undefined) targets.push(await other(Number(values.algod), values.token ?? ''))
  for (const { algod } of targets) await algod.checkThatSignaturesCount()

  await compare(targets, load, { ...pace, rounds: 1 }, '_warm_up')
  await compare(targets, load, pace, '')
  const memoryMb = devnet.memoryMb()
  await fill(ours.algod, load, transactions)
  // Alternates with a fresh devnet, so other load on the machine affects both.
  const fresh = await DevnetProcess.start(values.durable ? ['--state', join(directory, 'fresh.log')] : [])
  const young = targetOf('fresh', new Algod(fresh.port, ''))
  await young.algod.fundPayers(fresh.mnemonic)
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
  const algod = new Algod(port, token)
  await algod.fundPayers(mnemonic)
  return targetOf('other', algod)
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
