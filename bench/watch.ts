/**
 * Benchmarks how a replica learns that another replica has ended a settlement: by `LISTEN`/`NOTIFY`, or by polling
 * every 25 ms.
 */
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { Database } from './replicas/Database.js'
import { median, pairedRatio, percentile, tidy } from './support/Statistics.js'

const help = `Usage:
  npm run bench:watch -- [--quick]

On a PostgreSQL server with fsync on, in turn: 16 connections that commit as fast as they can, without and with a
notification in every commit; and how long after a commit another connection knows of it. One line of JSON:
  commits_per_s   plain, notify, and the ratio of the two in the same round
  known_ms        p50 and p99 after the commit: by a notification, and by a look every 25 ms
`

const pollMs = 25
const connections = 16

async function connect(database: Database): Promise<Client> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  return client
}

/** Returns the commits per second of all connections together. */
async function commits(clients: readonly Client[], text: string, ms: number): Promise<number> {
  let count = 0
  const startedMs = performance.now()
  const work = async (client: Client): Promise<void> => {
    while (performance.now() - startedMs < ms) {
      await client.query({ name: text.slice(0, 50), text, values: [`${clients.indexOf(client)} ${count}`] })
      count++
    }
  }
  await Promise.all(clients.map(work))
  return (count * 1000) / (performance.now() - startedMs)
}

async function notified(writer: Client, listener: Client, id: string): Promise<number> {
  const known = new Promise<number>((resolve) => listener.once('notification', () => resolve(performance.now())))
  await writer.query("WITH one AS (INSERT INTO ended VALUES ($1)) SELECT pg_notify('ended', $1)", [id])
  const committedMs = performance.now()
  return (await known) - committedMs
}

async function polled(writer: Client, reader: Client, id: string): Promise<number> {
  const looking = (async () => {
    for (;;) {
      const { rowCount } = await reader.query('SELECT FROM ended WHERE id = $1', [id])
      if (rowCount === 1) return performance.now()
      await sleep(pollMs)
    }
  })()
  await sleep(Math.random() * pollMs)
  await writer.query('INSERT INTO ended VALUES ($1)', [id])
  const committedMs = performance.now()
  return (await looking) - committedMs
}

const waits = (values: number[]): object => {
  const sorted = values.map((value) => Math.max(value, 0)).sort((a, b) => a - b)
  return { p50: tidy(percentile(sorted, 0.5)), p99: tidy(percentile(sorted, 0.99)) }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })
  if (values.help) return void process.stdout.write(help)
  const [rounds, ms, count] = values.quick ? [3, 500, 50] : [7, 2_000, 300]
  const loadBefore = tidy(loadavg()[0]!)
  const database = await Database.start()
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(database)))
  const [writer, reader] = clients as [Client, Client]
  await writer.query('CREATE TABLE ended (id text PRIMARY KEY)')
  const [plain, notify]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds!; round++) {
    plain.push(await commits(clients, `INSERT INTO ended VALUES ('p${round} ' || $1)`, ms!))
    const text = `WITH n${round} AS (INSERT INTO ended VALUES ('n${round} ' || $1)) SELECT pg_notify('ended', $1)`
    notify.push(await commits(clients, text, ms!))
  }
  const byPoll: number[] = []
  for (let index = 0; index < count!; index++) byPoll.push(await polled(writer, reader, `poll ${index}`))
  await reader.query('LISTEN ended')
  const byNotification: number[] = []
  for (let index = 0; index < count!; index++) byNotification.push(await notified(writer, reader, `notify ${index}`))
  const result = {
    name: 'watch',
    nodeVersion: process.version,
    cpus: availableParallelism(),
    commits_per_s: {
      plain: tidy(median(plain)),
      notify: tidy(median(notify)),
      ratio: tidy(pairedRatio(notify, plain)),
    },
    known_ms: { notification: waits(byNotification), poll: waits(byPoll) },
    method: { rounds, connections, pollMs, count, fsync: 'on', load_before: loadBefore },
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  for (const client of clients) await client.end()
  await database.stop()
}

main().then(
  () => process.exit(),
  (error: Error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
