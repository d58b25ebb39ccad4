/** Limits over all settlements of a store: counted with the record, over a rolling period, and returned on failure. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Sqlite from '../../db/sqlite/Sqlite.js'
import type { SettlementLimits } from './Settlement.js'
import { MemorySettlements, type Settlement, type SettlementStore } from './Settlements.js'
import { SqliteSettlements } from './sqlite/SqliteSettlements.js'

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
const dayMs = 24 * 60 * minuteMs

type Opened = { store: SettlementStore; clock: { ms: number } }

function pathFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-limits-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'settlements.db')
}

/** A store with a clock that the test sets. */
function open(t: TestContext, kind: string): Opened {
  const clock = { ms: 10 * dayMs }
  t.mock.method(Date, 'now', () => clock.ms)
  if (kind === 'memory') return { store: new MemorySettlements(), clock }
  const store = new SqliteSettlements(pathFor(t))
  t.after(() => store.close())
  return { store, clock }
}

let last = 0

function payment(change: Partial<Settlement> = {}): Settlement {
  const texts = { network: 'n', payer: 'PAYER', payTo: 'SELLER', asset: '1', amount: '1' }
  const numbers = { firstValid: 1n, lastValid: 2n, feeMicroAlgos: 0n, createdMs: Date.now() }
  return { transactionId: `T${++last}`, state: 'pending', group: [], ...texts, ...numbers, ...change }
}

/** The limit that was reached; otherwise undefined. */
async function claim(store: SettlementStore, one: Settlement, limits: SettlementLimits): Promise<string | undefined> {
  const expected = await store.check(one, limits)
  const claimed = await store.claim(one, limits)
  const met = claimed.type === 'limited' ? claimed.limit : undefined
  assert.equal(met, expected, 'what check told a moment ago')
  return met
}

for (const kind of ['memory', 'file']) {
  test(`${kind}: counts settlements of a rolling minute by payTo and payer, with any outcome`, async (t) => {
    const { store, clock } = open(t, kind)
    const limits = { payToPerMinute: 3, payerPerMinute: 2 }
    const ask = (payer: string, payTo = 'SELLER') => claim(store, payment({ payer, payTo }), limits)
    const first = payment({ payer: 'A' })
    for (let time = 0; time < 50; time++) assert.equal(await store.check(first, limits), undefined)
    assert.equal(await claim(store, first, limits), undefined)
    await store.finish(first.transactionId, { state: 'failed' })
    clock.ms += minuteMs / 2
    assert.deepEqual(
      [await ask('A'), await ask('A'), await ask('B'), await ask('B')],
      [undefined, 'payerPerMinute', undefined, 'payToPerMinute'],
    )
    assert.equal(await ask('B', 'OTHER'), undefined)
    clock.ms += minuteMs / 2
    assert.equal(await ask('C'), 'payToPerMinute', 'the first second is not over')
    clock.ms += 1_000
    assert.deepEqual([await ask('A'), await ask('C')], [undefined, 'payToPerMinute'], 'one left the minute')
    clock.ms += 2 * minuteMs
    assert.equal(await ask('A'), undefined)
  })

  test(`${kind}: counts fees over a rolling day by payTo and in total, and does not limit payments without a fee`, async (t) => {
    const { store, clock } = open(t, kind)
    const limits = { feesPerPayTo: 5_000n, feesInAll: 9_000n }
    const spend = (feeMicroAlgos: bigint, payTo = 'SELLER') => claim(store, payment({ feeMicroAlgos, payTo }), limits)
    assert.equal(await spend(2_000n), undefined)
    clock.ms += dayMs / 2
    assert.deepEqual([await spend(3_000n), await spend(1n), await spend(0n)], [undefined, 'feesPerPayTo', undefined])
    assert.deepEqual([await spend(4_001n, 'OTHER'), await spend(4_000n, 'OTHER')], ['feesInAll', undefined])
    clock.ms += dayMs / 2
    assert.equal(await spend(1n), 'feesInAll', 'the first quarter of an hour is not over')
    clock.ms += quarterMs
    assert.deepEqual([await spend(2_001n), await spend(2_000n)], ['feesInAll', undefined])
    clock.ms += dayMs + quarterMs
    assert.equal(await spend(5_000n), undefined)
  })

  test(`${kind}: returns the fee of a failed settlement once, and counts it again if the ledger has the payment`, async (t) => {
    const { store, clock } = open(t, kind)
    const limits = { feesPerPayTo: 4_000n }
    const [a, b] = [payment({ feeMicroAlgos: 2_000n }), payment({ feeMicroAlgos: 2_000n })]
    const isFull = async () => (await store.check(payment({ feeMicroAlgos: 2_000n }), limits)) === 'feesPerPayTo'
    for (const one of [a, b]) assert.equal(await claim(store, one, limits), undefined)
    assert.equal(await isFull(), true)
    clock.ms += dayMs / 2
    for (let time = 0; time < 3; time++) await store.finish(a.transactionId, { state: 'failed' })
    await store.finish(b.transactionId, { state: 'settled' })
    await store.finish(b.transactionId, { state: 'failed' })
    assert.equal(await isFull(), false)
    assert.equal(await store.check(payment({ feeMicroAlgos: 2_001n }), limits), 'feesPerPayTo', 'given back once')
    await store.finish(a.transactionId, { state: 'settled' })
    assert.equal(await isFull(), true)
    clock.ms += dayMs / 2 + quarterMs
    assert.equal(await store.check(payment({ feeMicroAlgos: 4_000n }), limits), undefined)
  })

  test(`${kind}: counts pending settlements by payer and payTo, but rejected ones not for the payTo`, async (t) => {
    const { store } = open(t, kind)
    const limits = { pendingPerPayer: 2, pendingPerPayTo: 3 }
    const all = [payment(), payment(), payment({ payer: 'B' })]
    for (const one of all) assert.equal(await claim(store, one, limits), undefined)
    const ask = (payer: string) => store.check(payment({ payer }), limits)
    assert.deepEqual([await ask('PAYER'), await ask('C')], ['pendingPerPayer', 'pendingPerPayTo'])
    for (let time = 0; time < 2; time++) await store.setRejected(all[0]!.transactionId, true)
    assert.deepEqual([await ask('PAYER'), await ask('C')], ['pendingPerPayer', undefined])
    await store.setRejected(all[0]!.transactionId, false)
    assert.equal(await ask('C'), 'pendingPerPayTo')
    await store.setRejected(all[0]!.transactionId, true)
    for (let time = 0; time < 2; time++) await store.finish(all[0]!.transactionId, { state: 'failed' })
    await store.setRejected(all[0]!.transactionId, false)
    assert.deepEqual([await ask('PAYER'), await ask('C')], [undefined, undefined])
    assert.equal(await claim(store, payment({ payer: 'C' }), limits), undefined)
    assert.equal(await ask('D'), 'pendingPerPayTo')
  })

  test(`${kind}: returns a known settlement even if a limit is reached, and reports a limit on fees first`, async (t) => {
    const { store } = open(t, kind)
    const limits = { pendingPerPayer: 1, feesInAll: 5n, payerPerMinute: 1 }
    const one = payment({ feeMicroAlgos: 5n })
    assert.equal(await claim(store, one, limits), undefined)
    assert.equal((await store.claim(one, limits)).type, 'known')
    assert.deepEqual(await store.claim(payment({ feeMicroAlgos: 1n }), limits), { type: 'limited', limit: 'feesInAll' })
  })

  test(`${kind}: of many concurrent claims exactly as many are recorded as the limits allow`, async (t) => {
    const { store } = open(t, kind)
    const limits = { feesInAll: 30n, payToPerMinute: 40 }
    const claims = Array.from({ length: 64 }, () => store.claim(payment({ feeMicroAlgos: 3n }), limits))
    const types = (await Promise.all(claims)).map(({ type }) => type)
    assert.equal(types.filter((type) => type === 'recorded').length, 10)
  })
}

/** The file in version 2, with settlements in every state. */
function writeVersionTwo(path: string, nowMs: number): void {
  const database = Sqlite.open(path)
  database.exec(`
    CREATE TABLE settlements (transaction_id TEXT PRIMARY KEY,
      state TEXT NOT NULL CHECK (state IN ('pending', 'settled', 'failed')), network TEXT NOT NULL, payer TEXT NOT NULL,
      pay_to TEXT NOT NULL, asset TEXT NOT NULL, amount TEXT NOT NULL, members TEXT NOT NULL, first_valid TEXT NOT NULL,
      last_valid TEXT NOT NULL, fee_micro_algos TEXT NOT NULL, round TEXT, error_reason TEXT, error_message TEXT,
      created_ms INTEGER NOT NULL, claimant TEXT) STRICT;
    CREATE INDEX pending_settlements ON settlements (created_ms) WHERE state = 'pending';
    CREATE INDEX paid_settlements ON settlements (created_ms) WHERE state = 'settled';
    PRAGMA user_version = 2;`)
  const insert = database.prepare(
    `INSERT INTO settlements VALUES (?, ?, 'n', 'PAYER', 'SELLER', '1', '2', '["AQ=="]', '1', '2', '2000', NULL, NULL, NULL, ?, 'c')`,
  )
  insert.run('OLD', 'settled', nowMs - dayMs - 2 * quarterMs)
  insert.run('SETTLED', 'settled', nowMs - dayMs / 2)
  insert.run('FAILED', 'failed', nowMs - 5)
  insert.run('PENDING', 'pending', nowMs - 5)
  database.close()
}

/** The settling amounts of the payer that a new payment of it finds. */
async function settlingAhead(store: SqliteSettlements): Promise<bigint[] | undefined> {
  const { transactionId, network, payer, payTo, lastValid, feeMicroAlgos } = payment()
  const terms = { transactionId, network, payer, payTo, lastValid, feeMicroAlgos, feePayer: undefined }
  const held = await store.holds.hold(
    { ...terms, claimant: 'c', isPaidAfterwards: false, costs: [], holdMs: minuteMs },
    {},
  )
  await store.holds.release(transactionId, 'c')
  return held.type === 'held' ? held.ahead?.costs.map(({ settling }) => settling) : undefined
}

test('fees and pending settlements of a version 2 file still count', async (t) => {
  const clock = { ms: 10 * dayMs }
  t.mock.method(Date, 'now', () => clock.ms)
  const path = pathFor(t)
  writeVersionTwo(path, clock.ms)
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  const limits = { feesPerPayTo: 5_000n, feesInAll: 5_000n, pendingPerPayer: 1 }
  const ask = (feeMicroAlgos: bigint) => store.check(payment({ feeMicroAlgos }), limits)
  assert.deepEqual([ask(1_001n), ask(1_000n)], ['feesInAll', 'pendingPerPayer'])
  assert.deepEqual(await settlingAhead(store), [2n])
  await store.finish('PENDING', { state: 'failed' })
  assert.deepEqual(await settlingAhead(store), [])
  assert.deepEqual([ask(3_001n), ask(3_000n)], ['feesInAll', undefined])
  clock.ms += dayMs / 2 + quarterMs
  await store.finish('FAILED', { state: 'settled' })
  assert.deepEqual([ask(3_001n), ask(3_000n)], ['feesInAll', undefined])
})

test('a claim scans no table', (t) => {
  const path = pathFor(t)
  new SqliteSettlements(path).close()
  const database = Sqlite.open(path)
  t.after(() => database.close())
  for (const sql of [
    "SELECT 1 FROM settlements WHERE state = 'pending' AND payer = ? LIMIT ?",
    "SELECT 1 FROM settlements WHERE state = 'pending' AND is_rejected = 0 AND pay_to = ? LIMIT ?",
    'SELECT sum(micro_algos) FROM settlement_fees WHERE pay_to = ? AND part_ms > ?',
    'SELECT sum(count) FROM settlement_rates WHERE name = ? AND part_ms > ?',
    'SELECT sum(fee_micro_algos) FROM holds WHERE is_admitted = 1 AND is_settling = 0 AND pay_to = ? AND until_ms > ?',
    'SELECT costs FROM holds WHERE payer = ? AND place < (SELECT place FROM holds WHERE transaction_id = ?)',
    'DELETE FROM holds WHERE until_ms <= ?',
    "DELETE FROM settlements WHERE network = ? AND amount = '0' AND state = 'settled' AND last_valid < ?",
  ]) {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    assert.ok(
      plan.every(({ detail }) => /SEARCH|SCALAR SUBQUERY/.test(detail)),
      JSON.stringify(plan),
    )
  }
})
