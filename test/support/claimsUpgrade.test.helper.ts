/** Conformance tests for replicas of the previous version, without renewed leases, that share claims with this one. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { ClaimEnd, ClaimLease, ClaimStore, HeldAnswer } from '@latchkey/x402/server'
import { idOf } from './paymentIds.test.helper.js'
import { unnumbered } from './unnumbered.test.helper.js'

/** The claim operations of the previous version: its own statements, on the same data. */
export type VersionBefore = {
  readonly claim: (transactionId: string, owner: string) => Promise<string>
  readonly finish: (transactionId: string, owner: string, end: ClaimEnd) => Promise<void>
}

export type UpgradedClaims = {
  /** Opened with the data that the previous version left. */
  readonly store: ClaimStore
  readonly before: VersionBefore
  /** Lets this much time pass for the store. */
  readonly pass: (ms: number) => Promise<void>
  readonly nowMs: () => number
}

/** The longest lease of the previous version. */
export const longLeaseMs = 600_000
const leaseMs = 30_000
const answer: HeldAnswer = { status: 200, headers: [], body: new Uint8Array([7]) }

/** `open` lets `prepare` run on the data of the previous version, and then opens it with this one. */
export function claimsUpgrade(
  name: string,
  open: (t: TestContext, prepare: (before: VersionBefore) => Promise<void>) => Promise<UpgradedClaims>,
): void {
  const lease = ({ nowMs }: UpgradedClaims, owner: string): ClaimLease => {
    const bound = { binding: 'b', proof: 'none', network: 'n', round: 10n, forgetRound: 20n } as const
    return { ...bound, owner, nowMs: nowMs(), leaseMs }
  }
  const claim = (opened: UpgradedClaims, id: number, owner: string) =>
    unnumbered(opened.store.claim(idOf(id), lease(opened, owner)))

  test(`${name}: claims of the previous version are read, and orders that it may have begun are not run again`, async (t) => {
    const opened = await open(t, async ({ claim, finish }) => {
      for (const id of [1, 2, 3, 4]) await claim(idOf(id), 'old')
      await finish(idOf(1), 'old', 'open')
      await finish(idOf(2), 'old', 'served')
    })
    assert.deepEqual(await claim(opened, 1, 'a'), { type: 'again' })
    assert.deepEqual(await claim(opened, 2, 'a'), { type: 'taken' })
    assert.deepEqual(await claim(opened, 3, 'a'), { type: 'busy' })
    assert.deepEqual(await claim(opened, 5, 'a'), { type: 'new' })
    await opened.before.finish(idOf(3), 'old', 'open')
    assert.deepEqual(await claim(opened, 3, 'a'), { type: 'again' })
    await opened.pass(longLeaseMs + 1_000)
    assert.deepEqual(await claim(opened, 4, 'a'), { type: 'held', answer: undefined })
    await opened.store.finish(idOf(4), 'a', 'open', opened.nowMs())
    assert.deepEqual(await claim(opened, 4, 'b'), { type: 'held', answer: undefined })
  })

  test(`${name}: the previous version does not run an order that has begun here`, async (t) => {
    const opened = await open(t, async () => {})
    const { fence } = (await opened.store.claim(idOf(1), lease(opened, 'a'))) as { fence: number }
    assert.equal(await opened.store.renewals!.begin({ transactionId: idOf(1), owner: 'a', fence }), true)
    assert.equal(await opened.before.claim(idOf(1), 'old'), 'busy')
    await opened.pass(leaseMs + 1_000)
    assert.equal(await opened.before.claim(idOf(1), 'old'), 'held')
    await opened.before.finish(idOf(1), 'old', 'open')
    assert.deepEqual(await claim(opened, 1, 'b'), { type: 'held', answer: undefined })
  })

  test(`${name}: neither version ends a claim that the other has taken over`, async (t) => {
    const opened = await open(t, async () => {})
    const { store, before, nowMs } = opened
    const { fence } = (await store.claim(idOf(1), lease(opened, 'a'))) as { fence: number }
    const held = { transactionId: idOf(1), owner: 'a', fence }
    await opened.pass(leaseMs + 1_000)
    assert.equal(await before.claim(idOf(1), 'old'), 'again')
    assert.deepEqual(await store.renewals!.renew([held], leaseMs, nowMs()), [])
    assert.equal(await store.renewals!.begin(held), false)
    assert.notEqual(await Promise.resolve(store.hold(idOf(1), 'a', answer, fence)).catch(() => false), true)
    assert.equal(await store.finish(idOf(1), 'a', 'forgotten', nowMs(), fence), false)
    assert.deepEqual(await claim(opened, 1, 'b'), { type: 'busy' })
    await before.finish(idOf(1), 'old', 'open')
    assert.deepEqual(await claim(opened, 1, 'b'), { type: 'again' })
    await before.finish(idOf(1), 'old', 'forgotten')
    assert.equal(await store.has(idOf(1)), true)
    await store.finish(idOf(1), 'b', 'served', nowMs())
    assert.equal(await before.claim(idOf(1), 'old'), 'taken')
  })
}
