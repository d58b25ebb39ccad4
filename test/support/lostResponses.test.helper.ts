/** Conformance tests for lost responses: a store looks up the outcome of a change, and never guesses. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ClaimLease, ClaimResult, ClaimStore, HeldAnswer } from '@latchkey/x402/server'
import type { CutProxy } from './cutProxy.test.helper.js'
import { idOf } from './paymentIds.test.helper.js'
import { unnumbered } from './unnumbered.test.helper.js'

export type LossyStore = {
  /** Connected through a proxy that loses responses. */
  readonly store: ClaimStore
  /** Connected without the proxy. */
  readonly direct: ClaimStore
  readonly proxy: CutProxy
}

const lease: ClaimLease = {
  owner: 'a',
  binding: 'b',
  proof: 'secret',
  nowMs: Date.now(),
  leaseMs: 60_000,
  network: 'n',
  round: 1n,
  forgetRound: 9n,
}
const answer: HeldAnswer = { status: 200, headers: [['a', 'b']], body: new Uint8Array([1, 2, 3]) }

/** A first use takes more than one command if the server does not have a script yet. */
async function warmUp({ direct }: LossyStore): Promise<void> {
  const nowMs = Math.floor(Date.now() / 1000) * 1000
  const { fence = 0 } = (await direct.claim(idOf(9), lease)) as { fence?: number }
  const held = { transactionId: idOf(9), owner: 'a', fence }
  await direct.renewals!.begin(held)
  await direct.renewals!.renew([held], 60_000, nowMs)
  await direct.hold(idOf(9), 'a', answer)
  await direct.finish(idOf(9), 'a', 'forgotten', nowMs)
  await direct.passes!.issue(idOf(9), { nowMs, untilMs: nowMs + 600_000, requests: 3 })
  await direct.passes!.take(idOf(9), nowMs)
  await direct.passes!.giveBack(idOf(9))
}

export function lostResponses(name: string, openLossy: (t: TestContext) => Promise<LossyStore>): void {
  const open = async (t: TestContext): Promise<LossyStore> => {
    const opened = await openLossy(t)
    await warmUp(opened)
    return opened
  }

  test(`${name}: a claim whose response was lost is looked up by its owner, whatever the outcome`, async (t) => {
    const { store, direct, proxy } = await open(t)
    proxy.loseResponse(idOf(1), async () => direct.has(idOf(1)))
    assert.deepEqual(await unnumbered(store.claim(idOf(1), lease)), { type: 'new' })
    assert.equal((await direct.claim(idOf(1), { ...lease, owner: 'x' })).type, 'busy')
    await store.finish(idOf(1), 'a', 'open', Date.now())
    let tries = 0
    // The other owner may come first; then the claim of the store is refused, and that response is lost too.
    const isClaimed = async (): Promise<boolean> =>
      (await direct.claim(idOf(1), { ...lease, owner: 'x' })).type === 'busy' || ++tries > 20
    // Another owner's claim is not mistaken for its own.
    proxy.loseResponse(idOf(1), isClaimed)
    const second = await store.claim(idOf(1), { ...lease, owner: 'b' })
    assert.ok(['again', 'busy'].includes(second.type))
    await direct.finish(idOf(1), second.type === 'again' ? 'b' : 'x', 'open', Date.now())
    await direct.claim(idOf(1), { ...lease, owner: 'c' })
    await direct.hold(idOf(1), 'c', answer)
    await direct.finish(idOf(1), 'c', 'open', Date.now())
    let waits = 0
    proxy.loseResponse(idOf(1), async () => ++waits > 20)
    assert.deepEqual(await unnumbered(store.claim(idOf(1), { ...lease, owner: 'd' })), {
      type: 'held',
      answer,
    } satisfies ClaimResult)
    assert.equal(proxy.lost(), 3)
  })

  test(`${name}: an answer whose response was lost is held once, and the end of a claim is recorded`, async (t) => {
    const { store, direct, proxy } = await open(t)
    await store.claim(idOf(1), lease)
    proxy.loseResponse(idOf(1), async () => {
      const found = await direct.claim(idOf(1), { ...lease, owner: 'a' })
      return found.type === 'held' || found.type === 'new'
    })
    await store.hold(idOf(1), 'a', answer)
    let waits = 0
    proxy.loseResponse(idOf(1), async () => ++waits > 20)
    await store.finish(idOf(1), 'a', 'served', Date.now())
    assert.equal((await direct.claim(idOf(1), { ...lease, owner: 'x', proof: 'none' })).type, 'taken')
    assert.deepEqual(await unnumbered(direct.claim(idOf(1), { ...lease, owner: 'y' })), { type: 'held', answer })
    proxy.loseResponse(idOf(2), async () => direct.has(idOf(2)))
    await store.claim(idOf(2), lease)
    proxy.loseResponse(idOf(2), async () => !(await direct.has(idOf(2))))
    await store.finish(idOf(2), 'a', 'forgotten', Date.now())
    assert.equal(await direct.has(idOf(2)), false)
    assert.equal(proxy.lost(), 4)
  })

  test(`${name}: a renewal whose response was lost takes effect, and a handler begins once however often it is recorded`, async (t) => {
    const { store, direct, proxy } = await open(t)
    const { fence } = (await store.claim(idOf(1), lease)) as { fence: number }
    const held = { transactionId: idOf(1), owner: 'a', fence }
    let waits = 0
    proxy.loseResponse(idOf(1), async () => ++waits > 20)
    assert.deepEqual(await store.renewals!.renew([held], 60_000, Date.now()), ['a'])
    waits = 0
    proxy.loseResponse(idOf(1), async () => ++waits > 20)
    assert.equal(await store.renewals!.begin(held), true)
    // The handler failed, and may run again.
    await store.finish(idOf(1), 'a', 'open', Date.now(), fence)
    assert.equal((await direct.claim(idOf(1), { ...lease, owner: 'b' })).type, 'again')
    assert.equal(proxy.lost(), 2)
  })

  test(`${name}: a request of a pass is counted once even if the response was lost`, async (t) => {
    const { store, direct, proxy } = await open(t)
    const nowMs = Math.floor(Date.now() / 1000) * 1000
    const issue = { nowMs, untilMs: nowMs + 600_000, requests: 3 }
    const left = async (): Promise<number | undefined> => (await direct.passes!.issue(idOf(1), issue)).requestsLeft
    let waits = 0
    proxy.loseResponse(idOf(1), async () => ++waits > 20)
    assert.equal((await store.passes!.issue(idOf(1), issue)).requestsLeft, 3)
    for (const expected of [2, 1, 0]) {
      proxy.loseResponse(idOf(1), async () => (await left()) === expected)
      assert.deepEqual(await store.passes!.take(idOf(1), nowMs), { type: 'taken', requestsLeft: expected })
      assert.equal(await left(), expected)
    }
    proxy.loseResponse(idOf(1), async () => (await left()) === 1)
    await store.passes!.giveBack(idOf(1))
    assert.equal(await left(), 1)
    assert.equal(proxy.lost(), 5)
  })
}
