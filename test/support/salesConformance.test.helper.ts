/** Conformance tests for every store of sales. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  nextSale,
  type Revenue,
  type Sale,
  type SaleOutcome,
  type SalePosition,
  type SaleStore,
} from '@latchkey/x402/server'
import type { ClaimsKind, StoreOptions } from './claimsConformance.test.helper.js'
import { idOf } from './paymentIds.test.helper.js'

const dayMs = 86_400_000
const noon = 20_000 * dayMs + dayMs / 2
const largest = (2n ** 64n - 1n).toString()
const outcomes: readonly SaleOutcome[] = ['verified', 'pending', 'settled', 'refused', 'cancelled', 'unknown']

export function saleOf(transactionId: string, change: Partial<Sale> = {}): Sale {
  return {
    transactionId,
    timeMs: noon,
    outcome: 'settled',
    code: '',
    route: 'GET /weather',
    method: 'GET',
    path: '/weather',
    payer: 'PAYER',
    payTo: 'SELLER',
    amount: '10000',
    asset: '31566704',
    assetName: 'USDC',
    decimals: 6,
    network: 'algorand:x',
    round: 7,
    firstValid: 1,
    lastValid: 1_000,
    isDue: false,
    ...change,
  }
}

async function allOf(store: SaleStore): Promise<Sale[]> {
  const found: Sale[] = []
  let after: string | undefined
  do {
    const page = await store.list({ limit: 300, after })
    found.push(...page.sales)
    after = page.next
  } while (after !== undefined)
  return found
}

export function salesConformance(kind: ClaimsKind): void {
  const open = async (t: TestContext, options?: StoreOptions): Promise<SaleStore[]> => {
    const { store, others } = await kind.open(t, options)
    return [store, ...others].map(({ sales }) => sales!)
  }

  test(`${kind.name}: every sale changes as nextSale defines, and the sums match`, async (t) => {
    const [store] = await open(t)
    const kinds = outcomes.flatMap((outcome) =>
      ['', 'x', 'payment_already_used'].flatMap((code) => [undefined, 9].map((round) => ({ outcome, code, round }))),
    )
    const pairs = [undefined, ...kinds].flatMap((before) => kinds.map((after) => ({ before, after })))
    const sales = pairs.map(({ before, after }, index) => ({
      before: before && saleOf(idOf(index), { ...before, route: 'before', timeMs: noon - 1, firstValid: index % 3 }),
      after: saleOf(idOf(index), after),
    }))
    const sums = { settled: 0, failed: 0 }
    const expected = sales.map(({ before, after }) => {
      let known: Sale | undefined
      for (const sale of [before, after]) {
        const next = sale && nextSale(known, sale)
        if (next?.counts !== undefined) sums[next.counts]++
        known = next?.sale ?? known
      }
      return known!
    })
    for (const one of [sales.flatMap(({ before }) => before ?? []), sales.map(({ after }) => after)]) {
      for (let from = 0; from < one.length; from += 100) await store!.record(one.slice(from, from + 100))
    }
    const found = new Map((await allOf(store!)).map((sale) => [sale.transactionId, sale]))
    for (const [index, sale] of expected.entries()) {
      assert.deepEqual(found.get(sale.transactionId), sale, JSON.stringify(pairs[index]))
    }
    const revenue = await store!.revenue({})
    const sum = (member: 'settled' | 'failed'): number => revenue.reduce((total, row) => total + row[member], 0)
    assert.deepEqual([sum('settled'), sum('failed')], [sums.settled, sums.failed])
    const amount = revenue.reduce((total, row) => total + BigInt(row.amount), 0n)
    assert.equal(amount, BigInt(sums.settled) * 10_000n)
  })

  test(`${kind.name}: a sale recorded by 64 parallel calls, in several orders, is counted once`, async (t) => {
    const stores = await open(t)
    const sales = Array.from({ length: 10 }, (_, index) => saleOf(idOf(index), { route: `r${index % 3}` }))
    await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        stores[index % stores.length]!.record(index % 2 === 0 ? sales : sales.toReversed()),
      ),
    )
    const revenue = await stores[0]!.revenue({})
    assert.deepEqual(revenue.map(({ route, settled, amount }) => [route, settled, amount]).sort(), [
      ['r0', 4, '40000'],
      ['r1', 3, '30000'],
      ['r2', 3, '30000'],
    ])
  })

  test(`${kind.name}: sums beyond 64 bits are exact, by day, route and asset, and keep the name of an asset`, async (t) => {
    const [store] = await open(t)
    await store!.record([
      saleOf(idOf(1), { amount: largest }),
      saleOf(idOf(2), { amount: largest, assetName: 'asset 31566704', decimals: undefined }),
      saleOf(idOf(3), { timeMs: noon + dayMs }),
      saleOf(idOf(4), { route: 'POST /jobs', asset: '0', assetName: 'ALGO' }),
    ])
    const rows = await store!.revenue({})
    assert.equal(rows[0]!.day, 20_001, 'the latest first')
    const shown = ({ day, route, assetName, decimals, amount }: Revenue) => [day, route, assetName, decimals, amount]
    assert.deepEqual(rows.map(shown).sort(), [
      [20_000, 'GET /weather', 'USDC', 6, (2n * (2n ** 64n - 1n)).toString()],
      [20_000, 'POST /jobs', 'ALGO', 6, '10000'],
      [20_001, 'GET /weather', 'USDC', 6, '10000'],
    ])
    assert.equal((await store!.revenue({ sinceDay: 20_001 })).length, 1)
  })

  test(`${kind.name}: pages contain every sale once, also those of one moment and authorizations, and an invalid cursor is an error`, async (t) => {
    const [store] = await open(t)
    const all = Array.from({ length: 25 }, (_, index) => (index % 2 === 0 ? idOf(index) : `upto-${idOf(index)}`))
    await store!.record(all.map((id, index) => saleOf(id, { timeMs: noon + (index % 3) })))
    const seen: string[] = []
    let after: string | undefined
    for (let pages = 0; pages === 0 || after !== undefined; pages++) {
      assert.ok(pages < 10)
      const page = await store!.list({ limit: 7, after })
      seen.push(...page.sales.map(({ timeMs, transactionId }) => `${timeMs}.${transactionId}`))
      after = page.next
    }
    assert.deepEqual(seen, [...new Set(seen)].sort().reverse())
    assert.equal(seen.length, 25)
    for (const wrong of ['', "' OR 1=1", `${noon}.${idOf(1)}`, 'x'.repeat(5_000)]) {
      await assert.rejects(async () => store!.list({ limit: 7, after: wrong }), { code: 'invalid_sales_cursor' }, wrong)
    }
    assert.equal((await store!.list({ limit: 1e9 })).sales.length, 25)
    assert.equal((await store!.list({ limit: 10, sinceMs: noon + 2 })).sales.length, 8)
    assert.equal((await store!.list({ limit: 10, untilMs: noon + 1 })).sales.length, 9)
    assert.equal((await store!.list({ limit: 10, outcomes: ['refused'] })).sales.length, 0)
  })

  test(`${kind.name}: due and undecided sales are listed, oldest first, until they are reported or decided`, async (t) => {
    const [store, other = store] = await open(t)
    const ids = async (which: 'due' | 'undecided', after?: SalePosition): Promise<string[]> =>
      (await other!.open(which, noon + 5, 10, after)).map(({ transactionId }) => transactionId)
    await store!.record([
      saleOf(idOf(3), { isDue: true, timeMs: noon + 1 }),
      saleOf(idOf(1), { isDue: true }),
      saleOf(idOf(2)),
      saleOf(idOf(4), { isDue: true, timeMs: noon + 5 }),
      saleOf(idOf(5), { isDue: true, outcome: 'pending' }),
    ])
    assert.deepEqual(await ids('due'), [idOf(1), idOf(3)])
    assert.deepEqual(await ids('due', { timeMs: noon, transactionId: idOf(1) }), [idOf(3)])
    assert.deepEqual(await ids('undecided'), [idOf(5)])
    await store!.delivered([idOf(1), idOf(9)])
    await store!.record([saleOf(idOf(5), { isDue: true })])
    assert.deepEqual(await ids('due'), [idOf(5), idOf(3)])
    assert.deepEqual(await ids('undecided'), [])
  })

  test(`${kind.name}: untrusted text is recorded, whatever it contains`, async (t) => {
    const [store] = await open(t)
    const texts = {
      code: 'a\0b\ud800c',
      path: `/'; DROP TABLE sales; --`,
      payer: '"\\\n\u2028',
      assetName: '{"a":[1]}',
    }
    await store!.record([saleOf(idOf(1), { outcome: 'refused', ...texts }), saleOf(idOf(2))])
    const { sales } = await store!.list({ limit: 10 })
    assert.equal(sales.length, 2)
    const { path, payer, assetName } = sales.find(({ transactionId }) => transactionId === idOf(1))!
    assert.deepEqual({ path, payer, assetName }, { path: texts.path, payer: texts.payer, assetName: texts.assetName })
  })

  test(`${kind.name}: a claim records its sale, and a failed claim records none`, async (t) => {
    const { store, nowMs } = await kind.open(t)
    const lease = { binding: 'b', proof: 'none', leaseMs: 60_000, network: 'n', round: 1n, forgetRound: 9n } as const
    const sale = saleOf(idOf(1), { outcome: 'verified', round: undefined })
    await store.claim(idOf(1), { ...lease, owner: 'a', nowMs: nowMs(), sale })
    await store.claim(idOf(1), { ...lease, owner: 'b', nowMs: nowMs(), sale: { ...sale, route: 'other' } })
    assert.deepEqual(await allOf(store.sales!), [sale])
  })

  test(`${kind.name}: old sales and failures are deleted while recording, sums stay, and claimed sales are not counted again`, async (t) => {
    const { store, nowMs } = await kind.open(t, { maxSales: 600 })
    const sales = store.sales!
    const lease = { binding: 'b', proof: 'none', leaseMs: 60_000, network: 'n', round: 1n, forgetRound: 9n } as const
    const first = saleOf(idOf(1), { outcome: 'verified', timeMs: noon - 1 })
    await store.claim(idOf(1), { ...lease, owner: 'a', nowMs: nowMs(), sale: first })
    await sales.record([saleOf(idOf(1), { timeMs: noon - 1 })])
    let count = 1_000
    const more = async (): Promise<void> =>
      sales.record(Array.from({ length: 100 }, () => saleOf(idOf(count), { timeMs: noon + count++ })))
    for (let batch = 0; batch < 20; batch++) await more()
    for (let tries = 0; (await allOf(sales)).length > 1_300 && tries < 100; tries++) {
      await sleep(20)
      await more()
    }
    assert.ok((await allOf(sales)).length <= 1_300)
    await sales.record([saleOf(idOf(1))])
    const [row] = await sales.revenue({})
    assert.deepEqual([row!.settled, row!.amount], [count - 1_000 + 1, `${count - 1_000 + 1}0000`])
  })

  test(`${kind.name}: days long past are summed up as earlier ones`, async (t) => {
    const [store] = await open(t, { maxSales: 1_000 })
    await store!.record([saleOf(idOf(1)), saleOf(idOf(2), { timeMs: noon + dayMs })])
    const late = noon + 1_110 * dayMs
    let count = 100
    const days = async (): Promise<number[]> => (await store!.revenue({})).map(({ day }) => day)
    for (let tries = 0; tries < 100 && !(await days()).includes(-1); tries++) {
      await store!.record(Array.from({ length: 100 }, () => saleOf(idOf(count++), { timeMs: late })))
      await sleep(5)
    }
    assert.deepEqual(
      (await store!.revenue({})).map(({ day, settled, amount }) => [day, settled, amount]),
      [
        [20_000 + 1_110, count - 100, `${count - 100}0000`],
        [-1, 2, '20000'],
      ],
    )
  })
}
