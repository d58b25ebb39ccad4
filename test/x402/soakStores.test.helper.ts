/** The stores of a soak, in SQLite files or in databases of a PostgreSQL server that is killed like the other processes. */
import { join } from 'node:path'
import { PostgresClaims } from '@latchkey/x402/postgres'
import type { ClaimStore, Sale, SaleStore } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { DatabaseSync } from '@photostructure/sqlite'
import { Client } from 'pg'
import { asRole, emptyDatabase, forCommand, PostgresServer } from '../support/postgres.test.helper.js'
import type { Killable } from './soakProcesses.test.helper.js'

type Scope = { after: (work: () => unknown) => void }
export type Engine = 'sqlite' | 'postgres'
type Claims = ClaimStore & { readonly sales: SaleStore; readonly close: () => unknown }

/** A database with its rows, which are read past the product. */
export type Database = {
  /** Numbers, and times in milliseconds, are text. */
  readonly rows: <Row>(table: string) => Promise<Row[]>
  readonly execute: (statement: string) => Promise<void>
}

export type ClaimsDatabase = Database & {
  readonly claims: Claims
  /** Opens the same store again. */
  readonly open: () => Promise<Claims>
  /** Lets the leases of metered work end now. */
  readonly abandonWork: () => Promise<void>
}

export type Stores = {
  readonly settlements: Database
  /** The option and the environment with which the facilitator opens its store. */
  readonly facilitator: { readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv }
  readonly openClaims: (name: string) => Promise<ClaimsDatabase>
  /** What is killed beside the other processes. */
  readonly servers: readonly Killable[]
}

export function openStores(t: Scope, engine: Engine, directory: string): Promise<Stores> {
  return engine === 'postgres' ? openPostgres(t) : openSqlite(t, directory)
}

async function openSqlite(t: Scope, directory: string): Promise<Stores> {
  const storeFile = join(directory, 'facilitator.db')
  const openClaims = async (name: string): Promise<ClaimsDatabase> => {
    const file = join(directory, `${name}.db`)
    const open = async (): Promise<Claims> => {
      const claims = new SqliteClaims(file)
      t.after(() => claims.close())
      return claims
    }
    const database = sqliteFile(file)
    const abandonWork = (): Promise<void> => database.execute('UPDATE metered_work SET until_ms = 0')
    return { ...database, claims: await open(), open, abandonWork }
  }
  return {
    settlements: sqliteFile(storeFile),
    facilitator: { args: ['--store', storeFile], env: {} },
    openClaims,
    servers: [],
  }
}

function sqliteFile(file: string): Database {
  const use = async <T>(work: (database: InstanceType<typeof DatabaseSync>) => T): Promise<T> => {
    const database = new DatabaseSync(file)
    try {
      database.exec('PRAGMA busy_timeout = 10000')
      return work(database)
    } finally {
      database.close()
    }
  }
  return {
    rows: (table) => use((database) => database.prepare(`SELECT * FROM ${table}`).all() as never),
    execute: (statement) => use((database) => database.exec(statement)),
  }
}

async function openPostgres(t: Scope): Promise<Stores> {
  const server = await PostgresServer.start(t)
  const address = await emptyDatabase(server)
  const openClaims = async (): Promise<ClaimsDatabase> => {
    const own = await emptyDatabase(server)
    const open = async (): Promise<Claims> => {
      const claims = await PostgresClaims.open({ address: own, maxConnections: 4 })
      t.after(() => claims.close())
      return claims
    }
    const database = postgresDatabase(own)
    const abandonWork = (): Promise<void> => database.execute("UPDATE latchkey.metered_work SET until_at = 'epoch'")
    return { ...database, claims: await open(), open, abandonWork }
  }
  const { args, env } = forCommand(['--store', asRole(address, 'postgres')])
  const kill = (): Promise<void> => server.kill()
  return {
    settlements: postgresDatabase(address),
    facilitator: { args, env },
    openClaims,
    servers: [{ name: 'postgres', kill, start: () => server.restart() }],
  }
}

function postgresDatabase(address: string): Database {
  const query = async <Row>(statement: string): Promise<Row[]> => {
    const client = new Client({ connectionString: address })
    // A server that is killed while a query runs.
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(statement)).rows as Row[]
    } finally {
      await client.end()
    }
  }
  return {
    rows: (table) => query(`SELECT * FROM latchkey.${table}`),
    execute: async (statement) => void (await query(statement)),
  }
}

/** Returns every sale in a store. */
export async function allSales(sales: SaleStore): Promise<Sale[]> {
  const all: Sale[] = []
  let after: string | undefined
  do {
    const page = await sales.list({ limit: 1_000, after })
    all.push(...page.sales)
    after = page.next
  } while (after !== undefined)
  return all
}
