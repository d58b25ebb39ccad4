import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SettlementClaim } from './Settlement.js'
import { MemorySettlements, type Settlement, type SettlementStore } from './Settlements.js'
import { SqliteSettlements } from './sqlite/SqliteSettlements.js'

function open(t: TestContext, kind: string): SettlementStore {
  if (kind === 'memory') return new MemorySettlements()
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-store-'))
  const store = new SqliteSettlements(join(directory, 'settlements.db'))
  t.after(() => {
    store.close()
    rmSync(directory, { recursive: true })
  })
  return store
}

const one: Settlement = {
  transactionId: 'ONE',
  state: 'pending',
  network: 'algorand:x',
  payer: 'PAYER',
  payTo: 'SELLER',
  asset: '31566704',
  amount: '18446744073709551615',
  group: [Uint8Array.of(1, 2), Uint8Array.of(255)],
  firstValid: 2n ** 60n,
  lastValid: 2n ** 60n + 5n,
  feeMicroAlgos: 2_000n,
  claimant: 'gate-and-resource',
  createdMs: 1_000,
}

const plain = (settlement: Settlement | undefined) =>
  settlement && Object.fromEntries(Object.entries(settlement).filter(([, value]) => value !== undefined))

const plainClaim = (claim: SettlementClaim) =>
  claim.type === 'known' ? { ...claim, settlement: plain(claim.settlement) } : claim

for (const kind of ['memory', 'file']) {
  test(`${kind}: exactly one claim succeeds, and the record is kept exactly`, async (t) => {
    const store = open(t, kind)
    assert.equal(await store.get('ONE'), undefined)
    const claims = await Promise.all([one, one, { ...one, amount: '1' }].map((each) => store.claim(each, {})))
    const known = { type: 'known', settlement: one }
    assert.deepEqual(claims.map(plainClaim), [{ type: 'recorded' }, known, known])
    assert.deepEqual(plain(await store.get('ONE')), one)
    assert.deepEqual((await store.pending()).map(plain), [one])
  })

  test(`${kind}: an outcome is final, except that the ledger overrides a failure`, async (t) => {
    const store = open(t, kind)
    await store.claim(one, {})
    await store.finish('ONE', { state: 'failed', errorReason: 'code', errorMessage: 'why' })
    await store.finish('ONE', { state: 'failed', errorReason: 'other', errorMessage: 'other' })
    const failed = { ...one, state: 'failed', errorReason: 'code', errorMessage: 'why' }
    assert.deepEqual(plain(await store.get('ONE')), failed)
    assert.deepEqual(await store.pending(), [])
    await store.finish('ONE', { state: 'settled', round: 2n ** 61n })
    await store.finish('ONE', { state: 'failed', errorReason: 'late' })
    assert.deepEqual(plain(await store.get('ONE')), { ...one, state: 'settled', round: 2n ** 61n })
    await store.finish('NONE', { state: 'settled' })
    assert.equal(await store.get('NONE'), undefined)
  })

  test(`${kind}: forgets ended settlements, never pending ones`, async (t) => {
    const store = open(t, kind)
    for (const transactionId of ['ENDED', 'PENDING', 'LATER']) {
      await store.claim({ ...one, transactionId, createdMs: transactionId === 'LATER' ? 2_000 : 1_000 }, {})
      if (transactionId !== 'PENDING') await store.finish(transactionId, { state: 'settled' })
    }
    await store.forgetBefore(1_500)
    const left = await Promise.all(['ENDED', 'PENDING', 'LATER'].map(async (id) => (await store.get(id))?.state))
    assert.deepEqual(left, [undefined, 'pending', 'settled'])
  })
}

test('memory: evicts ended settlements first', () => {
  const store = new MemorySettlements()
  store.claim({ ...one, transactionId: 'PENDING' }, {})
  for (let count = 0; count < 100_001; count++) {
    store.claim({ ...one, transactionId: String(count) }, {})
    store.finish(String(count), { state: 'settled' })
  }
  assert.equal(store.get('PENDING')?.state, 'pending')
  assert.equal(store.get('0'), undefined)
  assert.equal(store.get('100000')?.state, 'settled')
})

for (const kind of ['memory', 'file']) {
  test(`${kind}: a record that nothing was charged ends with the authorization, and no other record does`, async (t) => {
    const store = open(t, kind)
    const terms = { ...one, amount: '0', lastValid: 1_000n }
    const many = [
      { ...terms, transactionId: 'EXPIRED' },
      { ...terms, transactionId: 'VALID', lastValid: 1_001n },
      { ...terms, transactionId: 'LONGER', lastValid: 20_000n },
      { ...terms, transactionId: 'ELSEWHERE', network: 'algorand:y' },
      { ...terms, transactionId: 'PENDING' },
      { ...terms, transactionId: 'CHARGED', amount: '1' },
    ]
    for (const each of many) {
      await store.claim(each, {})
      if (each.transactionId !== 'PENDING') await store.finish(each.transactionId, { state: 'settled' })
    }
    await store.holds.forget(one.network, 1_001n)
    const found = await Promise.all(many.map(({ transactionId }) => store.get(transactionId)))
    const kept = found.map((each) => each?.transactionId)
    assert.deepEqual(kept, [undefined, 'VALID', 'LONGER', 'ELSEWHERE', 'PENDING', 'CHARGED'])
  })
}
