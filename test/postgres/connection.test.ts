/** Tests connections to a real server: addresses, pool, timeouts, roles, migrations, and restarts. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import {
  migratePostgres,
  PostgresConnection,
  type PostgresOptions,
  PostgresSettlements,
  StoreError,
} from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { asRole, emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'

type Test = { after: (work: () => unknown) => void }

const environment = {}
const server = await PostgresServer.start({ after }, { settings: { max_connections: '40' } })
const address = await emptyDatabase(server)

test('a URL or the environment names the server', async (t) => {
  const { hostname, port, pathname } = new URL(address)
  const { password: PGPASSWORD } = server
  const variables = { PGHOST: hostname, PGPORT: port, PGUSER: 'postgres', PGPASSWORD, PGDATABASE: pathname.slice(1) }
  for (const options of [
    { address, environment },
    { environment: variables },
    { address: 'postgres:///', environment: variables },
    { address: `postgres://postgres@:${port}${pathname}?host=${server.directory}`, environment },
  ]) {
    const connection = await open(t, options)
    const text = "SELECT current_database() AS name, current_setting('application_name') AS app"
    const [row] = await connection.read({ name: 'who', text })
    assert.deepEqual({ ...row }, { name: variables.PGDATABASE, app: 'latchkey' })
  }
})

test('an unreachable server is named, and no text contains a password', async () => {
  const wrong = `postgres://someone:hunter2@127.0.0.1:1/nothing`
  const error = await failure(PostgresConnection.open({ address: wrong, environment, retryMs: 50 }))
  assert.equal(error.message, 'the database 127.0.0.1:1/nothing: no server listens at this address')
  assert.match(error.hint ?? '', /Start the server/)
  assert.doesNotMatch(inspect(error, { depth: 10, showHidden: true }), /hunter2/)
  const missing = await failure(open({ after: () => {} }, { address: server.url('missing') }))
  assert.match(missing.message, /the database does not exist/)
})

test('the pool is bounded, and requests that wait too long fail', async (t) => {
  const connection = await open(t, { maxConnections: 2, connectTimeoutMs: 1_500, statementTimeoutMs: 60_000 })
  const slow = [1, 2].map(() => connection.read({ name: 'slow', text: 'SELECT pg_sleep(6)' }))
  const error = await failure(connection.read({ name: 'quick', text: 'SELECT 1' }))
  assert.match(error.message, /all connections of this process are busy/)
  assert.equal(connection.pool.total, 2)
  await Promise.all(slow)
  await connection.read({ name: 'quick', text: 'SELECT 1' })
})

test('the server cancels a statement that takes too long, and its outcome is known', async (t) => {
  const connection = await open(t, { statementTimeoutMs: 2_000, maxConnections: 1 })
  const error = await failure(connection.write({ name: 'slow', text: 'SELECT pg_sleep(30)' }))
  assert.match(error.message, /a statement took too long/)
  assert.equal(error.isOutcomeUnknown, false)
  assert.equal((await connection.read({ name: 'quick', text: 'SELECT 1 AS one' }))[0]!['one'], 1)
})

test('waits for a lock of another transaction up to the limit', async (t) => {
  const connection = await open(t, { lockTimeoutMs: 1_000 })
  await connection.write({ name: 'create', text: 'CREATE TABLE locked (id integer)' })
  await connection.transaction(async (query) => {
    await query('LOCK TABLE locked')
    const error = await failure(connection.read({ name: 'wait', text: 'SELECT * FROM locked' }))
    assert.match(error.message, /a lock was not released in time/)
  })
})

test('a failed transaction leaves nothing, and its connection is reused', async (t) => {
  const connection = await open(t, { maxConnections: 1 })
  const failed = connection.transaction(async (query) => {
    await query('CREATE TABLE nothing (id integer)')
    await query('SELECT 1 / 0')
  })
  assert.match((await failure(failed)).message, /division by zero/)
  const [row] = await connection.read({ name: 'there', text: "SELECT to_regclass('nothing') AS found" })
  assert.equal(row!['found'], null)
})

test('idle connections closed by the server do not stop the process; reads continue after a restart', async (t) => {
  const connection = await open(t, { maxConnections: 3, retryMs: 60_000 })
  const read = (): Promise<unknown> => connection.read({ name: 'one', text: 'SELECT 1' })
  await Promise.all([read(), read(), read()])
  await server.kill()
  const reading = [read(), read()]
  await server.restart()
  await Promise.all(reading)
  await read()
})

test('a change whose connection is lost is not resent, and reports an unknown outcome', async (t) => {
  const connection = await open(t)
  await connection.write({ name: 'create', text: 'CREATE TABLE changes (id serial)' })
  const sleeping = failure(
    connection.write({ name: 'change', text: 'WITH s AS (SELECT pg_sleep(20)) INSERT INTO changes SELECT FROM s' }),
  )
  const other = await open(t)
  const text =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'WITH s AS%' AND pid <> pg_backend_pid()"
  while ((await other.read({ name: 'terminate', text })).length === 0);
  const error = await sleeping
  assert.equal(error.isOutcomeUnknown, true)
  assert.equal((await connection.read({ name: 'count', text: 'SELECT * FROM changes' })).length, 0)
})

test('refuses a standby and a role without rights as a store', async (t) => {
  const standby = await open(t, { address: `${address}?options=-c%20default_transaction_read_only%3Don` })
  assert.match((await failure(standby.ping())).message, /read-only/)
  await (await open(t)).ping()
})

test('the owner migrates, and another role needs grants for what it uses', async (t) => {
  const database = await emptyDatabase(server)
  for (const role of ['owner_1', 'runtime_1', 'other_1']) await server.createRole(role)
  await asAdmin(database, `GRANT CREATE ON DATABASE ${new URL(database).pathname.slice(1)} TO owner_1`)
  const as = (role: string): string => asRole(database, role)
  const denied = await failure(migratePostgres('facilitator', { address: as('runtime_1'), environment }))
  assert.equal(denied.code, 'store_failed')
  assert.match(denied.message, /does not have the right/)
  const options = { address: as('owner_1'), environment, runtimeRole: 'runtime_1' }
  const [first, second] = await Promise.all([
    migratePostgres('facilitator', options),
    migratePostgres('facilitator', options),
  ])
  assert.deepEqual([first.from, second.from].sort(), [0, first.to])
  const runtime = await open(t, { address: as('runtime_1') })
  await runtime.read({ name: 'versions', text: 'SELECT * FROM latchkey.migrations' })
  const text = 'CREATE TABLE latchkey.more (id integer)'
  assert.match((await failure(runtime.write({ name: 'more', text }))).message, /does not have the right/)
  const other = await open(t, { address: as('other_1') })
  const read = other.read({ name: 'versions', text: 'SELECT * FROM latchkey.migrations' })
  assert.match((await failure(read)).message, /does not have the right/)
})

test('tables of a later version are refused', async () => {
  const database = await emptyDatabase(server)
  await migratePostgres('seller', { address: database, environment, schema: 'later' })
  await asAdmin(database, "INSERT INTO later.migrations VALUES ('seller', 1000)")
  const error = await failure(migratePostgres('seller', { address: database, environment, schema: 'later' }))
  assert.equal(error.code, 'store_too_new')
})

test('a store starts on tables of the next version, as after a crash during an update, but not on later ones', async (t) => {
  const database = await emptyDatabase(server)
  const options = { address: database, environment, schema: 'next' }
  const { to } = await migratePostgres('facilitator', options)
  await asAdmin(database, `INSERT INTO next.migrations VALUES ('facilitator', ${to + 1})`)
  const store = await PostgresSettlements.open(options)
  t.after(() => store.close())
  await store.ping()
  await asAdmin(database, `INSERT INTO next.migrations VALUES ('facilitator', ${to + 2})`)
  assert.equal((await failure(PostgresSettlements.open(options))).code, 'store_too_new')
})

test('ping reports a server that answers and cannot write', async (t) => {
  const database = await emptyDatabase(server)
  const store = await PostgresSettlements.open({ address: database, environment, schema: 'probed' })
  t.after(() => store.close())
  await asAdmin(
    database,
    `CREATE FUNCTION probed.full() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER is_full BEFORE INSERT OR UPDATE ON probed.settlement_rates EXECUTE FUNCTION probed.full()`,
  )
  assert.equal((await failure(store.ping())).code, 'store_failed')
  await asAdmin(database, 'DROP TRIGGER is_full ON probed.settlement_rates')
  await store.ping()
  await store.ping()
  const client = new Client(database)
  await client.connect()
  t.after(() => client.end())
  const { rows } = await client.query("SELECT count FROM probed.settlement_rates WHERE name = 'ping'")
  assert.deepEqual(rows, [{ count: 1 }], 'does not write with every check')
})

test('a schema that is not a plain name is refused', async () => {
  for (const schema of ['a"; DROP TABLE x; --', 'A', '', 'pg_catalog', 'x'.repeat(64)]) {
    await assert.rejects(PostgresConnection.open({ address, environment, schema }), { code: 'store_failed' })
  }
})

async function open(t: Test, options: PostgresOptions = {}): Promise<PostgresConnection> {
  const connection = await PostgresConnection.open({ address, environment, ...options })
  t.after(() => connection.close())
  return connection
}

type Failure = StoreError & { readonly isOutcomeUnknown?: boolean }

async function failure(work: Promise<unknown>): Promise<Failure> {
  const error = await work.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof StoreError, inspect(error))
  return error
}

async function asAdmin(database: string, text: string): Promise<void> {
  const client = new Client({ connectionString: database })
  await client.connect()
  await client.query(text)
  await client.end()
}
