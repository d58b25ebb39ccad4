/** Tests what replicas share besides settlements (leases, verified payments, caller rates), and whose clock decides. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { HeldAhead, PaymentHold, Settlement } from '@latchkey/x402/facilitator'
import { PostgresSettlements, type PostgresSettlementsOptions } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { holdOf, settlement } from '../support/settlementConformance.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '80' } })
const address = await emptyDatabase(server)
const admin = new Client({ connectionString: address })
await admin.connect()
// The server stops first.
admin.on('error', () => {})

const leaseMs = 60_000
let count = 0

type Replicas = { readonly schema: string; readonly stores: readonly PostgresSettlements[] }

async function open(t: TestContext, options: PostgresSettlementsOptions = {}): Promise<Replicas> {
  const schema = `replicas_${++count}`
  const one = () =>
    PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 4, leaseMs, ...options })
  const stores = [await one(), await one(), await one()]
  t.after(() => Promise.all(stores.map((store) => store.close())))
  return { schema, stores }
}

/** Ends leases now, as if the replica that holds them did not respond. */
const endLeases = (schema: string, ids?: readonly string[]) =>
  admin.query(
    `UPDATE ${schema}.pending_settlements SET lease_until = clock_timestamp() WHERE $1::text[] IS NULL OR transaction_id = ANY ($1)`,
    [ids ?? null],
  )

test('a recorded settlement with an expired lease is taken over by one replica, oldest first, with its bytes', async (t) => {
  const { schema, stores } = await open(t)
  const many = Array.from({ length: 40 }, (_, n) => settlement({ group: [Uint8Array.of(n)] }))
  for (const one of many) await stores[0]!.claim(one, {})
  for (const store of stores) assert.deepEqual(await store.pending(), [])
  await endLeases(schema)
  const taken = await Promise.all(stores.flatMap((store) => [store.leases.takeOver(9), store.leases.takeOver(9)]))
  const ids = taken.flat().map(({ transactionId }) => transactionId)
  assert.equal(ids.length, 40)
  assert.equal(new Set(ids).size, 40)
  for (const { transactionId, group } of taken.flat()) {
    assert.deepEqual(group, many.find((one) => one.transactionId === transactionId)!.group)
  }
  for (const each of taken) {
    const times = each.map(({ createdMs }) => createdMs)
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    )
  }
  assert.deepEqual(await stores[1]!.leases.takeOver(100), [])
})

test('a renewed lease is not taken over; one that was taken over is lost', async (t) => {
  const { schema, stores } = await open(t)
  const [first, second, third] = [settlement(), settlement(), settlement()]
  for (const one of [first, second, third]) await stores[0]!.claim(one, {})
  const ids = [first, second, third].map(({ transactionId }) => transactionId)
  await endLeases(schema, ids.slice(0, 2))
  assert.deepEqual(await stores[0]!.leases.renew([ids[0]!]), [])
  const taken = await stores[1]!.pending()
  assert.deepEqual(
    taken.map(({ transactionId }) => transactionId),
    [ids[1]],
  )
  await stores[0]!.finish(ids[2]!, { state: 'settled' })
  assert.deepEqual(await stores[0]!.leases.renew(ids), [ids[1], ids[2]])
  assert.deepEqual(await stores[1]!.leases.renew([ids[1]!]), [])
  // Only the replica that holds the lease may report that the payment can never be on the ledger; either may report
  // that it is there.
  const failed = { state: 'failed', errorReason: 'late' } as const
  assert.equal((await stores[0]!.finish(ids[1]!, failed))?.state, 'pending')
  assert.equal((await stores[2]!.get(ids[1]!))!.state, 'pending')
  await stores[0]!.finish(ids[1]!, { state: 'settled', round: 5n })
  assert.equal((await stores[2]!.get(ids[1]!))!.round, 5n)
})

test('a replica with an expired lease ends nothing as failed: fee, hold and record belong to the new holder', async (t) => {
  const { schema, stores } = await open(t)
  const limits = { feesInAll: 5n }
  const [one, own] = [settlement({ feeMicroAlgos: 5n }), settlement()]
  await stores[0]!.holds.hold(hold({ transactionId: one.transactionId }), limits)
  for (const each of [one, own]) await stores[0]!.claim(each, limits)
  await endLeases(schema, [one.transactionId])
  assert.equal((await stores[1]!.pending()).length, 1)
  const failed = { state: 'failed', errorReason: 'expired' } as const
  const recorded = await Promise.all([one, own].map((each) => stores[0]!.finish(each.transactionId, failed)))
  assert.deepEqual(
    recorded.map((each) => each?.state),
    ['pending', undefined],
    'of one statement, the other one has ended',
  )
  assert.equal((await stores[2]!.get(own.transactionId))!.state, 'failed')
  assert.equal(await stores[2]!.check(settlement({ feeMicroAlgos: 1n }), limits), 'feesInAll', 'its fee still counts')
  assert.equal((await admin.query(`SELECT FROM ${schema}.holds`)).rowCount, 1)
  assert.equal(await stores[1]!.finish(one.transactionId, failed), undefined)
  assert.equal(await stores[2]!.check(settlement({ feeMicroAlgos: 5n }), limits), undefined)
  assert.equal((await stores[0]!.finish(one.transactionId, failed))?.errorReason, 'expired')
  assert.equal((await admin.query(`SELECT FROM ${schema}.holds`)).rowCount, 0)
})

test('a replica of the previous version, which does not identify itself, can still end settlements', async (t) => {
  const { schema, stores } = await open(t)
  const one = settlement()
  await stores[0]!.claim(one, {})
  const items = JSON.stringify([{ id: one.transactionId, state: 'failed', reason: 'why' }])
  await admin.query(`SELECT ${schema}.finish_settlements($1::json, 1::smallint)`, [items])
  assert.equal((await stores[1]!.get(one.transactionId))!.errorReason, 'why')
})

test('a replica that stops releases its unfinished settlements', async (t) => {
  const { stores } = await open(t)
  const one = settlement()
  await stores[0]!.claim(one, {})
  await stores[0]!.leases.release()
  const [taken] = await stores[1]!.pending()
  assert.equal(taken!.transactionId, one.transactionId)
})

test('a lease expires', async (t) => {
  const { stores } = await open(t, { leaseMs: 50 })
  await stores[0]!.claim(settlement(), {})
  let taken: readonly Settlement[] = []
  while (taken.length === 0) taken = await stores[1]!.leases.takeOver(1)
})

test('waits for a settlement of another replica: to its end, to the end of its lease, or until the timeout', async (t) => {
  const { schema, stores } = await open(t)
  const many = Array.from({ length: 50 }, () => settlement())
  for (const one of many) await stores[0]!.claim(one, {})
  const ids = many.map(({ transactionId }) => transactionId)
  const watching = ids.map((id) => stores[1]!.leases.watch(id, 60_000))
  await Promise.all(ids.slice(1).map((id) => stores[0]!.finish(id, { state: 'settled', round: 7n })))
  const ended = await Promise.all(watching.slice(1))
  assert.ok(ended.every((one) => one!.state === 'settled' && one!.round === 7n))
  await endLeases(schema)
  assert.equal((await watching[0])!.state, 'pending')
  await stores[0]!.leases.renew([ids[0]!])
  assert.equal((await stores[1]!.leases.watch(ids[0]!, 100))!.state, 'pending')
  assert.equal(await stores[1]!.leases.watch('NONE', 60_000), undefined)
})

test('64 claimants in separate processes: one records a payment, and limits hold to the unit', async (t) => {
  const { schema, stores } = await open(t)
  const program = fileURLToPath(new URL('claiming-process.test.helper.js', import.meta.url))
  const run = async (): Promise<string[]> => {
    const env = { ...process.env, CLAIM_ADDRESS: address, CLAIM_SCHEMA: schema }
    return JSON.parse((await promisify(execFile)(process.execPath, [program], { env })).stdout)
  }
  const outcomes = (await Promise.all([run(), run(), run(), run()])).flat()
  const of = (outcome: string): number => outcomes.filter((one) => one === outcome).length
  assert.equal(of('same recorded'), 1)
  assert.equal(of('same known'), 63)
  assert.equal(of('limited recorded'), 33)
  assert.equal(of('limited feesInAll'), 31)
  const limits = { feesInAll: 100n }
  assert.equal(await stores[0]!.check(settlement({ feeMicroAlgos: 2n }), limits), 'feesInAll')
  assert.equal(await stores[0]!.check(settlement({ feeMicroAlgos: 1n }), limits), undefined)
})

test('the clock of the database decides, not that of a process', async (t) => {
  const { stores } = await open(t)
  const [row] = (await admin.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms')).rows
  const now = Date.now
  const skews = [-minuteMs, minuteMs, 365 * 24 * 60 * minuteMs]
  const limits = { payerPerMinute: 3, feesInAll: 3n }
  const ids: string[] = []
  for (const [index, skew] of skews.entries()) {
    t.mock.method(Date, 'now', () => now() + skew)
    const one = settlement({ feeMicroAlgos: 1n })
    ids.push(one.transactionId)
    assert.equal((await stores[index]!.claim(one, limits)).type, 'recorded')
    assert.deepEqual(await stores[index]!.pending(), [], 'no lease has ended')
  }
  assert.deepEqual(await stores[2]!.claim(settlement(), limits), { type: 'limited', limit: 'payerPerMinute' })
  await stores[2]!.forgetBefore(Date.now())
  t.mock.restoreAll()
  for (const id of ids) {
    const { createdMs } = (await stores[0]!.get(id))!
    assert.ok(Math.abs(createdMs - row!.ms) < 60_000, `${createdMs} ${row!.ms}`)
  }
})

const minuteMs = 60_000

function hold(change: Partial<PaymentHold> = {}): PaymentHold {
  return holdOf(settlement({ feeMicroAlgos: 2n }), change)
}

test('verified payments of one payer are queued across all replicas', async (t) => {
  const { stores } = await open(t)
  const holds = Array.from({ length: 30 }, () => hold())
  const results = await Promise.all(holds.map((one, n) => stores[n % 3]!.holds.hold(one, {})))
  const ahead = results.map((result) => {
    assert.ok(result.type === 'held' && !result.wasHeld)
    return result.ahead as HeldAhead
  })
  const numbers = (of: (one: (typeof ahead)[0]) => bigint) => ahead.map(of).sort((a, b) => Number(a - b))
  const line = (step: bigint) => holds.map((_, n) => BigInt(n) * step)
  assert.deepEqual(
    numbers(({ costs }) => costs[0]?.held ?? 0n),
    line(10n),
  )
  assert.deepEqual(
    numbers(({ fees }) => fees.all),
    line(2n),
  )
  assert.deepEqual(
    numbers(({ fees }) => fees.own),
    line(2n),
  )
  const again = await stores[0]!.holds.hold(holds[7]!, {})
  assert.deepEqual(again, {
    type: 'held',
    wasHeld: true,
    ahead: { ...ahead[7]!, fees: { ...ahead[7]!.fees, payers: 1 } },
  })
})

test('a verified payment belongs to its claimant, is released, ends, and settles', async (t) => {
  const { schema, stores } = await open(t)
  const [a, b] = stores
  const first = hold({
    costs: [
      { asset: '0', amount: 1_000n },
      { asset: '5', amount: 2n ** 64n - 1n },
    ],
  })
  assert.equal((await a!.holds.hold(first, {})).type, 'held')
  assert.deepEqual(await b!.holds.hold({ ...first, claimant: 'other' }, {}), { type: 'claimed' })
  const aheadOf = async (one: PaymentHold) => {
    const result = await b!.holds.hold(one, {})
    assert.ok(result.type === 'held', result.type)
    return result.ahead as HeldAhead
  }
  const second = hold({ payer: first.payer })
  const sorted = (ahead: { costs: readonly { asset: string }[] }) =>
    [...ahead.costs].sort((x, y) => Number(x.asset) - Number(y.asset))
  assert.deepEqual(sorted(await aheadOf(second)), [
    { asset: '0', held: 1_000n, settling: 0n },
    { asset: '5', held: 2n ** 64n - 1n, settling: 0n },
  ])
  assert.deepEqual((await aheadOf(hold({ payer: 'ANOTHER' }))).fees, { all: 4n, settling: 0n, own: 0n, payers: 2 })
  const settling = settlement({ transactionId: first.transactionId })
  await a!.claim(settling, {})
  const { costs, fees, settledAgoMs } = await aheadOf(second)
  assert.deepEqual(
    costs.map((cost) => cost.settling),
    [1_000n, 2n ** 64n - 1n],
  )
  assert.deepEqual(fees, { all: 2n, settling: 2n, own: 2n, payers: 2 })
  assert.equal(settledAgoMs, undefined)
  const known = await b!.holds.hold(first, {})
  assert.ok(known.type === 'known' && known.settlement.state === 'pending')
  await a!.finish(first.transactionId, { state: 'settled', round: 3n })
  const after = await aheadOf(second)
  assert.deepEqual([after.costs, after.fees.all], [[], 0n])
  assert.ok(after.settledAgoMs !== undefined && after.settledAgoMs >= 0 && after.settledAgoMs < 60_000)
  await b!.holds.release(second.transactionId, second.claimant)
  await admin.query(`UPDATE ${schema}.holds SET until = clock_timestamp() WHERE payer = 'ANOTHER'`)
  assert.deepEqual((await aheadOf(hold())).fees, { all: 0n, settling: 0n, own: 0n, payers: 1 })
})

test('a payment belongs to its claimant when its amount counts no longer, and after a crash of the server', async (t) => {
  const { schema, stores } = await open(t)
  const one = hold()
  await stores[0]!.holds.hold(one, {})
  for (const end of [`UPDATE ${schema}.holds SET until = clock_timestamp()`, `TRUNCATE ${schema}.holds`]) {
    await admin.query(end)
    await admin.query(`SELECT ${schema}.sweep()`)
    assert.deepEqual(await stores[1]!.holds.hold({ ...one, claimant: 'other' }, {}), { type: 'claimed' })
    const limits = { feesInAll: 1n }
    const again = await stores[2]!.holds.hold(one, limits)
    assert.ok(again.type === 'held' && again.wasHeld, 'a held payment meets no limit')
    assert.deepEqual(await stores[2]!.holds.hold(hold(), limits), { type: 'limited', limit: 'feesInAll' })
  }
  const { rows } = await admin.query(
    `SELECT relpersistence AS kind FROM pg_class WHERE oid = '${schema}.claimants'::regclass`,
  )
  assert.deepEqual(rows, [{ kind: 'p' }], 'in the log of the server')
})

test('after a server crash has emptied the holds, settling payments still count as ahead', async (t) => {
  const { schema, stores } = await open(t)
  const one = settlement({ asset: '9', amount: '77' })
  await stores[0]!.claim(one, {})
  await admin.query(`TRUNCATE ${schema}.holds`)
  const result = await stores[1]!.holds.hold(hold({ payer: one.payer, network: one.network }), {})
  assert.deepEqual(result.type === 'held' && result.ahead?.costs, [{ asset: '9', held: 0n, settling: 77n }])
})

test('requests of a caller are counted across all replicas', async (t) => {
  const { stores } = await open(t)
  const names = ['key one', 'key\0one', 'x'.repeat(2_000)]
  assert.equal(await stores[0]!.countCaller(names[1]!), 1)
  const counts = await Promise.all(Array.from({ length: 60 }, (_, n) => stores[n % 3]!.countCaller('key two')))
  assert.deepEqual(
    counts.sort((a, b) => a - b),
    counts.map((_, n) => n + 1),
  )
  assert.equal(await stores[0]!.countCaller(names[2]!), 1)
  assert.equal(await stores[1]!.countCaller(names[2]!), 2)
  assert.equal(await stores[0]!.countCaller(names[0]!), 1)
})

test('an item that the server cannot store does not fail the others in its batch', async (t) => {
  const { stores } = await open(t)
  const [good, bad] = [settlement(), settlement({ claimant: 'a\0b' })]
  const claims = await Promise.allSettled([good, bad, settlement()].map((one) => stores[0]!.claim(one, {})))
  assert.deepEqual(
    claims.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  await stores[0]!.finish(good.transactionId, { state: 'failed', errorMessage: 'a\0b' })
  assert.equal((await stores[0]!.get(good.transactionId))!.errorMessage, 'ab')
})

test('records that no longer count are deleted', async (t) => {
  const { schema, stores } = await open(t)
  await stores[0]!.claim(settlement({ feeMicroAlgos: 1n }), { payerPerMinute: 5 })
  await stores[0]!.countCaller('one')
  await stores[0]!.holds.hold(hold({ payer: 'X' }), {})
  await admin.query(`UPDATE ${schema}.settlement_rates SET part = part - 100; UPDATE ${schema}.caller_rates SET part = part - 100;
    UPDATE ${schema}.settlement_fees SET part = part - 100; UPDATE ${schema}.holds SET until = clock_timestamp()`)
  await stores[0]!.claim(settlement({ feeMicroAlgos: 1n }), { payerPerMinute: 5 })
  await admin.query(`SELECT ${schema}.sweep()`)
  const sizes = await admin.query(`SELECT (SELECT count(*) FROM ${schema}.settlement_rates) AS rates,
    (SELECT count(*) FROM ${schema}.caller_rates) AS callers, (SELECT count(*) FROM ${schema}.settlement_fees) AS fees,
    (SELECT count(*) FROM ${schema}.holds) AS holds`)
  assert.deepEqual(sizes.rows[0], { rates: '1', callers: '0', fees: '2', holds: '0' })
  await sleep(0)
})
