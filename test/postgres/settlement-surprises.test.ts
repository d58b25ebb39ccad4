/** Tests settlements in an unusually configured database, with rare texts, numbers and times. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresSettlements, type PostgresSettlementsOptions } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { holdOf, settlement } from '../support/settlementConformance.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '60' } })
const address = await emptyDatabase(server)
let count = 0

async function open(t: TestContext, options: PostgresSettlementsOptions = {}): Promise<PostgresSettlements> {
  const store = await PostgresSettlements.open({ address, environment: {}, schema: `surprise_${++count}`, ...options })
  t.after(() => store.close())
  return store
}

async function connect(t: TestContext, to: string): Promise<Client> {
  const client = new Client({ connectionString: to })
  await client.connect()
  t.after(() => client.end())
  return client
}

for (const level of ['repeatable read', 'serializable']) {
  test(`limits hold in a database whose default isolation level is "${level}"`, async (t) => {
    const other = await emptyDatabase(server)
    const name = new URL(other).pathname.slice(1)
    const admin = await connect(t, address)
    await admin.query(`ALTER DATABASE "${name}" SET default_transaction_isolation = '${level}'`)
    const stores = [
      await open(t, { address: other, schema: 'both' }),
      await open(t, { address: other, schema: 'both' }),
    ]
    const blocker = await connect(t, other)
    await blocker.query(`SELECT pg_advisory_lock(hashtextextended('payTo SELLER', 402))`)
    const claims = stores.map((store) => store.claim(settlement(), { pendingPerPayTo: 1 }))
    const waiting = "SELECT count(*)::integer AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while ((await blocker.query(waiting)).rows[0].count < 2) await sleep(5)
    await blocker.query('SELECT pg_advisory_unlock_all()')
    const types = (await Promise.all(claims)).map(({ type }) => type)
    assert.deepEqual(types.sort(), ['limited', 'recorded'])
  })
}

test('a settlement ends with any reason text of a node', async (t) => {
  const store = await open(t)
  const reasons = ['\ud83d', 'a\udc00b', '\0', `${'x'.repeat(9_999)}\u{1f600}`]
  for (const errorMessage of reasons) {
    const one = settlement()
    await store.claim(one, {})
    await store.finish(one.transactionId, { state: 'failed', errorReason: 'why', errorMessage })
    assert.equal((await store.get(one.transactionId))!.state, 'failed', JSON.stringify(errorMessage.slice(-3)))
  }
})

test("a limit beyond the database's range is no limit, and a fractional one is rounded up", async (t) => {
  const store = await open(t)
  const wide = { payToPerMinute: Number.POSITIVE_INFINITY, payerPerMinute: 1e12, pendingPerPayer: 2 ** 31 - 1 }
  assert.equal((await store.claim(settlement(), wide)).type, 'recorded')
  const of = { payer: 'FRACTION' }
  const half = { payerPerMinute: 1.5 }
  const claims = [await store.claim(settlement(of), half), await store.claim(settlement(of), half)]
  assert.deepEqual(
    [...claims, await store.claim(settlement(of), half)].map(({ type }) => type),
    ['recorded', 'recorded', 'limited'],
  )
})

test("a lease that would end in hours, because the server's clock was set back, is taken over", async (t) => {
  const schema = 'set_back'
  const dead = await open(t, { schema })
  const store = await open(t, { schema })
  const one = settlement()
  await dead.claim(one, {})
  assert.deepEqual(await store.leases.takeOver(10), [])
  const admin = await connect(t, address)
  await admin.query(`UPDATE ${schema}.pending_settlements SET lease_until = lease_until + interval '3 hours'`)
  const watched = await store.leases.watch(one.transactionId, 60_000)
  assert.equal(watched?.state, 'pending')
  assert.deepEqual(
    (await store.leases.takeOver(10)).map(({ transactionId }) => transactionId),
    [one.transactionId],
  )
  assert.deepEqual(await dead.leases.renew([one.transactionId]), [one.transactionId])
})

test('verifying payments again while others record them never deadlocks', async (t) => {
  const schema = 'circle'
  const [one, other] = [await open(t, { schema }), await open(t, { schema })]
  const [a, b] = [settlement({ transactionId: 'A', payer: 'PA' }), settlement({ transactionId: 'B', payer: 'PB' })]
  const hold = () => Promise.all([b, a].map((each) => one.holds.hold(holdOf(each, { feePayer: undefined }), {})))
  await hold()
  const blocker = await connect(t, address)
  const waiting = async (count: number): Promise<void> => {
    const text = 'SELECT count(*)::integer AS count FROM pg_locks WHERE NOT granted'
    while ((await blocker.query(text)).rows[0].count < count) await sleep(5)
  }
  await blocker.query(`BEGIN; SELECT FROM ${schema}.holds WHERE transaction_id = 'A' FOR UPDATE`)
  const claiming = Promise.all([a, b].map((each) => other.claim(each, {})))
  await waiting(1)
  const holding = hold()
  await waiting(2)
  await blocker.query('COMMIT')
  assert.deepEqual(await claiming, Array(2).fill({ type: 'recorded' }))
  assert.equal((await holding).length, 2)
  const deadlocks = 'SELECT deadlocks::integer AS count FROM pg_stat_database WHERE datname = current_database()'
  assert.equal((await connect(t, address).then((client) => client.query(deadlocks))).rows[0].count, 0)
})
