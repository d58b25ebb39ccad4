/**
 * The connections of one process to one database, limited in number and time, and re-established after a restart of the
 * server.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Pool, PoolClient, PoolConfig, QueryResultRow } from 'pg'
import type { StoreConnections } from '../../facilitator/store/Settlements.js'
import { StoreError } from '../StoreError.js'
import * as PostgresAddress from './PostgresAddress.js'
import * as Failure from './PostgresError.js'

/** The TLS request of the PostgreSQL protocol: its length, and a number in place of the version. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** A member that the types of `pg` leave out. */
type Connected = { readonly connection?: { readonly stream: { destroy: () => void } } }

/** How a store connects to its database. */
export type PostgresOptions = {
  /**
   * `postgres://user@host:port/database?sslmode=...`. Missing parts are taken from the environment: `PGHOST`, `PGPORT`,
   * `PGDATABASE`, `PGUSER`, `PGPASSWORD`, `PGSSLMODE`, `PGSSLROOTCERT`, `PGSSLCERT`, `PGSSLKEY`, `PGAPPNAME`,
   * `PGCONNECT_TIMEOUT`, `PGOPTIONS`.
   *
   * @default the environment
   */
  readonly address?: string | undefined
  /**
   * The schema of the tables.
   *
   * @default 'latchkey'
   */
  readonly schema?: string | undefined
  /**
   * The maximum number of connections of this process.
   *
   * @default 10
   */
  readonly maxConnections?: number | undefined
  /**
   * How long to wait for a new connection, or for a free one in the pool.
   *
   * @default 5000, or that of `connect_timeout`
   */
  readonly connectTimeoutMs?: number | undefined
  /**
   * The time after which the server ends a statement. Two seconds later the connection is closed.
   *
   * @default 5000
   */
  readonly statementTimeoutMs?: number | undefined
  /** @default 3000 */
  readonly lockTimeoutMs?: number | undefined
  /** @default 10000 */
  readonly idleInTransactionTimeoutMs?: number | undefined
  /**
   * How long to retry connecting while the server is down. A change that was sent is never sent again.
   *
   * @default 5000
   */
  readonly retryMs?: number | undefined
  /** @default 'latchkey' */
  readonly applicationName?: string | undefined
  /** @default process.env */
  readonly environment?: { readonly [name: string]: string | undefined } | undefined
}

/** A statement that is prepared once in every connection. */
export type Statement = {
  /** Unique among the statements of a process. */
  readonly name: string
  readonly text: string
}

type Row = QueryResultRow

/** Runs a query in a transaction. */
export type Transaction = <R extends Row = Row>(text: string, values?: readonly unknown[]) => Promise<R[]>

/** Further calls that wait for a connection are refused immediately. */
const maxWaiting = 10_000
/** Lets the server's own limit end a statement first, because its outcome is then known. */
const marginMs = 2_000
/**
 * A new connection takes the server about 20 ms to start and to plan its statements, as much as seven single payments.
 */
const idleMs = 10 * 60_000
/**
 * Shorter than the time after which network devices silently drop an idle connection, some after four minutes. The next
 * payment would otherwise wait on a dropped connection.
 */
const keepAliveMs = 60_000
const oldestVersion = 150_000
const [firstPauseMs, maxPauseMs] = [25, 500]

/** A limited pool of connections to one database, with time limits for every operation. */
export class PostgresConnection {
  /** The schema of the tables. */
  readonly schema: string
  /** The server and database, for messages. */
  readonly server: string
  readonly #pool: Pool
  readonly #retryMs: number
  readonly #statementTimeoutMs: number

  private constructor(pool: Pool, address: PostgresAddress.PostgresAddress, options: PostgresOptions) {
    this.#pool = pool
    this.schema = schemaOf(options)
    this.server = PostgresAddress.describe(address)
    this.#retryMs = options.retryMs ?? 5_000
    this.#statementTimeoutMs = options.statementTimeoutMs ?? 5_000
    // An idle connection failed, and the pool has already removed it. Without a listener the process would end.
    pool.on('error', () => {})
    // A connection in use failed, and its query fails too. The pool listens only to idle ones.
    pool.on('connect', (client) => client.on('error', () => {}))
  }

  /**
   * Connects, and checks that the server can be used.
   *
   * @param settings further settings of every connection, such as `-c jit=off`
   * @throws StoreError if it cannot, with the reason and never with the password
   */
  static async open(options: PostgresOptions = {}, settings = ''): Promise<PostgresConnection> {
    schemaOf(options)
    const address = PostgresAddress.parse(options.address, options.environment)
    const connectTimeoutMs = options.connectTimeoutMs ?? address.connectTimeoutMs ?? 5_000
    const { Client, Pool } = await driver()
    const usesTls =
      address.sslMode !== 'prefer' || (await isTlsOffered(address, connectTimeoutMs, options.retryMs ?? 5_000))
    const pool = new Pool({
      ...poolConfig(address, usesTls, { ...options, connectTimeoutMs }),
      options: [address.options, isolation, settings].join(' ').trim(),
      Client: closingClient(Client),
    })
    const connection = new PostgresConnection(pool, address, options)
    try {
      await connection.#checkVersion()
    } catch (error) {
      await connection.close()
      throw error
    }
    return connection
  }

  /** The schema as an SQL identifier. */
  get quotedSchema(): string {
    return `"${this.schema}"`
  }

  /** The connections of this process, and the requests that wait for one. */
  get pool(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#pool.waitingCount }
  }

  /**
   * Runs a statement that can safely run twice. The statement is sent again if the connection is lost.
   *
   * @throws StoreError
   */
  async read<R extends Row = Row>(statement: Statement, values: readonly unknown[] = []): Promise<R[]> {
    const untilMs = performance.now() + this.#retryMs
    for (let tries = 0; ; tries++) {
      try {
        return await this.#run<R>(statement, values, untilMs)
      } catch (error) {
        const isLost = error instanceof Failure.PostgresError && error.isOutcomeUnknown
        if (!(isLost || Failure.isConflict(error)) || performance.now() >= untilMs) throw error
        await sleep(pauseMs(tries))
      }
    }
  }

  /**
   * Runs a statement that changes data, once.
   *
   * @throws StoreError; a {@link Failure.PostgresError} shows whether the change may have been made
   */
  write<R extends Row = Row>(statement: Statement, values: readonly unknown[] = []): Promise<R[]> {
    return this.#run<R>(statement, values, performance.now() + this.#retryMs)
  }

  /**
   * Runs several statements in one transaction and one connection, without the time limit of single statements.
   *
   * @throws StoreError, and errors of `work`
   */
  async transaction<T>(work: (query: Transaction) => Promise<T>, timeoutMs = 600_000): Promise<T> {
    const client = await this.#connect(performance.now() + this.#retryMs)
    const query: Transaction = async <R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> => {
      // Without values, the simple protocol is used, which accepts several statements. The types do not include the
      // timeout.
      const config = { text, ...(values.length === 0 ? {} : { values: [...values] }), query_timeout: timeoutMs }
      return (await client.query<R>(config)).rows
    }
    let lost: unknown
    try {
      await query('BEGIN')
      const result = await work(query)
      await query('COMMIT')
      return result
    } catch (error) {
      lost = Failure.isOfStatement(error) || error instanceof StoreError ? undefined : error
      await query('ROLLBACK').catch((second) => {
        lost ??= second
      })
      throw error instanceof Error ? Failure.named(this.server, error, lost !== undefined) : error
    } finally {
      client.release(lost !== undefined)
    }
  }

  /**
   * Checks that changes can be made now.
   *
   * @throws StoreError if they cannot
   */
  async ping(): Promise<void> {
    const [row] = await this.read<{ readonly: boolean }>({
      name: 'latchkey_ping',
      text: `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS readonly`,
    })
    if (row?.readonly !== true) return
    const hint = 'Use the address of the primary server: this may be a standby.'
    throw new StoreError('store_failed', `the database ${this.server}: it is read-only`, { hint })
  }

  /** The number of connections, and of calls that wait for one. */
  get connections(): StoreConnections {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount, max: this.#pool.options.max }
  }

  /** The error of a statement that was not sent, because earlier ones take too long. */
  late(): unknown {
    return Failure.named(this.server, new Error('timeout before it was sent'), false)
  }

  /** Closes all connections after their current work has ended. */
  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end()
  }

  async #run<R extends Row>({ name, text }: Statement, values: readonly unknown[], untilMs: number): Promise<R[]> {
    const client = await this.#connect(untilMs)
    let lost: unknown
    try {
      const { rows } = await client.query<R>({ name, text, values: values as unknown[] })
      return rows
    } catch (error) {
      if (!Failure.isOfStatement(error)) lost = error
      throw Failure.named(this.server, error, lost !== undefined)
    } finally {
      client.release(lost !== undefined)
    }
  }

  /** Returns a free connection. Nothing was sent yet, so connecting can be retried while the server is down. */
  async #connect(untilMs: number): Promise<PoolClient> {
    for (let tries = 0; ; tries++) {
      try {
        if (this.#pool.waitingCount >= maxWaiting) throw new Error('timeout exceeded when trying to connect')
        return await this.#pool.connect()
      } catch (error) {
        if (!Failure.isTemporary(error) || performance.now() >= untilMs || this.#pool.ending) {
          throw Failure.named(this.server, error, false)
        }
        await sleep(pauseMs(tries))
      }
    }
  }

  async #checkVersion(): Promise<void> {
    const [row] = await this.read<{ version: number; text: string }>({
      name: 'latchkey_version',
      text: `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS text`,
    })
    if (row!.version >= oldestVersion) return
    const message = `the database ${this.server}: it is PostgreSQL ${row!.text}, and 15 or newer is needed`
    throw new StoreError('store_failed', message, { hint: 'Update the server.' })
  }

  /** The limit for one statement, in milliseconds. */
  get statementTimeoutMs(): number {
    return this.#statementTimeoutMs
  }
}

/**
 * Overrides the default of the database, the role or PGOPTIONS. A claim waits for the locks of its limits, and counts
 * afterwards in separate statements. With one snapshot for all of them it would not see the changes that it waited for.
 */
const isolation = String.raw`-c default_transaction_isolation=read\ committed`

function poolConfig(address: PostgresAddress.PostgresAddress, usesTls: boolean, options: PostgresOptions): PoolConfig {
  const statementTimeoutMs = options.statementTimeoutMs ?? 5_000
  return {
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    ...(address.password === undefined ? {} : { password: address.password }),
    ssl: usesTls && address.tls !== undefined ? address.tls : false,
    application_name: options.applicationName ?? address.applicationName ?? 'latchkey',
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    idleTimeoutMillis: idleMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + marginMs,
    lock_timeout: options.lockTimeoutMs ?? 3_000,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 10_000,
  }
}

/**
 * Retried until the server answers, because it may be starting. If it does not answer, connecting fails with the
 * reason.
 */
async function isTlsOffered(
  { host, port }: PostgresAddress.PostgresAddress,
  timeoutMs: number,
  retryMs: number,
): Promise<boolean> {
  const untilMs = performance.now() + retryMs
  for (let tries = 0; ; tries++) {
    const isOffered = await offersTls(host, port, timeoutMs)
    if (isOffered !== undefined || performance.now() >= untilMs) return isOffered ?? true
    await sleep(pauseMs(tries))
  }
}

/** @throws StoreError if the schema is not a plain identifier, because it becomes a part of statements */
function schemaOf({ schema = 'latchkey' }: PostgresOptions): string {
  if (/^[a-z_][a-z0-9_]{0,47}$/.test(schema) && !schema.startsWith('pg_')) return schema
  const hint = 'Use lower-case letters, digits and underscores, at most 48.'
  throw new StoreError('store_failed', 'the name of the schema cannot be used', { hint })
}

/** From 25 ms up to half a second, with some jitter, so that replicas do not all connect at once. */
function pauseMs(tries: number): number {
  return Math.min(firstPauseMs * 2 ** tries, maxPauseMs) * (0.5 + Math.random() / 2)
}

/** @throws StoreError if `pg` is not installed */
async function driver(): Promise<typeof import('pg')> {
  try {
    return (await import('pg')).default as unknown as typeof import('pg')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const hint = 'Install it: npm install pg'
    throw new StoreError('store_failed', 'stores in PostgreSQL need the package pg', { hint, cause: error })
  }
}

/** Whether a server offers TLS; undefined if it does not answer. */
function offersTls(host: string, port: number, timeoutMs: number): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const end = (isOffered: boolean | undefined): void => {
      socket.destroy()
      resolve(isOffered)
    }
    socket.once('connect', () => socket.write(tlsRequest))
    socket.once('data', (chunk: Buffer) => end(chunk[0] === 0x53))
    for (const event of ['error', 'timeout', 'close'] as const) socket.once(event, () => end(undefined))
  })
}

/**
 * A client that closes its connection when it cannot log in. The pool forgets such a client, and `pg` leaves its socket
 * open if it gives up itself, for example without a password. The process would then not end until the server closes
 * the socket, after a minute.
 */
function closingClient(Base: typeof Client): PoolConfig['Client'] {
  class ClosingClient extends Base {
    override connect(): Promise<Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      // The pool passes a callback.
      if (callback === undefined) return super.connect()
      super.connect((error: Error | null) => {
        if (error) (this as Connected).connection?.stream.destroy()
        callback(error as Error)
      })
      return undefined
    }
  }
  return ClosingClient
}
