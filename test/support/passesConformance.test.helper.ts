/** Conformance tests for every store of passes. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { PassStore } from '@latchkey/x402/server'
import type { ClaimsKind, OpenClaims } from './claimsConformance.test.helper.js'
import { idOf } from './paymentIds.test.helper.js'

const hourMs = 3_600_000

/** Creates a pass; the gate issues passes with whole seconds. */
function newPass({ nowMs }: OpenClaims, requests: number | undefined, lengthMs = hourMs) {
  const now = Math.floor(nowMs() / 1000) * 1000
  return { nowMs: now, untilMs: now + lengthMs, requests }
}

export function passesConformance(kind: ClaimsKind): void {
  const open = async (
    ...given: Parameters<ClaimsKind['open']>
  ): Promise<OpenClaims & { passes: readonly PassStore[] }> => {
    const opened = await kind.open(...given)
    return { ...opened, passes: [opened.store, ...opened.others].map((store) => store.passes!) }
  }

  test(`${kind.name}: a pass is recorded once, and issued again unchanged`, async (t) => {
    const opened = await open(t)
    const [first, second = first] = opened.passes
    const issued = await first!.issue(idOf(1), newPass(opened, 3))
    assert.equal(issued.requestsLeft, 3)
    assert.equal(issued.untilMs % 1000, 0)
    assert.ok(Math.abs(issued.untilMs - opened.nowMs() - hourMs) < 30 * 60_000)
    assert.deepEqual(await second!.take(idOf(1), opened.nowMs()), { type: 'taken', requestsLeft: 2 })
    const again = await second!.issue(idOf(1), newPass(opened, 9, 2 * hourMs))
    assert.deepEqual(again, { untilMs: issued.untilMs, requestsLeft: 2 })
  })

  test(`${kind.name}: 64 parallel requests use exactly the requests of a pass`, async (t) => {
    const opened = await open(t)
    await opened.passes[0]!.issue(idOf(1), newPass(opened, 20))
    const take = async (_: unknown, index: number): Promise<string> =>
      (await opened.passes[index % opened.passes.length]!.take(idOf(1), opened.nowMs())).type
    const types = await Promise.all(Array.from({ length: 64 }, take))
    assert.equal(types.filter((type) => type === 'taken').length, 20)
    assert.equal(types.filter((type) => type === 'used_up').length, 44)
    await opened.passes[0]!.giveBack(idOf(1))
    assert.deepEqual(await opened.passes[0]!.take(idOf(1), opened.nowMs()), { type: 'taken', requestsLeft: 0 })
  })

  test(`${kind.name}: no more requests are returned than were used, also for a pass of many`, async (t) => {
    const opened = await open(t)
    const [passes] = opened.passes
    await passes!.issue(idOf(1), newPass(opened, 300))
    await passes!.giveBack(idOf(1))
    for (let times = 0; times < 200; times++) await passes!.take(idOf(1), opened.nowMs())
    assert.deepEqual(await passes!.take(idOf(1), opened.nowMs()), { type: 'taken', requestsLeft: 99 })
    for (let times = 0; times < 210; times++) await passes!.giveBack(idOf(1))
    assert.deepEqual(await passes!.take(idOf(1), opened.nowMs()), { type: 'taken', requestsLeft: 299 })
  })

  test(`${kind.name}: an expired, uncounted or unknown pass has no requests to use`, async (t) => {
    const opened = await open(t)
    const [passes] = opened.passes
    await passes!.issue(idOf(1), newPass(opened, 2))
    const { requestsLeft } = await passes!.issue(idOf(2), newPass(opened, undefined))
    assert.equal(requestsLeft, undefined)
    for (const count of [2, 3]) assert.deepEqual(await passes!.take(idOf(count), opened.nowMs()), { type: 'unknown' })
    for (const count of [2, 3]) await passes!.giveBack(idOf(count))
    assert.equal((await passes!.take(idOf(1), opened.nowMs())).type, 'taken')
    await opened.pass(hourMs)
    assert.deepEqual(await passes!.take(idOf(1), opened.nowMs()), { type: 'unknown' })
  })

  test(`${kind.name}: the record of an expired pass is kept as long as its payment can be resent`, async (t) => {
    const opened = await open(t)
    const { store } = opened
    const lease = { owner: 'a', binding: 'b', proof: 'none', leaseMs: 1_000, network: 'n' } as const
    await store.claim(idOf(1), { ...lease, nowMs: opened.nowMs(), round: 1n, forgetRound: 1_000n })
    const issued = await store.passes!.issue(idOf(1), newPass(opened, 1, 60_000))
    await opened.pass(120_000)
    for (let from = 10; from < 1_100; from += 100) {
      const ids = Array.from({ length: 100 }, (_, index) => idOf(from + index))
      await Promise.all(ids.map(async (id) => store.passes!.issue(id, newPass(opened, 1, 1_000))))
      await store.claim(idOf(5_000 + from), { ...lease, nowMs: opened.nowMs(), round: 2n, forgetRound: 1_000n })
    }
    assert.equal((await store.passes!.issue(idOf(1), newPass(opened, 5))).requestsLeft, issued.requestsLeft)
  })

  if (!kind.hasOwnClock) return
  test(`${kind.name}: a replica whose clock is off by a minute sees a pass expire when the others do`, async (t) => {
    const opened = await open(t)
    for (const [index, skewMs] of [60_000, -60_000].entries()) {
      const skewed = { ...opened, nowMs: () => opened.nowMs() + skewMs }
      await opened.passes[0]!.issue(idOf(index), newPass(skewed, 5, 30_000))
      for (const passes of opened.passes) {
        assert.equal((await passes.take(idOf(index), opened.nowMs() + skewMs)).type, 'taken')
      }
      await opened.pass(31_000)
      for (const passes of opened.passes) {
        assert.equal((await passes.take(idOf(index), opened.nowMs() + skewMs)).type, 'unknown')
      }
    }
  })
}
