/**
 * Conformance tests for every settlement store: memory, SQLite, PostgreSQL, or your own. Several stores on the same
 * data represent replicas.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  decideHold,
  decideSettlement,
  type HoldFacts,
  type HoldResult,
  type PaymentHold,
  type Settlement,
  type SettlementClaim,
  type SettlementLimits,
  type SettlementOutcome,
  type SettlementStore,
} from '@latchkey/x402/facilitator'

export type OpenedStores = {
  /** At least one store, all on the same data. */
  readonly stores: readonly SettlementStore[]
  /** Lets time pass for the stores: a multiple of a quarter of an hour, or less than a minute. */
  readonly pass: (ms: number) => Promise<void> | void
}

export type OpenStores = (t: TestContext) => Promise<OpenedStores> | OpenedStores

export type ConformanceOptions = {
  /** Whether the store keeps the given creation time. @default true */
  readonly keepsCreated?: boolean | undefined
}

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
const dayMs = 24 * 60 * minuteMs

let last = 0

/** Returns a settlement that differs from all others. */
export function settlement(change: Partial<Settlement> = {}): Settlement {
  return {
    transactionId: `T${process.pid}-${++last}`,
    state: 'pending',
    network: 'algorand:x',
    payer: 'PAYER',
    payTo: 'SELLER',
    asset: '31566704',
    amount: '18446744073709551615',
    group: [Uint8Array.of(1, 2, 0), Uint8Array.of(255), new Uint8Array(0)],
    firstValid: 2n ** 64n - 2n,
    lastValid: 2n ** 64n - 1n,
    feeMicroAlgos: 0n,
    claimant: 'gate "and" resource\n\u{1f511}',
    createdMs: Date.now(),
    ...change,
  }
}

/** Returns the hold of a payment before it is settled. */
export function holdOf(one: Settlement, change: Partial<PaymentHold> = {}): PaymentHold {
  const { transactionId, network, payer, payTo, claimant = '', lastValid, feeMicroAlgos } = one
  const costs = [{ asset: '1', amount: 10n }]
  const accounts = { network, payer, payTo, feePayer: 'FEES' }
  const hold = { transactionId, ...accounts, claimant, lastValid, isPaidAfterwards: false, costs, feeMicroAlgos }
  return { ...hold, holdMs: minuteMs, ...change }
}

export function testSettlementStore(name: string, open: OpenStores, { keepsCreated = true }: ConformanceOptions = {}) {
  const plain = (one: Settlement | undefined) => {
    if (one === undefined) return undefined
    const { createdMs, ...rest } = one
    const kept = Object.entries(rest).filter(([, value]) => value !== undefined)
    return { ...Object.fromEntries(kept), ...(keepsCreated ? { createdMs } : {}) }
  }
  const check = (title: string, work: (t: TestContext, opened: OpenedStores) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => work(t, await open(t)))

  check('exactly one of 64 claims of a payment records it, unchanged', async (_, { stores }) => {
    const one = settlement()
    assert.equal(await stores[0]!.get(one.transactionId), undefined)
    const claims = await all(64, (n) => of(stores, n).claim({ ...one, amount: String(n) }, {}))
    assert.equal(claims.filter(({ type }) => type === 'recorded').length, 1)
    const winner = claims.findIndex(({ type }) => type === 'recorded')
    const expected = plain({ ...one, amount: String(winner) })
    for (const claim of claims) if (claim.type === 'known') assert.deepEqual(plain(claim.settlement), expected)
    for (const store of stores) assert.deepEqual(plain(await store.get(one.transactionId)), expected)
  })

  check('an ended settlement keeps its state, but the ledger overrides it', async (_, { stores }) => {
    const [one, store, other] = [settlement(), stores[0]!, stores.at(-1)!]
    const finish = async (of: SettlementStore, outcome: SettlementOutcome) =>
      plain(await of.finish(one.transactionId, outcome))
    await store.claim(one, {})
    const first = { state: 'failed', errorReason: 'code', errorMessage: 'why\n"' } as const
    assert.equal(await finish(store, first), undefined)
    const failed = plain({ ...one, ...first })
    const second = { state: 'failed', errorReason: 'other', errorMessage: 'other' } as const
    assert.deepEqual(await finish(other, second), failed, 'what is recorded')
    assert.deepEqual(plain(await other.get(one.transactionId)), failed)
    assert.equal(await finish(other, { state: 'settled', round: 2n ** 63n }), undefined)
    const settled = { ...one, state: 'settled' as const, round: 2n ** 63n }
    assert.deepEqual(await finish(store, { state: 'failed', errorReason: 'late' }), plain(settled))
    assert.deepEqual(plain(await store.get(one.transactionId)), plain(settled))
    const again = await other.claim(one, {})
    assert.deepEqual(again.type === 'known' && plain(again.settlement), plain(settled))
    await store.finish('NONE', { state: 'settled' })
    assert.equal(await store.get('NONE'), undefined)
  })

  check('many concurrent ends all take effect', async (_, { stores }) => {
    const many = Array.from({ length: 200 }, () => settlement())
    await Promise.all(many.map((one, n) => of(stores, n).claim(one, {})))
    await Promise.all(
      many.map(({ transactionId }, n) =>
        of(stores, n + 1).finish(transactionId, { state: 'settled', round: BigInt(n) }),
      ),
    )
    const rounds = await Promise.all(
      many.map(async ({ transactionId }) => (await stores[0]!.get(transactionId))?.round),
    )
    assert.deepEqual(rounds, [...many.keys()].map(BigInt))
  })

  for (const [limits, expected] of [
    [{ feesInAll: 31n }, 10],
    [{ feesPerPayTo: 29n }, 9],
    [{ payToPerMinute: 17 }, 17],
    [{ payerPerMinute: 5 }, 5],
    [{ pendingPerPayer: 7 }, 7],
    [{ pendingPerPayTo: 1 }, 1],
    [{ feesInAll: 30n, payToPerMinute: 40, payerPerMinute: 12, pendingPerPayer: 11, pendingPerPayTo: 60 }, 10],
  ] as [SettlementLimits, number][]) {
    const names = Object.keys(limits).join(' and ')
    check(`exactly as many of 64 concurrent claims are recorded as ${names} allows`, async (_, { stores }) => {
      const claims = await all(64, (n) => of(stores, n).claim(settlement({ feeMicroAlgos: 3n }), limits))
      assert.equal(claims.filter(({ type }) => type === 'recorded').length, expected)
      const met = claims.flatMap((claim) => (claim.type === 'limited' ? [claim.limit] : []))
      assert.equal(met.length, 64 - expected)
      assert.ok(met.every((limit) => limit in limits))
    })
  }

  check('concurrent claims of many payers meet the limits of each', async (_, { stores }) => {
    const limits = { payerPerMinute: 3, pendingPerPayTo: 50, feesPerPayTo: 200n, feesInAll: 400n }
    const claims = await all(320, (n) => {
      const [payer, payTo] = [`P${n % 8}`, `S${n % 5}`]
      return of(stores, n).claim(settlement({ payer, payTo, feeMicroAlgos: 10n }), limits)
    })
    assert.equal(claims.filter(({ type }) => type === 'recorded').length, 24)
  })

  check('settlements of a rolling minute are counted, whatever their outcome', async (_, { stores, pass }) => {
    const limits = { payToPerMinute: 3, payerPerMinute: 2 }
    const ask = (payer: string, payTo = 'SELLER') => met(stores, settlement({ payer, payTo }), limits)
    const first = settlement({ payer: 'A' })
    assert.equal(await met(stores, first, limits), undefined)
    await stores[0]!.finish(first.transactionId, { state: 'failed' })
    await pass(30_000)
    const asked = [await ask('A'), await ask('A'), await ask('B'), await ask('B'), await ask('B', 'OTHER')]
    assert.deepEqual(asked, [undefined, 'payerPerMinute', undefined, 'payToPerMinute', undefined])
    await pass(32_000)
    assert.deepEqual([await ask('A'), await ask('C')], [undefined, 'payToPerMinute'])
    await pass(59_000)
    await pass(59_000)
    assert.equal(await ask('A'), undefined)
  })

  check(
    'fees are counted over a rolling day, and payments without one are not limited',
    async (_, { stores, pass }) => {
      const limits = { feesPerPayTo: 5_000n, feesInAll: 9_000n }
      const spend = (feeMicroAlgos: bigint, payTo = 'SELLER') =>
        met(stores, settlement({ feeMicroAlgos, payTo }), limits)
      assert.equal(await spend(2_000n), undefined)
      await pass(dayMs / 2)
      assert.deepEqual([await spend(3_000n), await spend(1n), await spend(0n)], [undefined, 'feesPerPayTo', undefined])
      assert.deepEqual([await spend(4_001n, 'OTHER'), await spend(4_000n, 'OTHER')], ['feesInAll', undefined])
      await pass(dayMs / 2 - quarterMs)
      assert.equal(await spend(1n), 'feesInAll', 'not a day later')
      await pass(2 * quarterMs)
      assert.deepEqual([await spend(2_001n), await spend(2_000n)], ['feesInAll', undefined])
      await pass(dayMs + quarterMs)
      assert.equal(await spend(5_000n), undefined)
    },
  )

  check(
    'the fee of a failed settlement is released once, and counts again if the ledger has it',
    async (_, { stores }) => {
      const limits = { feesPerPayTo: 4_000n, feesInAll: 4_000n }
      const [a, b] = [settlement({ feeMicroAlgos: 2_000n }), settlement({ feeMicroAlgos: 2_000n })]
      const ask = (feeMicroAlgos: bigint) => stores[0]!.check(settlement({ feeMicroAlgos }), limits)
      for (const one of [a, b]) assert.equal(await met(stores, one, limits), undefined)
      assert.equal(await ask(1n), 'feesInAll')
      await all(9, (n) => of(stores, n).finish(a.transactionId, { state: 'failed' }))
      await stores[0]!.finish(b.transactionId, { state: 'settled' })
      await stores[0]!.finish(b.transactionId, { state: 'failed' })
      assert.deepEqual([await ask(2_000n), await ask(2_001n)], [undefined, 'feesInAll'])
      await all(9, (n) => of(stores, n).finish(a.transactionId, { state: 'settled' }))
      assert.equal(await ask(1n), 'feesInAll')
    },
  )

  check('pending settlements are counted, but not against the payTo if nodes reject them', async (_, { stores }) => {
    const limits = { pendingPerPayer: 2, pendingPerPayTo: 3 }
    const many = [settlement(), settlement(), settlement({ payer: 'B' })]
    for (const one of many) assert.equal(await met(stores, one, limits), undefined)
    const [store, other, id] = [stores[0]!, stores.at(-1)!, many[0]!.transactionId]
    const ask = (payer: string) => other.check(settlement({ payer }), limits)
    assert.deepEqual([await ask('PAYER'), await ask('C')], ['pendingPerPayer', 'pendingPerPayTo'])
    await store.setRejected(id, true)
    await store.setRejected(id, true)
    assert.deepEqual([await ask('PAYER'), await ask('C')], ['pendingPerPayer', undefined])
    await store.setRejected(id, false)
    assert.equal(await ask('C'), 'pendingPerPayTo')
    await store.setRejected(id, true)
    await other.finish(id, { state: 'failed' })
    await store.setRejected(id, false)
    assert.deepEqual([await ask('PAYER'), await ask('C')], [undefined, undefined])
  })

  check(
    'a known settlement is returned even if a limit is reached, and a fee limit is named first',
    async (_, { stores }) => {
      const limits = { pendingPerPayer: 1, feesInAll: 5n, payerPerMinute: 1 }
      const one = settlement({ feeMicroAlgos: 5n })
      assert.equal(await met(stores, one, limits), undefined)
      for (const store of stores) assert.equal((await store.claim(one, limits)).type, 'known')
      const refused = await stores.at(-1)!.claim(settlement({ feeMicroAlgos: 1n }), limits)
      assert.deepEqual(refused, { type: 'limited', limit: 'feesInAll' })
      const mixed = await Promise.all([one, settlement(), one].map((each) => stores[0]!.claim(each, limits)))
      assert.deepEqual(
        mixed.map(({ type }) => type),
        ['known', 'limited', 'known'],
      )
    },
  )

  check('decides who may hold and settle a payment as the pure functions do, in every case', async (_, { stores }) => {
    let cases = 0
    for (const isRecorded of [false, true]) {
      for (const heldFor of [undefined, 'own', 'other', '']) {
        for (const claimant of ['own', '']) {
          for (const limit of [undefined, 'feesInAll'] as const) {
            for (const isPaidAfterwards of [false, true]) {
              const facts: HoldFacts = { isRecorded, heldFor, claimant, limit }
              const limits = limit === undefined ? {} : { feesInAll: 0n }
              const [hold, store] = [await prepared(stores, facts), of(stores, ++cases)]
              const text = JSON.stringify(facts)
              assert.deepEqual(
                withoutDetails(await store.holds.hold({ ...hold, isPaidAfterwards }, limits)),
                decideHold(facts),
                text,
              )
              const one = await prepared(stores, facts)
              const claimed = await store.claim(settlement({ ...one, claimant, feeMicroAlgos: 1n }), limits)
              // A held payment was admitted without a limit.
              const met = heldFor === claimant ? undefined : limit
              assert.deepEqual(withoutDetails(claimed), decideSettlement({ ...facts, limit: met }), text)
            }
          }
        }
      }
    }
    assert.equal(cases, 64)
  })

  check('of 32 claimants one holds a payment, and only that one settles it', async (_, { stores }) => {
    const one = settlement()
    const claimants = Array.from({ length: 32 }, (_, n) => `gate ${n}`)
    const results = await Promise.all(
      claimants.map((claimant, n) => of(stores, n).holds.hold(holdOf(one, { claimant }), {})),
    )
    const winners = claimants.filter((_, n) => results[n]!.type === 'held')
    assert.equal(winners.length, 1)
    assert.equal(results.filter(({ type }) => type === 'claimed').length, 31)
    for (const store of stores) assert.equal(await store.holds.claimantOf(one.transactionId), winners[0])
    const claims = await Promise.all(claimants.map((claimant, n) => of(stores, n + 1).claim({ ...one, claimant }, {})))
    assert.deepEqual(
      claims.map((claim) => (claim.type === 'known' ? 'claimed' : claim.type)),
      claimants.map((claimant) => (claimant === winners[0] ? 'recorded' : 'claimed')),
    )
    assert.equal((await stores[0]!.get(one.transactionId))!.claimant, winners[0])
  })

  check('the fee of a held payment is reserved until it settles or its hold ends', async (_, { stores, pass }) => {
    const limits = { feesPerPayTo: 4_000n, feesInAll: 7_000n }
    const paying = (change: Partial<Settlement> = {}) => settlement({ feeMicroAlgos: 2_000n, ...change })
    const many = [paying(), paying(), paying(), paying()]
    const hold = async (one: Settlement, n = 0) => {
      const result = await of(stores, n).holds.hold(holdOf(one), limits)
      return result.type === 'limited' ? result.limit : result.type
    }
    const claim = async (one: Settlement, n = 0) => {
      const result = await of(stores, n).claim(one, limits)
      return result.type === 'limited' ? result.limit : result.type
    }
    const held = await Promise.all(many.map(hold))
    assert.deepEqual(
      [...held].sort((a, b) => b.length - a.length),
      ['feesPerPayTo', 'feesPerPayTo', 'held', 'held'],
    )
    const [first, second] = many.filter((_, n) => held[n] === 'held')
    assert.deepEqual([await hold(first!, 1), await hold(paying(), 2)], ['held', 'feesPerPayTo'])
    assert.equal(await claim(paying(), 1), 'feesPerPayTo')
    assert.equal(await stores[0]!.check(paying(), limits), 'feesPerPayTo')
    const other = paying({ payTo: 'OTHER', feeMicroAlgos: 3_000n })
    assert.deepEqual([await claim(other, 2), await claim(paying({ payTo: 'OTHER' }))], ['recorded', 'feesInAll'])
    assert.deepEqual([await claim(first!, 1), await claim(paying(), 1)], ['recorded', 'feesInAll'])
    await of(stores, 1).holds.release(second!.transactionId, second!.claimant!)
    const third = paying()
    assert.deepEqual([await hold(third, 2), await hold(paying())], ['held', 'feesInAll'])
    await pass(quarterMs)
    assert.deepEqual(
      [await hold(third), await hold(paying())],
      ['held', 'feesInAll'],
      'it was held again within the limits',
    )
    await pass(quarterMs)
    const fourth = paying()
    assert.equal(await hold(fourth, 1), 'held', 'the other hold has expired')
    assert.equal(await hold(third, 2), 'held', 'it still belongs to its claimant')
    assert.deepEqual([await claim(third, 1), await claim(fourth, 2)], ['feesInAll', 'recorded'])
  })

  check(
    'a payment that is paid afterwards meets the limits when it is held, not when it settles',
    async (_, opened) => {
      const { stores } = opened
      const limits = { payToPerMinute: 3, payerPerMinute: 3, pendingPerPayer: 1, pendingPerPayTo: 1 }
      const many = [settlement(), settlement(), settlement()]
      const hold = async (one: Settlement, isPaidAfterwards: boolean, n = 0) =>
        withoutDetails(await of(stores, n).holds.hold(holdOf(one, { isPaidAfterwards }), limits))
      const held = { type: 'held', wasHeld: false }
      const exact = settlement()
      assert.deepEqual(await hold(exact, false), held)
      for (const one of many) assert.deepEqual(await hold(one, true), held)
      assert.deepEqual(await hold(many[0]!, true, 1), { type: 'held', wasHeld: true })
      const limited = { type: 'limited', limit: 'payerPerMinute' }
      assert.deepEqual(await hold(settlement(), true, 2), limited)
      assert.deepEqual(await stores[0]!.claim(exact, limits), limited, 'counted when it settles')
      const claims = await Promise.all(
        [...many, settlement()].map(async (one, n) => (await of(stores, n).claim(one, limits)).type),
      )
      assert.deepEqual(claims, ['recorded', 'recorded', 'recorded', 'limited'])
      const more = { ...limits, payToPerMinute: 4, payerPerMinute: 4, pendingPerPayer: 9, pendingPerPayTo: 9 }
      assert.equal((await stores[0]!.claim(exact, more)).type, 'recorded', 'each was counted once')
      assert.deepEqual(await stores.at(-1)!.claim(settlement(), more), limited)
    },
  )

  check('the amounts of all stores are queued, if the store counts them', async (_, { stores }) => {
    if (!stores[0]!.holds.isCounted) return
    const payer = `PAYER ${++last}`
    const feePayer = `FEES ${last}`
    const many = Array.from({ length: 12 }, () => settlement({ payer, feeMicroAlgos: 2n }))
    const hold = (one: Settlement, n: number) => of(stores, n).holds.hold(holdOf(one, { feePayer }), {})
    const aheadOf = (result: HoldResult) => {
      assert.ok(result.type === 'held' && result.ahead !== undefined)
      const { costs, fees, settledAgoMs } = result.ahead
      return { held: costs[0]?.held ?? 0n, settling: costs[0]?.settling ?? 0n, fees, settledAgoMs }
    }
    const results = (await Promise.all(many.map(hold))).map(aheadOf)
    const line = (numbers: bigint[]) => numbers.sort((a, b) => Number(a - b))
    assert.deepEqual(
      line(results.map(({ held }) => held)),
      many.map((_, n) => 10n * BigInt(n)),
    )
    assert.deepEqual(
      line(results.map(({ fees }) => fees.own)),
      many.map((_, n) => 2n * BigInt(n)),
    )
    const order = many.map((one, n) => ({ one, place: results[n]!.held })).sort((a, b) => Number(a.place - b.place))
    const [first, second, third] = order.map(({ one }) => one) as [Settlement, Settlement, Settlement]
    await stores[0]!.claim(first, {})
    const behind = aheadOf(await hold(third, 1))
    assert.deepEqual([behind.held, behind.settling, behind.settledAgoMs], [10n, 10n, undefined])
    assert.deepEqual(behind.fees, { all: 4n, settling: 2n, own: 4n, payers: 1 })
    await stores[0]!.finish(first.transactionId, { state: 'settled', round: 5n })
    await of(stores, 2).holds.release(second.transactionId, second.claimant!)
    const after = aheadOf(await hold(third, 2))
    assert.deepEqual([after.held, after.settling], [0n, 0n])
    assert.ok(after.settledAgoMs !== undefined && after.settledAgoMs >= 0 && after.settledAgoMs < minuteMs)
    const stranger = aheadOf(await of(stores, 1).holds.hold(holdOf(settlement({ payer: `${payer}'` }), {}), {}))
    assert.deepEqual([stranger.held, stranger.settling], [0n, 0n])
  })

  check('a hold ends by its claimant or by the round of its own network, not by time', async (_, { stores, pass }) => {
    const lastValid = 2n ** 64n - 2n
    const one = settlement({ lastValid, claimant: 'own' })
    const [store, other] = [stores[0]!, stores.at(-1)!]
    const foreign = holdOf(one, { claimant: 'other' })
    assert.equal((await store.holds.hold(holdOf(one), {})).type, 'held')
    await other.holds.release(one.transactionId, 'other')
    await pass(quarterMs)
    await other.holds.forget('algorand:y', lastValid + 1n)
    await other.holds.forget(one.network, lastValid)
    assert.deepEqual(await other.holds.hold(foreign, {}), { type: 'claimed' })
    await other.holds.forget(one.network, lastValid + 1n)
    assert.equal(await store.holds.claimantOf(one.transactionId), undefined)
    assert.equal((await store.holds.hold(foreign, {})).type, 'held')
    await other.holds.release(one.transactionId, 'other')
    assert.equal((await store.holds.hold(holdOf(one), {})).type, 'held')
    assert.equal((await store.claim(one, {})).type, 'recorded')
    await store.holds.release(one.transactionId, 'own')
    assert.equal((await other.holds.hold(foreign, {})).type, 'known')
  })

  check('pending settlements are never forgotten', async (_, { stores }) => {
    const one = settlement({ createdMs: 1_000 })
    await stores[0]!.claim(one, {})
    await stores[0]!.forgetBefore(Date.now() + 10 * dayMs)
    assert.equal((await stores.at(-1)!.get(one.transactionId))?.state, 'pending')
  })
}

/** Brings a new payment into the state of the facts, and returns its hold for the claimant. */
async function prepared(stores: readonly SettlementStore[], { isRecorded, heldFor, claimant }: HoldFacts) {
  const one = settlement({ feeMicroAlgos: 1n, claimant: heldFor ?? 'earlier' })
  if (heldFor !== undefined) await stores[0]!.holds.hold(holdOf(one), {})
  if (isRecorded) await stores.at(-1)!.claim(one, {})
  return holdOf(one, { claimant: claimant! })
}

/** The decision alone. */
function withoutDetails(result: HoldResult | SettlementClaim): object {
  if (result.type === 'known') return { type: 'known' }
  return result.type === 'held' ? { type: 'held', wasHeld: result.wasHeld } : result
}

/** Returns the limit that a claim met, which `check` reported a moment ago. */
async function met(stores: readonly SettlementStore[], one: Settlement, limits: SettlementLimits) {
  const expected = await stores[0]!.check(one, limits)
  const claim: SettlementClaim = await stores.at(-1)!.claim(one, limits)
  const limit = claim.type === 'limited' ? claim.limit : undefined
  assert.equal(limit, expected)
  return limit
}

const of = (stores: readonly SettlementStore[], n: number): SettlementStore => stores[n % stores.length]!

function all<T>(count: number, work: (n: number) => Promise<T> | T): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => work(n)))
}
