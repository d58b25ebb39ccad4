import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MemorySettlements, type Settlement, type SettlementStore } from './Settlements.js'
import { SqliteSettlements } from './SqliteSettlements.js'

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

for (const kind of ['memory', 'file']) {
  test(`${kind}: exactly one claim succeeds, and what was claimed is kept to the letter`, async (t) => {
    const store = open(t, kind)
    assert.equal(await store.get('ONE'), undefined)
    const claims = await Promise.all([one, one, { ...one, amount: '1' }].map((each) => store.claim(each)))
    assert.deepEqual(claims, [true, false, false])
    assert.deepEqual(plain(await store.get('ONE')), one)
    assert.deepEqual((await store.pending()).map(plain), [one])
  })

  test(`${kind}: what has an end keeps it, but the ledger has the last word`, async (t) => {
    const store = open(t, kind)
    await store.claim(one)
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

  test(`${kind}: what ended is forgotten, never what is pending`, async (t) => {
    const store = open(t, kind)
    for (const transactionId of ['ENDED', 'PENDING', 'LATER']) {
      await store.claim({ ...one, transactionId, createdMs: transactionId === 'LATER' ? 2_000 : 1_000 })
      if (transactionId !== 'PENDING') await store.finish(transactionId, { state: 'settled' })
    }
    await store.forgetBefore(1_500)
    const left = await Promise.all(['ENDED', 'PENDING', 'LATER'].map(async (id) => (await store.get(id))?.state))
    assert.deepEqual(left, [undefined, 'pending', 'settled'])
  })
}

test('memory: evicts settlements that ended first', () => {
  const store = new MemorySettlements()
  store.claim({ ...one, transactionId: 'PENDING' })
  for (let count = 0; count < 100_001; count++) {
    store.claim({ ...one, transactionId: String(count) })
    store.finish(String(count), { state: 'settled' })
  }
  assert.equal(store.get('PENDING')?.state, 'pending')
  assert.equal(store.get('0'), undefined)
  assert.equal(store.get('100000')?.state, 'settled')
})

for (const kind of ['memory', 'file']) {
  test(`${kind}: paid fees are summed by seller and part of the day, those of settled payments only`, async (t) => {
    const store = open(t, kind)
    const claim = async (transactionId: string, change: Partial<Settlement>, state?: 'settled' | 'failed') => {
      await store.claim({ ...one, transactionId, ...change })
      if (state !== undefined) await store.finish(transactionId, { state })
    }
    await claim('A', { createdMs: 1_000 }, 'settled')
    await claim('B', { createdMs: 1_999 }, 'settled')
    await claim('C', { createdMs: 2_000 }, 'settled')
    await claim('D', { createdMs: 2_500, payTo: 'OTHER', feeMicroAlgos: 7n }, 'settled')
    await claim('E', { createdMs: 2_500, payTo: 'NONE', feeMicroAlgos: 0n }, 'settled')
    await claim('F', { createdMs: 999 }, 'settled')
    await claim('G', { createdMs: 2_000 }, 'failed')
    await claim('H', { createdMs: 2_000 })
    const fees = [...(await store.paidFees!(1_000, 1_000))]
    assert.deepEqual(
      fees.sort((a, b) => (a.payTo + a.fromMs < b.payTo + b.fromMs ? -1 : 1)),
      [
        { payTo: 'OTHER', fromMs: 2_000, feeMicroAlgos: 7n },
        { payTo: 'SELLER', fromMs: 1_000, feeMicroAlgos: 4_000n },
        { payTo: 'SELLER', fromMs: 2_000, feeMicroAlgos: 2_000n },
      ],
    )
  })
}
