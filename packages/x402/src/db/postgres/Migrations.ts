/**
 * The versions of the tables. Each component (the facilitator's tables, the seller's) has its own list of migrations,
 * numbered from 1. The table `migrations` records which were run. Migrations run under an advisory lock, in one
 * transaction: of replicas that start together only one migrates, and a failed migration leaves no trace.
 *
 * A migration never changes anything that the previous version needs. During a rolling restart replicas of both
 * versions work, and a replica of the previous version can start again on its tables, after a crash or a rollback.
 */
import { StoreError } from '../StoreError.js'
import { PostgresConnection, type PostgresOptions, type Transaction } from './PostgresConnection.js'

/** `GRANT a, b ON [FUNCTION] c, d TO {role}`. A function contains commas, so its grant names only that function. */
const grantPattern = /^GRANT ([A-Z, ]+) ON (FUNCTION )?(.+) TO \{role\}$/

type Right = { readonly object: string; readonly privilege: string; readonly isFunction: boolean }

/** The owner of the tables. A facilitator and a seller can share a database, with separate versions. */
export type PostgresComponent = 'facilitator' | 'seller'

/** The migrations of a component. In their text, `{schema}` stands for the quoted schema. */
export type Migrations = {
  readonly component: PostgresComponent
  /** Version 1 first. A released migration is never changed. */
  readonly versions: readonly string[]
  /** The minimal rights that a role needs at run time. `{role}` stands for the quoted role. */
  readonly grants: readonly string[]
}

/** The result of {@link migrate}. */
export type MigrationReport = {
  readonly component: PostgresComponent
  readonly schema: string
  /** 0 if there were no tables. */
  readonly from: number
  readonly to: number
}

/** The result of {@link readState}. */
export type MigrationState = {
  readonly component: PostgresComponent
  readonly schema: string
  /** The server and database, without user and password. */
  readonly server: string
  /** The version of the tables; 0 if there are none. */
  readonly version: number
  /** The version that this program needs. */
  readonly needed: number
  /** Whether the role of the connection may migrate the tables. */
  readonly mayMigrate: boolean
  /** Tables and functions of the needed version that the role of the connection has no rights to use. */
  readonly notGranted: readonly string[]
}

/** Long, because another process may be migrating tables with many rows. */
const lockTimeoutMs = 120_000
/** The first part of the key of the advisory lock. The schema determines the rest. */
const lockClass = 0x6c6b

/**
 * Migrates the tables of a component if the role of the connection owns them. Otherwise checks their version. Tables of
 * the next version are used unchanged.
 *
 * @throws StoreError `store_too_new` if the tables are more than one version newer, `store_not_migrated` if this role
 * may not change them, or lacks rights to use some of them
 */
export async function prepare(connection: PostgresConnection, migrations: Migrations): Promise<void> {
  const state = await stateOf(connection, migrations)
  const own = migrations.versions.length
  if (state.version > own + 1) checkNotNewer(connection, migrations, state.version)
  if (state.version >= own) return checkRights(connection, migrations)
  if (!state.mayMigrate) throw notMigrated(connection, migrations, state.version)
  await run(connection, migrations, undefined)
}

/**
 * Migrates the tables of a component, and grants a role the rights that it needs at run time.
 *
 * @throws StoreError
 */
export async function migrate(
  connection: PostgresConnection,
  migrations: Migrations,
  runtimeRole: string | undefined,
): Promise<MigrationReport> {
  return run(connection, migrations, runtimeRole)
}

/** Opens a connection, migrates one component, and closes the connection. */
export async function migrateOnce(
  options: PostgresOptions & { readonly runtimeRole?: string | undefined },
  migrations: Migrations,
): Promise<MigrationReport> {
  const connection = await PostgresConnection.open({ maxConnections: 1, ...options })
  try {
    return await migrate(connection, migrations, options.runtimeRole)
  } finally {
    await connection.close()
  }
}

/**
 * Reads the version of a component's tables, and whether it is the needed one. Changes nothing.
 *
 * @throws StoreError `store_too_new` if a later version wrote them; `store_failed` if the database cannot be used
 */
export async function readState(options: PostgresOptions, migrations: Migrations): Promise<MigrationState> {
  const connection = await PostgresConnection.open({ maxConnections: 1, ...options })
  try {
    const { version, mayMigrate } = await stateOf(connection, migrations)
    checkNotNewer(connection, migrations, version)
    const { schema, server } = connection
    const { component, grants } = migrations
    const needed = migrations.versions.length
    const notGranted = version === needed ? await missingRights(connection, grants) : []
    return { component, schema, server, version, needed, mayMigrate, notGranted }
  } finally {
    await connection.close()
  }
}

/**
 * Reads the version of a component's tables from an open connection.
 *
 * @throws StoreError `store_too_new` if a later version wrote them
 */
export async function currentState(connection: PostgresConnection, migrations: Migrations): Promise<State> {
  const state = await stateOf(connection, migrations)
  checkNotNewer(connection, migrations, state.version)
  return state
}

/** Replaces the names in an SQL text. Both are checked or quoted, so that no part of them is read as SQL. */
export function sql(text: string, schema: string, role?: string): string {
  return text.replaceAll('{schema}', schema).replaceAll('{role}', () => quoted(role ?? ''))
}

async function run(
  connection: PostgresConnection,
  migrations: Migrations,
  runtimeRole: string | undefined,
): Promise<MigrationReport> {
  const { component, versions, grants } = migrations
  const schema = connection.quotedSchema
  return connection.transaction(async (query) => {
    await query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
    await query('SET LOCAL statement_timeout = 0')
    await query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [lockClass, connection.schema])
    await createBase(query, connection)
    const [row] = await query<{ version: number }>(
      `SELECT coalesce(max(version), 0) AS version FROM ${schema}.migrations WHERE component = $1`,
      [component],
    )
    const from = row!.version
    checkNotNewer(connection, migrations, from)
    for (let version = from + 1; version <= versions.length; version++) {
      await query(sql(versions[version - 1]!, schema))
      await query(`INSERT INTO ${schema}.migrations (component, version) VALUES ($1, $2)`, [component, version])
    }
    if (runtimeRole !== undefined) {
      const base = ['GRANT USAGE ON SCHEMA {schema} TO {role}', 'GRANT SELECT ON {schema}.migrations TO {role}']
      for (const grant of [...base, ...grants]) await query(sql(grant, schema, runtimeRole))
    }
    return { component, schema: connection.schema, from, to: versions.length }
  })
}

/**
 * Creates only what is missing, because `CREATE SCHEMA IF NOT EXISTS` needs the right to create a schema even if it
 * exists.
 */
async function createBase(query: Transaction, connection: PostgresConnection): Promise<void> {
  const [found] = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [connection.schema])
  if (found === undefined) await query(`CREATE SCHEMA ${connection.quotedSchema}`)
  await query(
    `CREATE TABLE IF NOT EXISTS ${connection.quotedSchema}.migrations (
       component text NOT NULL,
       version integer NOT NULL,
       applied_at timestamptz NOT NULL DEFAULT now(),
       PRIMARY KEY (component, version)
     )`,
  )
}

type State = { readonly version: number; readonly mayMigrate: boolean }

async function stateOf(connection: PostgresConnection, { component }: Migrations): Promise<State> {
  const [row] = await connection.read<{ may_use: boolean | null; has_table: boolean; may_migrate: boolean }>(
    {
      name: 'latchkey_schema',
      text: `SELECT has_schema_privilege(n.oid, 'USAGE') AS may_use,
               EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'migrations') AS has_table,
               CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
                 ELSE pg_has_role(n.nspowner, 'USAGE') END AS may_migrate
             FROM (SELECT $1::name AS name) AS given LEFT JOIN pg_namespace n ON n.nspname = given.name`,
    },
    [connection.schema],
  )
  const mayMigrate = row!.may_migrate
  if (!row!.has_table || row!.may_use !== true) return { version: 0, mayMigrate }
  const [found] = await connection.read<{ version: number }>(
    {
      name: 'latchkey_version_of',
      text: `SELECT coalesce(max(version), 0) AS version FROM ${connection.quotedSchema}.migrations WHERE component = $1`,
    },
    [component],
  )
  return { version: found!.version, mayMigrate }
}

function checkNotNewer(
  { server, schema }: PostgresConnection,
  { component, versions }: Migrations,
  found: number,
): void {
  if (found <= versions.length) return
  const message = `the tables of the ${component} in schema ${schema} of ${server} were written by a later version of this program`
  throw new StoreError('store_too_new', message, { hint: 'Use that version, or another schema or database.' })
}

/** Checked at startup, because a store that lacks a right would fail only with the payment that needs it. */
async function checkRights(connection: PostgresConnection, { component, grants }: Migrations): Promise<void> {
  const missing = await missingRights(connection, grants)
  if (missing.length === 0) return
  const { server, schema } = connection
  const message = `this role lacks the rights to use ${missing.join(', ')} of the ${component} in schema ${schema} of ${server}`
  throw new StoreError('store_not_migrated', message)
}

function notMigrated(
  { server, schema }: PostgresConnection,
  { component, versions }: Migrations,
  found: number,
): StoreError {
  const state = found === 0 ? 'has no tables' : `has tables of version ${found}`
  const message =
    `schema ${schema} of ${server} ${state} of the ${component} that this role can use; ` +
    `version ${versions.length} is needed, and this role may not create it`
  return new StoreError('store_not_migrated', message)
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * Returns the tables and functions that the role of the connection lacks rights to use, after a migration that did not
 * name the role. All of them must exist.
 */
async function missingRights(connection: PostgresConnection, grants: readonly string[]): Promise<string[]> {
  const rights = grants.flatMap((grant) => rightsOf(grant, connection.quotedSchema))
  const rows = await connection.read<{ object: string }>(
    {
      name: 'latchkey_missing_rights',
      text: `SELECT DISTINCT object FROM unnest($1::text[], $2::text[], $3::boolean[]) AS needed (object, privilege, is_function)
             WHERE NOT CASE WHEN is_function THEN has_function_privilege(object, privilege)
               ELSE has_table_privilege(object, privilege) END
             ORDER BY object`,
    },
    [
      rights.map(({ object }) => object),
      rights.map(({ privilege }) => privilege),
      rights.map(({ isFunction }) => isFunction),
    ],
  )
  return rows.map(({ object }) => object.slice(connection.quotedSchema.length + 1))
}

function rightsOf(grant: string, schema: string): Right[] {
  const [, privileges, isFunction, objects] = grantPattern.exec(grant)!
  const names = isFunction === undefined ? objects!.split(', ') : [objects!]
  return names.flatMap((name) =>
    privileges!.split(', ').map((privilege) => ({
      object: name.replace('{schema}', schema),
      privilege,
      isFunction: isFunction !== undefined,
    })),
  )
}
