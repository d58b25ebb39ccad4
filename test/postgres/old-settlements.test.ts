/** Tests settlements over weeks: old ones are removed, and the remaining ones cost the new ones nothing. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { PostgresSettlements, type PostgresSettlementsOptions } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { holdOf, settlement } from '../support/settlementConformance.test.helper.js'

// The planner does not learn that a table has grown.
const server = await PostgresServer.start({ after }, { settings: { max_connections: '40', autovacuum: 'off' } })
const address = await emptyDatabase(server)
const admin = new Client({ connectionString: address })
await admin.connect()
// The server stops first.
admin.on('error', () => {})

let count = 0

type Replicas = { readonly schema: string; readonly stores: readonly PostgresSettlements[] }

async function open(t: TestContext, options: PostgresSettlementsOptions = {}): Promise<Replicas> {
  const schema = `old_${++count}`
  const one = () => PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 4, ...options })
  const stores = [await one(), await one()]
  t.after(() => Promise.all(stores.map((store) => store.close())))
  return { schema, stores }
}

test('old settlements leave in whole partitions, archived or deleted, unless one is pending', async (t) => {
  for (const oldSettlements of ['archive', 'drop'] as const) {
    const { schema, stores } = await open(t, { oldSettlements })
    const [old, pending, recent] = [settlement(), settlement(), settlement()]
    for (const one of [old, pending, recent]) await stores[0]!.claim(one, {})
    for (const one of [old, recent]) await stores[0]!.finish(one.transactionId, { state: 'settled' })
    await age(schema, old.transactionId, '2020-01-08')
    await age(schema, pending.transactionId, '2020-02-05')
    await stores[1]!.forgetBefore(Date.now())
    const left = [old, pending, recent].map(async ({ transactionId }) => (await stores[0]!.get(transactionId))?.state)
    assert.deepEqual(await Promise.all(left), [undefined, 'pending', 'settled'])
    const { rows } = await admin.query(
      'SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relname ~ $2',
      [schema, '^archived_settlements_[0-9]+$'],
    )
    assert.deepEqual(
      rows.map(({ relname }) => relname),
      oldSettlements === 'archive' ? ['archived_settlements_20200106'] : [],
    )
    await stores[0]!.finish(pending.transactionId, { state: 'settled' })
    await stores[1]!.forgetBefore(Date.now())
    assert.equal(await stores[0]!.get(pending.transactionId), undefined)
  }
})

test('settlements of a week without a partition are archived too, row by row', async (t) => {
  for (const oldSettlements of ['archive', 'drop'] as const) {
    const { schema, stores } = await open(t, { oldSettlements })
    const [old, pending, recent] = [settlement(), settlement(), settlement()]
    for (const one of [old, pending, recent]) await stores[0]!.claim(one, {})
    for (const one of [old, recent]) await stores[0]!.finish(one.transactionId, { state: 'settled', round: 9n })
    for (const one of [old, pending]) await age(schema, one.transactionId, '2020-01-08', false)
    const inDefault = async () => (await admin.query(`SELECT FROM ${schema}.settlements_default`)).rowCount
    assert.equal(await inDefault(), 2)
    await stores[1]!.forgetBefore(Date.now())
    const left = [old, pending, recent].map(async ({ transactionId }) => (await stores[0]!.get(transactionId))?.state)
    assert.deepEqual(await Promise.all(left), [undefined, 'pending', 'settled'])
    await stores[0]!.finish(pending.transactionId, { state: 'settled' })
    await stores[1]!.forgetBefore(Date.now())
    assert.equal(await inDefault(), 0)
    const table = `${schema}.archived_settlements_default`
    const [{ found }] = (await admin.query('SELECT to_regclass($1) IS NOT NULL AS found', [table])).rows
    assert.equal(found, oldSettlements === 'archive')
    if (!found) continue
    const { rows } = await admin.query(`SELECT transaction_id, state, round::integer FROM ${table} ORDER BY round`)
    assert.deepEqual(rows, [
      { transaction_id: old.transactionId, state: 'settled', round: 9 },
      { transaction_id: pending.transactionId, state: 'settled', round: null },
    ])
  }
})

/** Moves a record into an old partition, or, without one, into the default partition. */
async function age(schema: string, id: string, day: string, hasPartition = true): Promise<void> {
  const monday = `date_trunc('week', '${day}'::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`
  const { rows } = await admin.query(`SELECT to_char(${monday} AT TIME ZONE 'UTC', 'YYYYMMDD') AS name,
    (${monday})::text AS start, (${monday} + interval '7 days')::text AS end`)
  const { name, start, end } = rows[0]!
  if (hasPartition) {
    await admin.query(
      `CREATE TABLE ${schema}.settlements_${name} PARTITION OF ${schema}.settlements FOR VALUES FROM ('${start}') TO ('${end}')`,
    )
  }
  for (const table of ['settlements', 'pending_settlements']) {
    await admin.query(`UPDATE ${schema}.${table} SET created_at = '${day}' WHERE transaction_id = $1`, [id])
  }
}

test('a plan made on empty tables reads only the rows of its payments when there are many', async (t) => {
  const schema = `old_${++count}`
  const options = { address, environment: {}, schema, maxConnections: 1, applicationName: schema }
  const store = await PostgresSettlements.open(options)
  t.after(() => store.close())
  const limits = { feesInAll: 10n ** 12n, feesPerPayTo: 10n ** 12n, payToPerMinute: 1e6, pendingPerPayer: 1e3 }
  const pay = async (): Promise<void> => {
    const many = Array.from({ length: 5 }, (_, n) => settlement({ payer: `P${n}`, feeMicroAlgos: 1n }))
    await Promise.all(many.map((one) => store.holds.hold(holdOf(one), limits)))
    await Promise.all(many.map((one) => store.claim(one, limits)))
    await Promise.all(many.map((one) => store.claim(one, limits)))
    const ids = many.map(({ transactionId }) => transactionId)
    await store.leases.renew(ids)
    await Promise.all(ids.map((id) => store.leases.watch(id, 1)))
    const [failed, ...settled] = ids
    await Promise.all(settled.map((id) => store.finish(id, { state: 'settled', round: 1n })))
    for (const state of ['failed', 'settled'] as const) await store.finish(failed!, { state })
    await Promise.all(many.map((one) => store.holds.hold(holdOf(one), limits)))
  }
  // As often as PostgreSQL plans a prepared statement for specific values before it makes a generic plan.
  for (let time = 0; time < 6; time++) await pay()
  await admin.query(`INSERT INTO ${schema}.settlements (transaction_id, created_at, state, network, payer, pay_to, asset, amount,
      members, first_valid, last_valid, fee_micro_algos, attempt)
    SELECT 'S' || n, clock_timestamp(), 'settled', 'algorand:x', 'OTHER', 'OTHER', '1', '1', '{}', 1, 2, 0, n
    FROM generate_series(1, ${rows}) AS n;
    INSERT INTO ${schema}.pending_settlements (transaction_id, created_at, payer, pay_to, lease_owner, lease_until)
    SELECT 'P' || n, clock_timestamp(), 'OTHER', 'OTHER', 'OTHER', 'infinity' FROM generate_series(1, ${rows}) AS n;
    INSERT INTO ${schema}.holds (transaction_id, network, payer, claimant, costs, fee_micro_algos, fee_payer, until)
    SELECT 'H' || n, 'algorand:x', 'OTHER', 'c', '[]', 1, 'OTHER', 'infinity' FROM generate_series(1, ${rows}) AS n;
    INSERT INTO ${schema}.claimants (transaction_id, network, claimant, last_valid)
    SELECT 'H' || n, 'algorand:x', 'c', 1000 FROM generate_series(1, ${rows}) AS n`)
  for (let time = 0; time < 4; time++) await pay()
  await store.close()
  // A connection reports its reads when it ends.
  const open = `SELECT FROM pg_stat_activity WHERE application_name = '${schema}'`
  while ((await admin.query(open)).rowCount !== 0);
  const { rows: read } = await admin.query(
    `SELECT relname AS name, idx_tup_fetch + seq_tup_read AS count FROM pg_stat_user_tables
     WHERE schemaname = $1 AND relname ~ '^(settlements_|pending_settlements|holds|claimants)' AND idx_tup_fetch + seq_tup_read > ${rows / 2}
     UNION ALL SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = $1 AND idx_tup_read > ${rows / 2}`,
    [schema],
  )
  assert.deepEqual(read, [])
})

const rows = 5_000
