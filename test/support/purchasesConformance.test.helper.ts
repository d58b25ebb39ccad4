/** Conformance tests for purchases that buyers name, for every claim store. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { ClaimLease, ClaimPurchase, ClaimResult } from '@latchkey/x402/server'
import type { ClaimsKind, OpenClaims } from './claimsConformance.test.helper.js'
import { idOf } from './paymentIds.test.helper.js'

const purchase: ClaimPurchase = { key: 'k', fingerprint: 'f', payload: '{"a":"ü"}' }

function leaseOf(opened: OpenClaims, change: Partial<ClaimLease> = {}): ClaimLease {
  const bound = { owner: 'a', binding: 'b', proof: 'hash' } as const
  const rounds = { network: 'n', round: 10n, forgetRound: 20n }
  return { ...bound, nowMs: opened.nowMs(), leaseMs: 60_000, ...rounds, purchase, ...change }
}

function firstIn(result: ClaimResult): string | undefined {
  return result.type === 'purchased' ? result.purchase.transactionId : undefined
}

/** Registers the tests of a store. */
export function purchasesConformance(kind: ClaimsKind): void {
  const [first, second, third] = [idOf(1), idOf(2), idOf(3)]

  test(`${kind.name}: the first payment of a purchase is the purchase`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    assert.equal(store.hasPurchases, true)
    assert.equal((await store.claim(first, leaseOf(opened))).type, 'new')
    const other = { ...purchase, fingerprint: 'g', payload: '{}' }
    const later = await store.claim(second, leaseOf(opened, { owner: 'c', binding: 'd', purchase: other }))
    const { fingerprint, payload } = purchase
    assert.deepEqual(later, {
      type: 'purchased',
      purchase: { transactionId: first, fingerprint, binding: 'b', payload },
    })
    assert.equal(await store.has(second), false, 'nothing is claimed')
    assert.equal((await store.claim(third, leaseOf(opened, { purchase: { ...purchase, key: 'other' } }))).type, 'new')
    assert.equal((await store.claim(second, leaseOf(opened, { purchase: undefined }))).type, 'new')
  })

  test(`${kind.name}: the same payment of a purchase is claimed as without one`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    await store.claim(first, leaseOf(opened))
    await store.hold(first, 'a', { status: 200, headers: [], body: new Uint8Array([1]) })
    await store.finish(first, 'a', 'served', opened.nowMs())
    const again = await store.claim(first, leaseOf(opened, { owner: 'c', proof: 'secret' }))
    assert.equal(again.type, 'held')
    assert.equal(firstIn(await store.claim(second, leaseOf(opened))), first)
  })

  test(`${kind.name}: a patient request leaves a held answer to the request that is being served`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    await store.claim(first, leaseOf(opened))
    await store.hold(first, 'a', { status: 200, headers: [], body: new Uint8Array([1]) })
    const later = (isPatient: boolean, owner: string) =>
      leaseOf(opened, { owner, proof: 'secret', purchase: { ...purchase, isPatient } })
    assert.equal((await store.claim(first, later(true, 'c'))).type, 'busy')
    assert.equal((await store.claim(first, later(false, 'd'))).type, 'held')
    await store.finish(first, 'd', 'served', opened.nowMs())
    assert.equal((await store.claim(first, later(true, 'e'))).type, 'held')
  })

  test(`${kind.name}: a purchase ends with the claim of its payment`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    await store.claim(first, leaseOf(opened))
    await store.finish(first, 'a', 'forgotten', opened.nowMs())
    assert.equal((await store.claim(second, leaseOf(opened))).type, 'new')
    assert.equal(firstIn(await store.claim(first, leaseOf(opened))), second)
  })

  test(`${kind.name}: a payment that can never be settled is replaced, once`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    const replacing = { ...purchase, replaces: first }
    await store.claim(first, leaseOf(opened))
    assert.equal((await store.claim(second, leaseOf(opened, { owner: 'c', purchase: replacing }))).type, 'new')
    assert.equal(firstIn(await store.claim(third, leaseOf(opened, { owner: 'd', purchase: replacing }))), second)
    // The claim of the replaced payment does not end the purchase.
    await store.finish(first, 'a', 'forgotten', opened.nowMs())
    assert.equal(firstIn(await store.claim(third, leaseOf(opened, { owner: 'd' }))), second)
  })

  test(`${kind.name}: a payment belongs to the first purchase that it was claimed for`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    await store.claim(first, leaseOf(opened))
    await store.finish(first, 'a', 'open', opened.nowMs())
    const other = { ...purchase, key: 'other' }
    const again = leaseOf(opened, { owner: 'c', proof: 'secret', purchase: other })
    assert.equal((await store.claim(first, again)).type, 'again')
    assert.equal((await store.claim(second, leaseOf(opened, { owner: 'd', purchase: other }))).type, 'new')
    assert.equal(firstIn(await store.claim(third, leaseOf(opened))), first)
  })

  test(`${kind.name}: of parallel payments for a purchase one is claimed`, async (t) => {
    const opened = await kind.open(t)
    const stores = [opened.store, ...opened.others]
    const results = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        stores[index % stores.length]!.claim(idOf(100 + index), leaseOf(opened, { owner: `o${index}` })),
      ),
    )
    const winner = results.findIndex(({ type }) => type === 'new')
    assert.equal(results.filter(({ type }) => type === 'new').length, 1)
    for (const result of results) if (result.type !== 'new') assert.equal(firstIn(result), idOf(100 + winner))
  })
}
