/** Conformance tests for every claim store: memory, SQLite, PostgreSQL and Redis. You can also pass your own store. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import {
  type ClaimEnd,
  type ClaimLease,
  type ClaimResult,
  type ClaimStore,
  type ClaimWrite,
  decideClaim,
  type HeldAnswer,
  type StoredClaim,
} from '@latchkey/x402/server'
import { passesConformance } from './passesConformance.test.helper.js'
import { idOf } from './paymentIds.test.helper.js'
import { purchasesConformance } from './purchasesConformance.test.helper.js'
import { renewalsConformance } from './renewalsConformance.test.helper.js'
import { salesConformance } from './salesConformance.test.helper.js'
import { unnumbered } from './unnumbered.test.helper.js'
import { usageConformance } from './usageConformance.test.helper.js'

export type StoreOptions = { readonly maxHeldBytes?: number; readonly maxSales?: number }

/** How the suite opens stores of one kind. */
export type ClaimsKind = {
  readonly name: string
  /** Opens a store without claims; `others` are further connections to it. Closes them at the end of the test. */
  readonly open: (t: TestContext, options?: StoreOptions) => Promise<OpenClaims>
  /** Whether the clock of the database decides rather than that of the process. */
  readonly hasOwnClock: boolean
  readonly hasSales: boolean
}

export type OpenClaims = {
  readonly store: ClaimStore
  /** Other connections to the same claims; the store itself if there are none. */
  readonly others: readonly ClaimStore[]
  /** The time of the process, for leases. */
  readonly nowMs: () => number
  /** Lets this much time pass for the store. */
  readonly pass: (ms: number) => Promise<void>
}

/** Equals keepServedMs of the stores. */
const keepServedMs = 5 * 60_000
const leaseMs = 60_000
const minute = 60_000

const answer: HeldAnswer = {
  status: 201,
  headers: [
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b="ü"'],
  ],
  body: new Uint8Array([0, 255, 10, 13, 0]),
}
const of = (length: number): HeldAnswer => ({ status: 200, headers: [], body: new Uint8Array(length) })

function leaseOf(opened: OpenClaims, change: Partial<ClaimLease> = {}): ClaimLease {
  const bound = { owner: 'a', binding: 'b', proof: 'none' } as const
  return { ...bound, nowMs: opened.nowMs(), leaseMs, network: 'n', round: 10n, forgetRound: 20n, ...change }
}

/** Registers the whole suite as tests of the caller's file. */
export function claimsConformance(kind: ClaimsKind): void {
  decisions(kind)
  parallelClaims(kind)
  leases(kind)
  answers(kind)
  limits(kind)
  forgetting(kind)
  if (kind.hasOwnClock) clocks(kind)
  renewalsConformance(kind)
  passesConformance(kind)
  purchasesConformance(kind)
  usageConformance(kind)
  if (kind.hasSales) salesConformance(kind)
}

const bindings = ['b', 'other']
const proofs: readonly ClaimLease['proof'][] = ['none', 'hash', 'secret']
const known: readonly (StoredClaim | undefined)[] = [
  undefined,
  ...(['serving', 'open', 'served'] as const).flatMap((state) =>
    (state === 'serving' ? [1, -1] : [1]).flatMap((untilMs) =>
      [
        [false, false],
        [true, false],
        [true, true],
      ].map(([isDone, hasAnswer]) => ({ state, binding: 'b', untilMs, isDone: isDone!, hasAnswer: hasAnswer! })),
    ),
  ),
]

function decisions(kind: ClaimsKind): void {
  test(`${kind.name}: decides every kind of claim as decideClaim does`, async (t) => {
    const opened = await kind.open(t, { maxHeldBytes: 10_000 })
    const { store } = opened
    const lease = (change: Partial<ClaimLease>): ClaimLease => leaseOf(opened, change)
    const cases = known.flatMap((one) =>
      bindings.flatMap((binding) => proofs.map((proof) => ({ one, binding, proof }))),
    )
    const arrange = async (one: StoredClaim | undefined, id: string, isLate: boolean): Promise<void> => {
      if (one === undefined || (one.state === 'serving' && one.untilMs < 0) !== isLate) return
      await store.claim(id, lease({ owner: 'first', proof: 'hash' }))
      if (one.isDone) await store.hold(id, 'first', one.hasAnswer ? answer : of(10_001))
      if (one.state !== 'serving') await store.finish(id, 'first', one.state, opened.nowMs())
    }
    for (const [index, { one }] of cases.entries()) await arrange(one, idOf(index), true)
    await opened.pass(leaseMs + 1_000)
    for (const [index, { one }] of cases.entries()) await arrange(one, idOf(index), false)
    for (const [index, { one, binding, proof }] of cases.entries()) {
      const expected = decideClaim(one, { ...lease({ binding, proof }), nowMs: 0 })
      const found = await store.claim(idOf(index), lease({ owner: 'second', binding, proof }))
      const text = JSON.stringify({ one, binding, proof })
      assert.equal(found.type, expected, text)
      if (found.type === 'held') assert.deepEqual(found.answer, one!.hasAnswer ? answer : undefined, text)
      // Claimed payments now belong to the second owner; the others, to the first.
      const owner = expected === 'busy' || expected === 'taken' ? 'first' : 'second'
      await store.finish(idOf(index), owner === 'first' ? 'second' : 'first', 'forgotten', opened.nowMs())
      assert.equal(await store.has(idOf(index)), true, text)
      await store.finish(idOf(index), owner, 'forgotten', opened.nowMs())
      assert.equal(await store.has(idOf(index)), false, text)
    }
  })
}

function parallelClaims(kind: ClaimsKind): void {
  test(`${kind.name}: one of 64 parallel claimants claims a payment`, async (t) => {
    const opened = await kind.open(t)
    const stores = [opened.store, ...opened.others]
    for (let payment = 0; payment < 10; payment++) {
      const claims = Array.from({ length: 64 }, (_, index) =>
        stores[index % stores.length]!.claim(idOf(payment), leaseOf(opened, { owner: `o${index}` })),
      )
      const types = (await Promise.all(claims)).map(({ type }) => type)
      assert.deepEqual(
        [types.filter((type) => type === 'new').length, types.filter((type) => type === 'busy').length],
        [1, 63],
      )
    }
  })

  test(`${kind.name}: one of 64 parallel claimants takes over an abandoned claim, and one gets an open one`, async (t) => {
    const opened = await kind.open(t)
    const stores = [opened.store, ...opened.others]
    const race = async (round: string, payment: number): Promise<string[]> => {
      const claims = Array.from({ length: 64 }, async (_, index) => {
        const owner = `${round}${index}`
        const { type } = await stores[index % stores.length]!.claim(idOf(payment), leaseOf(opened, { owner }))
        return type === 'again' ? owner : type
      })
      return (await Promise.all(claims)).filter((found) => found !== 'busy')
    }
    const payments = Array.from({ length: 8 }, (_, index) => index)
    for (const payment of payments) await opened.store.claim(idOf(payment), leaseOf(opened))
    await opened.pass(leaseMs + 1_000)
    for (const payment of payments) {
      const [winner, ...rest] = await race('left', payment)
      assert.match(winner!, /^left/)
      assert.deepEqual(rest, [])
      await opened.store.finish(idOf(payment), winner!, 'open', opened.nowMs())
      const next = await race('open', payment)
      assert.equal(next.length, 1)
      assert.match(next[0]!, /^open/)
    }
  })

  test(`${kind.name}: stores that share claims have the same id`, async (t) => {
    const opened = await kind.open(t)
    for (const other of opened.others) assert.equal(other.id, opened.store.id)
    assert.match(opened.store.id, /^[0-9a-f]{32}$/)
    assert.notEqual((await kind.open(t)).store.id, opened.store.id)
  })
}

function leases(kind: ClaimsKind): void {
  test(`${kind.name}: an expired lease is taken over, and its process loses all rights`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    const claim = async (owner: string): Promise<string> =>
      (await store.claim(idOf(1), leaseOf(opened, { owner }))).type
    assert.equal(await claim('a'), 'new')
    await opened.pass(leaseMs - 10_000)
    assert.equal(await claim('b'), 'busy')
    await opened.pass(11_000)
    assert.equal(await claim('b'), 'again')
    await store.hold(idOf(1), 'a', answer)
    for (const end of ['open', 'forgotten', 'served'] as const) await store.finish(idOf(1), 'a', end, opened.nowMs())
    assert.equal(await claim('c'), 'busy')
    await store.finish(idOf(1), 'b', 'open', opened.nowMs())
    assert.equal(await claim('c'), 'again')
  })
}

function answers(kind: ClaimsKind): void {
  test(`${kind.name}: an answer is held until it was served, byte for byte, and then only for its proven buyer`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    const claim = (owner: string, proof: ClaimLease['proof'] = 'none'): Promise<ClaimResult> =>
      unnumbered((opened.others[0] ?? store).claim(idOf(1), leaseOf(opened, { owner, proof })))
    const finish = (owner: string, end: ClaimEnd): ClaimWrite => store.finish(idOf(1), owner, end, opened.nowMs())
    assert.equal(await store.has(idOf(1)), false)
    await claim('a', 'hash')
    await store.hold(idOf(1), 'a', answer)
    assert.deepEqual(
      await claim('b', 'secret'),
      { type: 'held', answer },
      'while its process, which may have ended, has it',
    )
    await finish('b', 'served')
    assert.deepEqual(await claim('c'), { type: 'taken' })
    await finish('b', 'open')
    assert.deepEqual(await claim('d'), { type: 'held', answer }, 'it did not arrive')
    await finish('d', 'served')
    assert.deepEqual(await claim('e', 'secret'), { type: 'held', answer })
    await finish('e', 'served')
    await opened.pass(keepServedMs - 10_000)
    assert.deepEqual(await claim('f', 'secret'), { type: 'held', answer })
    await finish('f', 'served')
    await opened.pass(keepServedMs + 1_000)
    assert.deepEqual(await claim('g', 'secret'), { type: 'taken' })
  })

  test(`${kind.name}: an answer stays the same however often it is held, and a large one is complete`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    const large = { ...answer, body: new Uint8Array(300_000).map((_, index) => (index * 7919) % 256) }
    await store.claim(idOf(1), leaseOf(opened))
    for (const one of [answer, large, large]) await store.hold(idOf(1), 'a', one)
    await store.finish(idOf(1), 'a', 'open', opened.nowMs())
    const found = (await store.claim(idOf(1), leaseOf(opened, { owner: 'b' }))) as Extract<
      ClaimResult,
      { type: 'held' }
    >
    assert.deepEqual(found.answer!.headers, large.headers)
    assert.ok(Buffer.from(found.answer!.body).equals(Buffer.from(large.body)))
  })

  test(`${kind.name}: a forgotten claim leaves no answer`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    await store.claim(idOf(1), leaseOf(opened))
    await store.hold(idOf(1), 'a', answer)
    await store.finish(idOf(1), 'a', 'forgotten', opened.nowMs())
    assert.equal((await store.claim(idOf(1), leaseOf(opened, { owner: 'b' }))).type, 'new')
    await store.finish(idOf(1), 'b', 'open', opened.nowMs())
    assert.equal((await store.claim(idOf(1), leaseOf(opened, { owner: 'c' }))).type, 'again')
  })
}

function limits(kind: ClaimsKind): void {
  test(`${kind.name}: answers are bounded in bytes across all replicas, served ones make room, and a claim without room is held without its answer`, async (t) => {
    const opened = await kind.open(t, { maxHeldBytes: 100 })
    const stores = [opened.store, ...opened.others]
    let turn = 0
    const next = (): ClaimStore => stores[turn++ % stores.length]!
    const serve = async (count: number, end: ClaimEnd, held: HeldAnswer = of(40)): Promise<void> => {
      await next().claim(idOf(count), leaseOf(opened, { owner: 'a', proof: 'secret' }))
      await next().hold(idOf(count), 'a', held)
      await next().finish(idOf(count), 'a', end, opened.nowMs())
    }
    const isHeld = async (count: number): Promise<boolean> => {
      const found = await next().claim(idOf(count), leaseOf(opened, { owner: 'a', proof: 'secret' }))
      await next().finish(idOf(count), 'a', 'open', opened.nowMs())
      return found.type === 'held' && found.answer !== undefined
    }
    await serve(1, 'served')
    await serve(2, 'open')
    await serve(3, 'open')
    assert.equal(
      (await next().claim(idOf(1), leaseOf(opened, { owner: 'x', proof: 'secret' }))).type,
      'taken',
      'made room',
    )
    await serve(4, 'open')
    assert.deepEqual([await isHeld(2), await isHeld(3), await isHeld(4)], [true, true, false])
    assert.deepEqual(await unnumbered(next().claim(idOf(4), leaseOf(opened, { owner: 'x', proof: 'secret' }))), {
      type: 'held',
      answer: undefined,
    })
    await serve(5, 'open', of(101))
    assert.equal(await isHeld(5), false)
    await next().claim(idOf(2), leaseOf(opened, { owner: 'a', proof: 'secret' }))
    await next().finish(idOf(2), 'a', 'forgotten', opened.nowMs())
    await serve(6, 'open')
    assert.equal(await isHeld(6), true, 'a forgotten one makes room')
    // Holding an answer again uses its room only once; served answers expire.
    for (let times = 0; times < 5; times++) await serve(6, 'served')
    await opened.pass(keepServedMs + 1_000)
    await serve(7, 'open', of(60))
    assert.deepEqual([await isHeld(3), await isHeld(7)], [true, true])
  })

  test(`${kind.name}: 64 answers held at the same time exceed the limit by at most those in flight`, async (t) => {
    const opened = await kind.open(t, { maxHeldBytes: 1_000 })
    const stores = [opened.store, ...opened.others]
    const owner = 'a'
    await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        const store = stores[index % stores.length]!
        await store.claim(idOf(index), leaseOf(opened, { owner }))
        await store.hold(idOf(index), owner, of(50))
        await store.finish(idOf(index), owner, 'open', opened.nowMs())
      }),
    )
    let held = 0
    for (let index = 0; index < 64; index++) {
      const found = await opened.store.claim(idOf(index), leaseOf(opened, { owner }))
      assert.equal(found.type, 'held')
      if (found.type === 'held' && found.answer !== undefined) held++
    }
    assert.ok(held >= 20 && held <= 20 + 16, `${held} of 64`)
  })
}

function forgetting(kind: ClaimsKind): void {
  test(`${kind.name}: a claim outlives the clock, and is forgotten by the rounds of its network`, async (t) => {
    const opened = await kind.open(t)
    const { store } = opened
    await store.claim(idOf(1), leaseOf(opened))
    await store.hold(idOf(1), 'a', answer)
    await store.finish(idOf(1), 'a', 'served', opened.nowMs())
    await opened.pass(60 * minute)
    let count = 100
    /** Cleaning runs only occasionally. */
    const others = async (round: bigint, network: string): Promise<void> => {
      const lease = leaseOf(opened, { owner: 'o', network, round, forgetRound: round + 1_000n })
      await Promise.all(Array.from({ length: 100 }, async () => store.claim(idOf(count++), lease)))
    }
    for (let times = 0; times < 11; times++) await others(999n, 'other')
    assert.equal((await store.claim(idOf(1), leaseOf(opened, { owner: 'b', round: 20n }))).type, 'taken')
    for (let times = 0; times < 30 && (await store.has(idOf(1))); times++) await others(21n, 'n')
    assert.equal(await store.has(idOf(1)), false)
    assert.equal(await store.has(idOf(100)), true)
    assert.equal(
      (await store.claim(idOf(1), leaseOf(opened, { owner: 'b', round: 21n, forgetRound: 30n }))).type,
      'new',
    )
  })
}

function clocks(kind: ClaimsKind): void {
  test(`${kind.name}: a replica whose clock is off by a minute neither takes over early nor leaves a claim late`, async (t) => {
    const opened = await kind.open(t)
    const stores = [opened.store, opened.others[0]!]
    for (const [index, skewMs] of [minute, -minute, 20 * minute].entries()) {
      const claim = async (owner: string, ms: number, leaseOfMs: number): Promise<string> => {
        const nowMs = opened.nowMs() + ms
        const lease = leaseOf(opened, { owner, nowMs, leaseMs: leaseOfMs })
        return (await stores[ms === 0 ? 0 : 1]!.claim(idOf(index), lease)).type
      }
      assert.equal(await claim('right', 0, 30_000), 'new')
      assert.equal(await claim('skewed', skewMs, 30_000), 'busy')
      await opened.pass(31_000)
      assert.equal(await claim('skewed', skewMs, 30_000), 'again')
      assert.equal(await claim('right', 0, 30_000), 'busy')
      await stores[1]!.hold(idOf(index), 'skewed', answer)
      await stores[1]!.finish(idOf(index), 'skewed', 'served', opened.nowMs() + skewMs)
      const proven = leaseOf(opened, { owner: 'late', proof: 'secret' })
      assert.deepEqual(await unnumbered(stores[0]!.claim(idOf(index), proven)), { type: 'held', answer })
      await stores[0]!.finish(idOf(index), 'late', 'served', opened.nowMs() + skewMs)
      await opened.pass(keepServedMs + 1_000)
      assert.deepEqual(await stores[0]!.claim(idOf(index), { ...proven, owner: 'later' }), { type: 'taken' })
    }
  })
}
