/** Runs a PostgreSQL server for the benchmark on loopback, with `fsync` on, so a commit is on disk. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migratePostgres } from '@latchkey/x402/postgres'
import { Client } from 'pg'

/** The PostgreSQL programs refuse to run as root. */
const unprivilegedId = 65_534
const identity = process.getuid?.() === 0 ? { uid: unprivilegedId, gid: unprivilegedId } : {}
const schema = 'latchkey'
const ticksPerSecond = 100

export type Usage = {
  /** The statements sent, and the time that the server took to execute them. */
  readonly calls: number
  readonly executionMs: number
  readonly walBytes: number
  /** User and system time of all processes of the server. */
  readonly cpuMs: number
}

export class Database {
  readonly url: string
  readonly #child: ChildProcess
  readonly #client: Client

  private constructor(child: ChildProcess, client: Client, url: string) {
    this.#child = child
    this.#client = client
    this.url = url
  }

  /** @param kept a directory whose data is reused and kept; without it, the data is deleted */
  static async start(kept?: string): Promise<Database> {
    const directory = kept ?? mkdtempSync(join(tmpdir(), 'bench-replicas-'))
    mkdirSync(directory, { recursive: true })
    const port = await freePort()
    const data = join(directory, 'data')
    if (identity.uid !== undefined) chownSync(directory, identity.uid, identity.gid!)
    if (!existsSync(data)) {
      const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
      execFileSync(program('initdb'), flags, { ...identity, cwd: directory, stdio: 'ignore' })
    }
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: directory,
      shared_buffers: '256MB',
      max_wal_size: '4GB',
      // Old records are written without the log.
      wal_level: 'minimal',
      max_wal_senders: '0',
      shared_preload_libraries: 'pg_stat_statements',
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(program('postgres'), ['-D', data, ...flags], { ...identity, cwd: directory, stdio: 'ignore' })
    process.on('exit', () => {
      child.kill('SIGQUIT')
      if (kept === undefined) rmSync(directory, { recursive: true, force: true })
    })
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    await migratePostgres('facilitator', { address: url, environment: {}, retryMs: 60_000 })
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
    return new Database(child, client, url)
  }

  /** Returns the usage so far. */
  async usage(): Promise<Usage> {
    const { rows } = await this.#client.query(`SELECT sum(calls)::float8 AS calls, sum(total_exec_time)::float8 AS ms,
      pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal
      FROM pg_stat_statements WHERE query LIKE '%latchkey%' AND query NOT LIKE '%pg_stat_statements%'`)
    const { calls, ms, wal } = rows[0]!
    return { calls: calls ?? 0, executionMs: ms ?? 0, walBytes: wal, cpuMs: cpuMsOf(this.#child.pid!) }
  }

  /** Returns the bytes per record including indexes, over all partitions, and the number of records. */
  async records(): Promise<{ readonly count: number; readonly bytesEach: number }> {
    await this.#client.query(`ANALYZE ${schema}.settlements`)
    const { rows } = await this.#client.query(`SELECT sum(greatest(c.reltuples, 0))::float8 AS count,
      sum(pg_total_relation_size(c.oid))::float8 AS bytes
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '${schema}.settlements'::regclass`)
    const { count, bytes } = rows[0]!
    return { count, bytesEach: count === 0 ? 0 : bytes / count }
  }

  /** Adds settled records of the last weeks, a million per partition. */
  async addOld(count: number): Promise<void> {
    const perWeek = 1_000_000
    for (let week = 1; (week - 1) * perWeek < count; week++) {
      const start = `(date_trunc('week', now() AT TIME ZONE 'UTC') - interval '${7 * week} days') AT TIME ZONE 'UTC'`
      const { rows } = await this.#client.query(
        `SELECT 'settlements_' || to_char(${start} AT TIME ZONE 'UTC', 'YYYYMMDD') AS name, (${start})::text AS since,
         (${start} + interval '7 days')::text AS until, to_regclass('${schema}.settlements_' || to_char(${start} AT TIME ZONE 'UTC', 'YYYYMMDD')) AS found`,
      )
      const { name, since, until, found } = rows[0]!
      if (found === null) await this.#addWeek(name, since, until, Math.min(perWeek, count - (week - 1) * perWeek))
    }
    await this.#client.query('CHECKPOINT')
  }

  async #addWeek(name: string, since: string, until: string, count: number): Promise<void> {
    process.stderr.write(`${name} `)
    // 52 characters like an id, 58 like an address, and two signed transactions of 234 and 139 bytes.
    await this.#client.query(`BEGIN;
      CREATE TABLE ${schema}.${name} (LIKE ${schema}.settlements INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
      INSERT INTO ${schema}.${name}
        SELECT upper(substr(hash || hash, 1, 52)), '${since}'::timestamptz + n * interval '0.6 seconds', 'settled',
          'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe', upper(substr(md5((n % 5000)::text) || hash, 1, 58)),
          upper(substr(repeat(md5((n % 100)::text), 2), 1, 58)), '10458941', '1000',
          ARRAY[decode(repeat(hash, 14) || '0102030405', 'hex'), decode(repeat(hash, 8) || '01020304050607', 'hex')],
          50000000 + n, 50001000 + n, 2000, hash || hash, 50000001 + n, NULL, NULL, n
        FROM (SELECT n, md5('${name}' || n) AS hash FROM generate_series(1, ${count}) AS n) AS numbered;
      COMMIT`)
    await this.#client.query(`ALTER TABLE ${schema}.${name} ADD PRIMARY KEY (transaction_id, created_at)`)
    await this.#client.query(
      `ALTER TABLE ${schema}.settlements ATTACH PARTITION ${schema}.${name} FOR VALUES FROM ('${since}') TO ('${until}')`,
    )
  }

  async stop(): Promise<void> {
    this.#client.on('error', () => {})
    await this.#client.end()
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGINT')
    await ended
  }
}

function program(name: string): string {
  const given = process.env['POSTGRES_BIN']
  const directories =
    given === undefined ? ['18', '17', '16', '15'].map((v) => `/usr/lib/postgresql/${v}/bin`) : [given]
  return join(directories.find((directory) => existsSync(join(directory, name))) ?? '/usr/bin', name)
}

/** Returns the time of a process and its children. Children that have exited are counted with their parent. */
function cpuMsOf(pid: number): number {
  let ticks = 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      // proc(5): the second field, the program name, can contain spaces.
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      if (Number(entry) === pid) ticks += fields[11]! + fields[12]! + fields[13]! + fields[14]!
      else if (fields[1] === pid) ticks += fields[11]! + fields[12]!
    } catch {
      // The process has exited.
    }
  }
  return (ticks * 1000) / ticksPerSecond
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
