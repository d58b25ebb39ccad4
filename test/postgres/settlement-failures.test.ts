/**
 * Tests settlements while connections, statements and the server fail: every response is true, and nothing is guessed.
 */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { SettlementClaim } from '@latchkey/x402/facilitator'
import {
  migratePostgres,
  PostgresSettlements,
  type PostgresSettlementsOptions,
  StoreError,
} from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { asRole, emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { holdOf, settlement } from '../support/settlementConformance.test.helper.js'
import { type Loss, LossyProxy } from './LossyProxy.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '60' } })
const address = await emptyDatabase(server)
let count = 0

async function open(t: TestContext, options: PostgresSettlementsOptions = {}): Promise<PostgresSettlements> {
  const store = await PostgresSettlements.open({ address, environment: {}, schema: `failures_${++count}`, ...options })
  t.after(() => store.close())
  return store
}

const limits = { feesInAll: 10n, payerPerMinute: 100 }

for (const loss of ['before', 'after', 'silent'] as Loss[]) {
  test(`a claim whose connection is lost ${loss} the commit is looked up: recorded once, counted once`, async (t) => {
    const proxy = await LossyProxy.start(t, server.port)
    const through = address.replace(`:${server.port}/`, `:${proxy.port}/`)
    const store = await open(t, { address: through, statementTimeoutMs: 2_000, retryMs: 60_000 })
    const one = settlement({ feeMicroAlgos: 4n })
    await store.claim(settlement(), limits)
    proxy.lose(one.transactionId, loss)
    const others = [settlement({ feeMicroAlgos: 2n }), settlement({ feeMicroAlgos: 2n })]
    const claims = await Promise.all([one, ...others].map((each) => store.claim(each, limits)))
    assert.equal(proxy.losses, 1)
    assert.deepEqual(claims, Array(3).fill({ type: 'recorded' }))
    assert.equal((await store.claim(one, limits)).type, 'known', 'of another call it is not the own')
    assert.equal(await store.check(settlement({ feeMicroAlgos: 2n }), limits), undefined, 'counted once')
    assert.equal(await store.check(settlement({ feeMicroAlgos: 3n }), limits), 'feesInAll')
  })

  test(`an end whose connection is lost ${loss} the commit gives its fee back once`, async (t) => {
    const proxy = await LossyProxy.start(t, server.port)
    const through = address.replace(`:${server.port}/`, `:${proxy.port}/`)
    const store = await open(t, { address: through, statementTimeoutMs: 2_000, retryMs: 60_000 })
    const [one, other] = [settlement({ feeMicroAlgos: 4n }), settlement({ feeMicroAlgos: 6n })]
    for (const each of [one, other]) await store.claim(each, limits)
    proxy.lose(one.transactionId, loss)
    await store.finish(one.transactionId, { state: 'failed', errorReason: 'why' })
    assert.equal(proxy.losses, 1)
    assert.equal((await store.get(one.transactionId))!.state, 'failed')
    assert.equal(await store.check(settlement({ feeMicroAlgos: 4n }), limits), undefined)
    assert.equal(await store.check(settlement({ feeMicroAlgos: 5n }), limits), 'feesInAll')
  })
}

test('a claim that another replica records while this response is lost belongs to the other', async (t) => {
  const proxy = await LossyProxy.start(t, server.port)
  const schema = `failures_${++count}`
  const through = address.replace(`:${server.port}/`, `:${proxy.port}/`)
  const [far, near] = [await open(t, { address: through, schema, retryMs: 60_000 }), await open(t, { schema })]
  const one = settlement()
  await far.claim(settlement(), {})
  proxy.lose(one.transactionId, 'before')
  const [lost, recorded] = await Promise.all([far.claim(one, {}), near.claim(one, {})])
  assert.deepEqual([lost.type, recorded.type].sort(), ['known', 'recorded'])
})

test('every acknowledged claim, and no other, survives a kill and restart of the server', async (t) => {
  const own = await PostgresServer.start(t, { settings: { max_connections: '30' } })
  const store = await open(t, { address: own.url(), retryMs: 60_000 })
  const [budget, fee] = [{ feesInAll: 300n }, 1n]
  const answers = new Map<string, SettlementClaim>()
  let isOver = false
  const claiming = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const one = settlement({ feeMicroAlgos: fee })
      const answer = await store.claim(one, budget)
      answers.set(one.transactionId, answer)
      if (answer.type === 'limited') return
    }
  })
  for (const seen of [20, 160]) {
    while (answers.size < seen) await new Promise((resolve) => setTimeout(resolve, 1))
    await own.kill()
    await own.restart()
  }
  await Promise.all(claiming)
  isOver = true
  const recorded = [...answers].filter(([, { type }]) => type === 'recorded').map(([id]) => id)
  assert.equal(recorded.length, 300)
  for (const id of recorded) assert.equal((await store.get(id))?.state, 'pending')
  assert.equal(await store.check(settlement({ feeMicroAlgos: 1n }), budget), 'feesInAll')
  await assert.doesNotReject(store.ping())
})

test('an unreachable server fails a claim in bounded time, with the reason', async (t) => {
  const own = await PostgresServer.start(t)
  const store = await open(t, { address: own.url(), retryMs: 200 })
  await own.kill()
  const error = await failure(store.claim(settlement(), {}))
  assert.match(error.message, /no server listens at this address|the connection failed|terminated/)
  await assert.rejects(store.ping(), { code: 'store_failed' })
})

test('a statement that takes too long is rolled back: the payment is not recorded', async (t) => {
  const schema = `failures_${++count}`
  const store = await open(t, { schema, statementTimeoutMs: 2_000, lockTimeoutMs: 60_000 })
  const one = settlement()
  const blocker = new Client({ connectionString: address })
  await blocker.connect()
  await blocker.query(`BEGIN; LOCK TABLE ${schema}.pending_settlements`)
  assert.match((await failure(store.claim(one, {}))).message, /a statement took too long/)
  await blocker.query('ROLLBACK')
  await blocker.end()
  assert.equal(await store.get(one.transactionId), undefined)
  assert.equal((await store.claim(one, {})).type, 'recorded')
})

test('while another replica hangs with a budget lock, every claim fails in bounded time, and none is recorded', async (t) => {
  const store = await open(t, { lockTimeoutMs: 2_000 })
  const blocker = new Client({ connectionString: address })
  await blocker.connect()
  await blocker.query(`SELECT pg_advisory_lock(hashtextextended('all', 402))`)
  const many = Array.from({ length: 500 }, () => settlement({ feeMicroAlgos: 1n }))
  const startedMs = performance.now()
  const claims = await Promise.all(many.map((one) => failure(store.claim(one, limits))))
  assert.ok(performance.now() - startedMs < 60_000)
  for (const { message } of claims) assert.match(message, /a lock was not released in time|it did not respond in time/)
  await blocker.end()
  for (const { transactionId } of many.slice(0, 3)) assert.equal(await store.get(transactionId), undefined)
  assert.equal((await store.claim(many[0]!, limits)).type, 'recorded')
  assert.equal(await store.check(settlement({ feeMicroAlgos: 9n }), limits), undefined, 'nothing else was counted')
})

test('with all connections busy, a claim fails and is not recorded', async (t) => {
  const schema = `failures_${++count}`
  const store = await open(t, { schema, maxConnections: 1, connectTimeoutMs: 2_000, statementTimeoutMs: 60_000 })
  const blocker = new Client({ connectionString: address })
  await blocker.connect()
  await blocker.query(`BEGIN; LOCK TABLE ${schema}.settlements`)
  const waiting = store.get('NONE')
  const one = settlement()
  assert.match((await failure(store.claim(one, {}))).message, /all connections of this process are busy/)
  await blocker.query('ROLLBACK')
  await blocker.end()
  assert.equal(await waiting, undefined)
  assert.equal(await store.get(one.transactionId), undefined)
})

test('a read-only database accepts no claim, and the error says so', async (t) => {
  const schema = `failures_${++count}`
  await migratePostgres('facilitator', { address, environment: {}, schema })
  const readOnly = `${address}?options=-c%20default_transaction_read_only%3Don`
  const error = await failure(
    PostgresSettlements.open({ address: readOnly, environment: {}, schema }).then(async (store) => {
      t.after(() => store.close())
      await assert.rejects(store.ping(), /read-only/)
      await store.claim(settlement(), {})
    }),
  )
  assert.match(error.message, /read-only/)
})

test('the runtime role can do all of its work, and nothing else', async (t) => {
  const schema = `failures_${++count}`
  for (const role of ['runtime_2', 'stranger_2']) await server.createRole(role)
  const as = (role: string) => asRole(address, role)
  const early = await failure(PostgresSettlements.open({ address: as('runtime_2'), environment: {}, schema }))
  assert.equal(early.code, 'store_not_migrated')
  await migratePostgres('facilitator', { address, environment: {}, schema, runtimeRole: 'runtime_2' })
  const stranger = await failure(PostgresSettlements.open({ address: as('stranger_2'), environment: {}, schema }))
  assert.equal(stranger.code, 'store_not_migrated')
  const store = await open(t, { address: as('runtime_2'), schema, leaseMs: 1 })
  const one = settlement({ feeMicroAlgos: 1n })
  const all = { ...limits, feesPerPayTo: 9n, payToPerMinute: 9, pendingPerPayer: 9, pendingPerPayTo: 9 }
  const { transactionId } = one
  assert.equal((await store.holds.hold(holdOf(one), all)).type, 'held')
  assert.equal((await store.claim(one, all)).type, 'recorded')
  await store.setRejected(transactionId, true)
  await store.leases.renew([transactionId])
  while ((await store.pending()).length === 0);
  await store.finish(transactionId, { state: 'settled', round: 1n })
  await store.holds.release(transactionId, '')
  await store.holds.forget(one.network, 1n)
  assert.equal(await store.holds.claimantOf(transactionId), undefined)
  assert.equal(await store.countCaller('x'), 1)
  await store.forgetBefore(Date.now())
  await store.leases.release()
  const runtime = new Client({ connectionString: as('runtime_2') })
  await runtime.connect()
  for (const text of [
    `DELETE FROM ${schema}.settlements`,
    `TRUNCATE ${schema}.settlements`,
    `DROP TABLE ${schema}.settlements`,
    `CREATE TABLE ${schema}.own (id integer)`,
    `INSERT INTO ${schema}.migrations VALUES ('facilitator', 9)`,
  ]) {
    await assert.rejects(runtime.query(text), /permission denied|must be owner/, text)
  }
  await runtime.end()
})

async function failure(work: Promise<unknown>): Promise<StoreError> {
  const error = await work.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof StoreError, String((error as Error).stack))
  return error
}
