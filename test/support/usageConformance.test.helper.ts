/** Conformance tests for metered work and unpaid payers in every claim store. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { MeteredWork } from '@latchkey/x402/server'
import type { ClaimsKind, OpenClaims } from './claimsConformance.test.helper.js'

const leaseMs = 60_000
const refuseMs = 3_600_000

const workOf = (id: string, change: Partial<MeteredWork> = {}): MeteredWork => {
  return { transactionId: id, payer: `payer of ${id}`, charge: 0n, order: `{"of":"${id} ü"}`, ...change }
}

/** The usage of a store, seen by each of its connections. */
const viewsOf = ({ store, others }: OpenClaims) => [store, ...others].map(({ usage }) => usage!)

export function usageConformance(kind: ClaimsKind): void {
  test(`${kind.name}: a payer that left work unpaid is refused by every replica, for a while`, async (t) => {
    const opened = await kind.open(t)
    const views = viewsOf(opened)
    const [first] = views
    assert.equal(await first!.begin(workOf('a'), leaseMs, opened.nowMs()), true)
    await first!.leaveUnpaid({ transactionId: 'a', payer: 'payer of a', refuseMs }, opened.nowMs())
    for (const view of views) {
      assert.equal(await view.isUnpaid('payer of a', opened.nowMs()), true)
      assert.equal(await view.isUnpaid('payer of b', opened.nowMs()), false)
      assert.equal(await view.chargeOf('a'), undefined, 'the work has ended')
      const other = workOf('c', { payer: 'payer of a' })
      assert.equal(await view.begin(other, leaseMs, opened.nowMs()), false, 'no further work begins')
      assert.equal(await view.chargeOf('c'), undefined)
    }
    await opened.pass(refuseMs - 5_000)
    assert.equal(await views.at(-1)!.isUnpaid('payer of a', opened.nowMs()), true)
    await opened.pass(6_000)
    for (const view of views) assert.equal(await view.isUnpaid('payer of a', opened.nowMs()), false)
    assert.equal(await first!.begin(workOf('c', { payer: 'payer of a' }), leaseMs, opened.nowMs()), true)
  })

  test(`${kind.name}: every replica counts what refused payers have left unpaid, up to a limit`, async (t) => {
    const opened = await kind.open(t)
    const views = viewsOf(opened)
    const leave = (payer: string, view = views[0]!) =>
      view.leaveUnpaid({ transactionId: `of ${payer}`, payer, refuseMs }, opened.nowMs())
    const counts = (limit = 5) => Promise.all(views.map((view) => view.countUnpaid(limit, opened.nowMs())))
    const all = (count: number) => views.map(() => count)
    assert.deepEqual(await counts(), all(0))
    await leave('a')
    await opened.pass(refuseMs / 2)
    await leave('b', views.at(-1))
    await leave('b')
    assert.deepEqual(await counts(), all(3))
    for (const payer of ['c', 'c', 'd']) await leave(payer)
    assert.deepEqual(await counts(), all(5), 'at most the limit')
    assert.deepEqual(await counts(0), all(0))
    await opened.pass(refuseMs / 2 + 1_000)
    assert.deepEqual(await counts(100), all(5), 'only those whose time is not up')
    await opened.pass(refuseMs / 2 + 1_000)
    await leave('b')
    assert.deepEqual(await counts(100), all(1), 'earlier ones of the same payer do not count')
  })

  test(`${kind.name}: the charge of work is the last one, up to 64 bits`, async (t) => {
    const opened = await kind.open(t)
    const [first, last] = [viewsOf(opened)[0]!, viewsOf(opened).at(-1)!]
    assert.equal(await last.chargeOf('a'), undefined)
    assert.equal(await first.begin(workOf('a'), leaseMs, opened.nowMs()), true)
    for (const charge of [0n, 77n, 2n ** 64n - 1n]) {
      assert.equal(await first.note(workOf('a', { charge }), leaseMs, opened.nowMs()), 'noted')
      assert.equal(await last.chargeOf('a'), charge)
    }
    await last.leaveUnpaid({ transactionId: 'b', payer: 'payer of a', refuseMs }, opened.nowMs())
    assert.equal(await first.note(workOf('a', { charge: 78n }), leaseMs, opened.nowMs()), 'refused')
    assert.equal(await last.chargeOf('a'), 78n, 'what was used until then is charged')
    await last.end('a')
    await last.end('a')
    assert.equal(await first.chargeOf('a'), undefined)
  })

  test(`${kind.name}: work of a gate that ended is taken by one replica at a time`, async (t) => {
    const opened = await kind.open(t)
    const views = viewsOf(opened)
    const takeAll = async (limit: number): Promise<MeteredWork[]> => {
      const taken = await Promise.all(views.map((view) => view.takeAbandoned(limit, leaseMs, opened.nowMs())))
      return taken.flat().sort((a, b) => (a.transactionId < b.transactionId ? -1 : 1))
    }
    const left = [workOf('a', { charge: 5n }), workOf('b', { charge: 2n ** 64n - 1n }), workOf('c')]
    for (const work of left) await views[0]!.begin(work, leaseMs, opened.nowMs())
    await opened.pass(leaseMs / 2)
    assert.deepEqual(await takeAll(10), [])
    await views[0]!.begin(workOf('kept'), leaseMs, opened.nowMs())
    await opened.pass(leaseMs / 2 + 1_000)
    assert.deepEqual(await takeAll(10), left)
    assert.deepEqual(await takeAll(10), [], 'leased to the replica that has it')
    await views[0]!.end('a')
    await views.at(-1)!.leaveUnpaid({ transactionId: 'b', payer: 'payer of b', refuseMs }, opened.nowMs())
    await opened.pass(leaseMs + 1_000)
    assert.deepEqual(await takeAll(10), [workOf('c'), workOf('kept')], 'a replica that ended too')
    await opened.pass(leaseMs + 1_000)
    assert.equal((await views[0]!.takeAbandoned(1, leaseMs, opened.nowMs())).length, 1, 'at most the limit')
  })

  test(`${kind.name}: a gate that was paused does not change work that another one has taken or ended`, async (t) => {
    const opened = await kind.open(t)
    const [first, last] = [viewsOf(opened)[0]!, viewsOf(opened).at(-1)!]
    const late = (id: string) => first.note(workOf(id, { charge: 9n }), leaseMs, opened.nowMs())
    assert.equal(await late('never begun'), 'gone')
    for (const id of ['taken', 'ended', 'over']) {
      await first.begin(workOf(id, { charge: 5n }), leaseMs, opened.nowMs())
    }
    await last.end('ended')
    assert.equal(await last.takeOver('over'), 5n)
    assert.deepEqual([await late('ended'), await late('over')], ['gone', 'gone'])
    assert.deepEqual([await first.chargeOf('ended'), await first.takeOver('ended')], [undefined, undefined])
    await last.end('over')
    await opened.pass(leaseMs + 1_000)
    const taken = await last.takeAbandoned(10, leaseMs, opened.nowMs())
    assert.deepEqual(taken, [workOf('taken', { charge: 5n })])
    assert.equal(await late('taken'), 'gone')
    assert.equal(await last.chargeOf('taken'), 5n)
  })

  test(`${kind.name}: work that is given back is taken after a while, with its new order`, async (t) => {
    const opened = await kind.open(t)
    const [first, last] = [viewsOf(opened)[0]!, viewsOf(opened).at(-1)!]
    const order = '{"of":"a later try"}'
    await first.begin(workOf('a', { charge: 5n }), leaseMs, opened.nowMs())
    await first.giveBack({ transactionId: 'a', order }, 10_000, opened.nowMs())
    assert.deepEqual(await last.takeAbandoned(10, leaseMs, opened.nowMs()), [])
    await opened.pass(11_000)
    assert.deepEqual(await last.takeAbandoned(10, leaseMs, opened.nowMs()), [workOf('a', { charge: 5n, order })])
    assert.equal(await first.note(workOf('a', { charge: 9n }), leaseMs, opened.nowMs()), 'gone')
    await last.end('a')
    await first.giveBack({ transactionId: 'a', order }, 0, opened.nowMs())
    await opened.pass(1_000)
    assert.deepEqual(
      await last.takeAbandoned(10, leaseMs, opened.nowMs()),
      [],
      'work that has ended does not come back',
    )
  })
}
