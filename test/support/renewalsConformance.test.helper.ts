/** Conformance tests for leases that gates renew; the claim suite calls them for each store. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { ClaimLease, ClaimResult, ClaimStore, HeldAnswer, HeldClaim } from '@latchkey/x402/server'
import type { ClaimsKind } from './claimsConformance.test.helper.js'
import { idOf } from './paymentIds.test.helper.js'

const leaseMs = 30_000
const answer: HeldAnswer = { status: 200, headers: [], body: new Uint8Array([1, 2, 3]) }

type Claimed = ClaimResult & { fence: number }

async function setUp(t: TestContext, kind: ClaimsKind, maxHeldBytes = 10_000) {
  const opened = await kind.open(t, { maxHeldBytes })
  const { store } = opened
  const lease = (owner: string, change: Partial<ClaimLease> = {}): ClaimLease => {
    const bound = { binding: 'b', proof: 'none' } as const
    return { ...bound, owner, nowMs: opened.nowMs(), leaseMs, network: 'n', round: 10n, forgetRound: 20n, ...change }
  }
  const claim = async (owner: string, payment = 1, by: ClaimStore = store): Promise<Claimed> =>
    (await by.claim(idOf(payment), lease(owner))) as Claimed
  const held = async (owner: string, payment = 1): Promise<HeldClaim> => {
    const { fence } = await claim(owner, payment)
    return { transactionId: idOf(payment), owner, fence }
  }
  const renew = async (...claims: HeldClaim[]): Promise<readonly string[]> =>
    [...(await store.renewals!.renew(claims, leaseMs, opened.nowMs()))].sort()
  const finish = async ({ transactionId, owner, fence }: HeldClaim, end: 'open' | 'served' | 'forgotten') =>
    store.finish(transactionId, owner, end, opened.nowMs(), fence)
  return { opened, store, claim, held, renew, finish }
}

/** Registers the whole suite as tests of the caller's file. */
export function renewalsConformance(kind: ClaimsKind): void {
  renewing(kind)
  fencing(kind)
  beginning(kind)
}

function renewing(kind: ClaimsKind): void {
  test(`${kind.name}: a renewed lease is not taken over, and an unrenewed one is`, async (t) => {
    const { opened, claim, held, renew } = await setUp(t, kind)
    const first = await held('a')
    for (let times = 0; times < 5; times++) {
      await opened.pass(leaseMs - 5_000)
      assert.deepEqual(await renew(first), ['a'])
      assert.equal((await claim('b')).type, 'busy')
    }
    await opened.pass(leaseMs + 1_000)
    assert.equal((await claim('b')).type, 'again')
    assert.deepEqual(await renew(first), [])
  })

  test(`${kind.name}: one batch renews held claims, and leaves out taken over, ended and unknown ones`, async (t) => {
    const { opened, claim, held, renew, finish } = await setUp(t, kind)
    const claims = await Promise.all([1, 2, 3, 4].map((payment) => held(`o${payment}`, payment)))
    await opened.pass(leaseMs + 1_000)
    await claim('other', 2)
    await finish(claims[2]!, 'served')
    const unknown = { transactionId: idOf(5), owner: 'o5', fence: claims[0]!.fence }
    assert.deepEqual(await renew(...claims, unknown), ['o1', 'o4'])
    assert.deepEqual(await renew(), [])
    await opened.pass(leaseMs - 5_000)
    assert.equal((await claim('late', 1)).type, 'busy')
    assert.equal((await claim('late', 4)).type, 'busy')
  })

  test(`${kind.name}: an expired lease is held until another request claims the payment`, async (t) => {
    const { opened, store, held, renew, finish } = await setUp(t, kind)
    const [one, two, three] = [await held('a', 1), await held('b', 2), await held('c', 3)]
    await opened.pass(leaseMs + 1_000)
    assert.deepEqual(await renew(one), ['a'])
    assert.equal(await store.renewals!.begin(two), true)
    assert.equal(await store.hold(idOf(2), 'b', answer, two.fence), true)
    assert.equal(await finish(three, 'served'), true)
  })

  test(`${kind.name}: a lease is either renewed or taken over, depending on which comes first`, async (t) => {
    const { opened, store, claim, held, renew } = await setUp(t, kind)
    const stores = [store, ...opened.others]
    for (let payment = 1; payment <= 8; payment++) {
      const first = await held('a', payment)
      await opened.pass(leaseMs + 1_000)
      const claims = Array.from({ length: 16 }, (_, index) =>
        claim(`o${index}`, payment, stores[index % stores.length]!),
      )
      const [renewed, ...results] = await Promise.all([renew(first), ...claims])
      const takenOver = results.filter(({ type }) => type === 'again').length
      assert.equal(renewed.length + takenOver, 1, `payment ${payment}`)
    }
  })
}

function fencing(kind: ClaimsKind): void {
  test(`${kind.name}: every claim gets a higher number than all earlier ones, across all connections`, async (t) => {
    const { opened, store, claim, finish } = await setUp(t, kind)
    const stores = [store, ...opened.others]
    let last = 0
    for (let times = 0; times < 12; times++) {
      const payment = 1 + (times % 3)
      const { fence } = await claim(`o${times}`, payment, stores[times % stores.length]!)
      assert.ok(Number.isSafeInteger(fence) && fence > last, `${fence} after ${last}`)
      last = fence
      await finish({ transactionId: idOf(payment), owner: `o${times}`, fence }, times % 2 === 0 ? 'open' : 'forgotten')
    }
  })

  test(`${kind.name}: a gate that was cut off changes nothing that another took over`, async (t) => {
    const { opened, store, claim, held, renew, finish } = await setUp(t, kind)
    const stale = await held('a')
    await opened.pass(leaseMs + 1_000)
    const { fence } = await claim('b')
    assert.deepEqual(await renew(stale), [])
    assert.equal(await store.renewals!.begin(stale), false)
    // Redis: the lease has not ended by the clock of this process, so the claim counts as lost by the server.
    assert.notEqual(await Promise.resolve(store.hold(idOf(1), 'a', answer, stale.fence)).catch(() => false), true)
    for (const end of ['open', 'served', 'forgotten'] as const) assert.equal(await finish(stale, end), false)
    assert.equal((await claim('c')).type, 'busy')
    assert.equal(await store.renewals!.begin({ transactionId: idOf(1), owner: 'b', fence }), true)
  })

  test(`${kind.name}: the number decides, even for an owner with the same name`, async (t) => {
    const { store, held, renew, finish } = await setUp(t, kind)
    const one = await held('a')
    for (const fence of [one.fence - 1, one.fence + 1]) {
      const wrong = { ...one, fence }
      assert.deepEqual(await renew(wrong), [])
      assert.equal(await store.renewals!.begin(wrong), false)
      assert.notEqual(await Promise.resolve(store.hold(idOf(1), 'a', answer, fence)).catch(() => false), true)
      for (const end of ['open', 'served', 'forgotten'] as const) assert.equal(await finish(wrong, end), false)
    }
    assert.deepEqual(await renew(one), ['a'])
    assert.equal(await store.hold(idOf(1), 'a', answer, one.fence), true)
    assert.equal(await finish(one, 'served'), true)
    assert.equal(await finish(one, 'open'), true, 'its answer did not arrive')
  })
}

function beginning(kind: ClaimsKind): void {
  test(`${kind.name}: a handler that began never runs again after its gate was killed`, async (t) => {
    const { opened, store, claim, held, finish } = await setUp(t, kind)
    const first = await held('a')
    // A lost response is requested again.
    for (let times = 0; times < 2; times++) assert.equal(await store.renewals!.begin(first), true)
    assert.equal((await claim('b')).type, 'busy')
    await opened.pass(leaseMs + 1_000)
    for (const owner of ['b', 'c', 'd']) {
      const { fence, ...found } = await claim(owner)
      assert.deepEqual(found, { type: 'held', answer: undefined })
      // Not settled, or not delivered.
      await finish({ transactionId: idOf(1), owner, fence }, 'open')
    }
    await claim('e')
    await opened.pass(leaseMs + 1_000)
    assert.equal((await claim('f')).type, 'held')
  })

  test(`${kind.name}: a handler that began and failed may run again`, async (t) => {
    const { store, claim, held, finish } = await setUp(t, kind)
    const first = await held('a')
    for (let times = 0; times < 2; times++) assert.equal(await store.renewals!.begin(first), true)
    await finish(first, 'open')
    const { fence, type } = await claim('b')
    assert.equal(type, 'again')
    await finish({ transactionId: idOf(1), owner: 'b', fence }, 'open')
    assert.equal((await claim('c')).type, 'again')
  })

  test(`${kind.name}: an answer replaces the record that its handler began, with and without room`, async (t) => {
    const { store, claim, held, finish } = await setUp(t, kind, 100)
    const large = { ...answer, body: new Uint8Array(101) }
    for (const [payment, given, kept] of [
      [1, answer, answer],
      [2, large, undefined],
    ] as const) {
      const first = await held('a', payment)
      await store.renewals!.begin(first)
      assert.equal(await store.hold(idOf(payment), 'a', given, first.fence), true)
      await finish(first, 'open')
      const { fence: _, ...found } = await claim('b', payment)
      assert.deepEqual(found, { type: 'held', answer: kept })
    }
  })

  test(`${kind.name}: nothing begins once the claim has ended`, async (t) => {
    const { store, held, finish } = await setUp(t, kind)
    for (const [index, end] of (['open', 'served', 'forgotten'] as const).entries()) {
      const one = await held('a', index)
      await finish(one, end)
      assert.equal(await store.renewals!.begin(one), false)
    }
  })
}
