/**
 * Benchmarks settlements per second of 1, 2 and 3 replicas on PostgreSQL and of one on SQLite, and their cost to the
 * database.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DevnetProcess } from './devnet/Process.js'
import { Database } from './replicas/Database.js'
import { Replicas, type Sample, type Work } from './replicas/Replicas.js'
import { median, tidy } from './support/Statistics.js'

const help = `Usage:
  npm run bench:replicas -- [--quick] [--rounds N] [--old N] [--data DIR]

Starts a PostgreSQL server with fsync on, a devnet that confirms every payment at once, and replicas in processes of their
own; measures all of them in turn, in every round, and prints one line of JSON with the medians:
  settle         verify and settle by whole facilitators on the devnet, 16 at a time in each replica
  record         the work of their stores alone (hold, claim, finish), 64 at a time in each replica
  record_budget  the same with a budget of all replicas and one of the seller, and a rate: all claims share a lock
Each with per_s in all, and for one settlement: the processor time of the replicas and of the server, the statements that
were sent (round trips), the time in which the server executed them, and the bytes of its log.

  --quick   2 rounds, few payments
  --rounds  how often each is measured (5)
  --old     settled records that are there before (0)
  --data    a directory that keeps the data of the server, with the old records
`

type Kind = 'settle' | 'record' | 'record_budget'

const kinds: readonly Kind[] = ['settle', 'record', 'record_budget']

function run(replicas: Replicas, kind: Kind, isQuick: boolean): Promise<Sample> {
  const work: Work = { count: isQuick ? 60 : 200, at: 16 }
  if (kind === 'settle') return replicas.settle(work)
  const budget = kind === 'record' ? undefined : String(10n ** 18n)
  return replicas.record({ count: isQuick ? 500 : 3_000, at: 64, budget })
}

function figures(samples: readonly Sample[]): object {
  const of = (figure: (sample: Sample) => number): number => tidy(median(samples.map(figure)))
  return {
    per_s: of(({ perSecond }) => perSecond),
    replica_cpu_ms: of(({ replicaCpuMs }) => replicaCpuMs),
    ...(samples[0]!.database === undefined
      ? {}
      : {
          database_cpu_ms: of(({ database }) => database!.cpuMs),
          execution_ms: of(({ database }) => database!.executionMs),
          round_trips: of(({ database }) => database!.calls),
          wal_bytes: of(({ database }) => database!.walBytes),
        }),
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      rounds: { type: 'string' },
      old: { type: 'string' },
      data: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return void process.stdout.write(help)
  const isQuick = values.quick === true
  const rounds = Number(values.rounds ?? (isQuick ? 2 : 5))
  const loadBefore = tidy(loadavg()[0]!)
  const directory = mkdtempSync(join(tmpdir(), 'bench-replicas-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const database = await Database.start(values.data)
  if (values.old !== undefined) await database.addOld(Number(values.old))
  const records = await database.records()
  const devnet = await DevnetProcess.start(['--log-level', 'error'])
  const options = { devnet: devnet.facts, buyers: 16 }
  const sqlite = await Replicas.start('sqlite_1', 1, { ...options, store: join(directory, 'facilitator.db') })
  const candidates = [sqlite]
  for (const count of [1, 2, 3]) {
    candidates.push(await Replicas.start(`postgres_${count}`, count, { ...options, store: database.url }, database))
  }
  const samples = new Map<string, Sample[]>()
  for (let round = -1; round < rounds; round++) {
    for (const kind of kinds) {
      for (const replicas of round % 2 === 0 ? candidates : candidates.toReversed()) {
        const sample = await run(replicas, kind, isQuick || round < 0)
        const key = `${kind} ${replicas.name}`
        // The first round warms up.
        if (round >= 0) samples.set(key, [...(samples.get(key) ?? []), sample])
      }
    }
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  const of = (kind: Kind): object =>
    Object.fromEntries(candidates.map(({ name }) => [name, figures(samples.get(`${kind} ${name}`)!)]))
  const result = {
    name: 'replicas',
    nodeVersion: process.version,
    cpus: availableParallelism(),
    old_records: records.count,
    ...(records.count === 0 ? {} : { bytes_a_record: tidy(records.bytesEach) }),
    ...Object.fromEntries(kinds.map((kind) => [kind, of(kind)])),
    method: { rounds, ledger: 'devnet, a block for every payment', fsync: 'on', load_before: loadBefore },
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  for (const replicas of candidates) replicas.stop()
  await devnet.stop()
  await database.stop()
}

main().then(
  () => process.exit(),
  (error: Error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
