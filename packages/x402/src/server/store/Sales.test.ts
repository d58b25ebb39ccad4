import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import * as Sqlite from '@latchkey/system/sqlite'
import { MemoryClaims } from './Claims.js'
import { dayOf, earlier, keepDays, type Sale, type SaleStore } from './Sales.js'
import { SqliteClaims } from './sqlite/SqliteClaims.js'

const dayMs = 86_400_000
const noon = 20_000 * dayMs + dayMs / 2
const largest = (2n ** 64n - 1n).toString()

function file(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-sales-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'claims.db')
}

type Options = { maxSales?: number }
const claimStores: [string, (t: TestContext, options?: Options) => MemoryClaims | SqliteClaims][] = [
  ['MemoryClaims', (_, options) => new MemoryClaims(options)],
  [
    'SqliteClaims',
    (t, options) => {
      const claims = new SqliteClaims(file(t), options)
      t.after(() => claims.close())
      return claims
    },
  ],
]
const stores = claimStores.map(([name, open]): [string, (t: TestContext, options?: Options) => SaleStore] => [
  name,
  (t, options) => open(t, options).sales,
])

function id(count: number): string {
  return [...String(count).padStart(52, '0')].map((digit) => 'ABCDEFGHIJ'[Number(digit)]).join('')
}

function sale(transactionId: string, change: Partial<Sale> = {}): Sale {
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

for (const [name, open] of stores) {
  test(`${name}: records sales and totals beyond 64 bits exactly, by day, route and asset`, async (t) => {
    const store = open(t)
    await store.record([
      sale(id(1), { amount: largest }),
      sale(id(2), { amount: largest }),
      sale(id(3), { timeMs: noon + dayMs }),
      sale(id(4), { route: 'POST /jobs', asset: '0', assetName: 'ALGO' }),
    ])
    assert.deepEqual(await store.list({ limit: 1 }).valueOf(), {
      sales: [sale(id(3), { timeMs: noon + dayMs })],
      next: Buffer.from(`${noon + dayMs}.${id(3)}`).toString('base64url'),
    })
    const rows = await store.revenue({})
    assert.deepEqual(
      rows.map(({ day, route, assetName, amount, settled }) => [day, route, assetName, amount, settled]).sort(),
      [
        [20_000, 'GET /weather', 'USDC', (2n * (2n ** 64n - 1n)).toString(), 2],
        [20_000, 'POST /jobs', 'ALGO', '10000', 1],
        [20_001, 'GET /weather', 'USDC', '10000', 1],
      ],
    )
    assert.equal(rows[0]!.day, 20_001, 'the latest first')
    assert.equal((await store.revenue({ sinceDay: 20_001 })).length, 1)
  })

  test(`${name}: a settled sale is counted once and stays settled`, async (t) => {
    const store = open(t)
    const { round: _, ...unknown } = sale(id(1))
    await store.record([sale(id(1), { outcome: 'verified', round: undefined })])
    await store.record([{ ...unknown, round: undefined }, sale(id(1), { round: undefined })])
    await store.record([sale(id(1), { round: 9 }), sale(id(1), { round: 10 })])
    await store.record([sale(id(1), { outcome: 'refused', code: 'payment_already_used', route: 'GET /other' })])
    const { sales } = await store.list({ limit: 10 })
    assert.deepEqual(
      sales.map(({ outcome, route, round }) => [outcome, route, round]),
      [['settled', 'GET /weather', 9]],
    )
    assert.deepEqual(
      (await store.revenue({})).map(({ settled, failed, amount }) => [settled, failed, amount]),
      [[1, 0, '10000']],
    )
  })

  test(`${name}: a payment is one failure no matter how often it fails, and adds no amount`, async (t) => {
    const store = open(t)
    for (let count = 0; count < 3; count++) {
      await store.record([sale(id(1), { outcome: 'verified' }), sale(id(1), { outcome: 'cancelled' })])
    }
    await store.record([sale(id(2), { outcome: 'refused', code: 'insufficient_funds' })])
    assert.deepEqual(
      (await store.revenue({})).map(({ settled, failed, amount }) => [settled, failed, amount]),
      [[0, 2, '0']],
    )
    const failures = await store.list({ outcomes: ['refused', 'cancelled'], limit: 10 })
    assert.deepEqual(failures.sales.map(({ code }) => code).sort(), ['handler_failed', 'insufficient_funds'])
  })

  test(`${name}: a stranger who sends the payment of a request being served does not end it`, async (t) => {
    const store = open(t)
    await store.record([sale(id(1), { outcome: 'verified' })])
    await store.record([sale(id(1), { outcome: 'refused', code: 'payment_already_used', route: 'GET /other' })])
    assert.deepEqual(
      (await store.open('undecided', noon + 1, 10)).map(({ route }) => route),
      ['GET /weather'],
    )
  })

  test(`${name}: pages list every sale once, including simultaneous ones and authorizations, and an invalid cursor is an error`, async (t) => {
    const store = open(t)
    const ids = Array.from({ length: 25 }, (_, index) => (index % 2 === 0 ? id(index) : `upto-${id(index)}`))
    await store.record(ids.map((one, index) => sale(one, { timeMs: noon + (index % 3) })))
    const seen: string[] = []
    let after: string | undefined
    for (let pages = 0; pages === 0 || after !== undefined; pages++) {
      assert.ok(pages < 10)
      const page = await store.list({ limit: 7, after })
      seen.push(...page.sales.map(({ transactionId }) => transactionId))
      after = page.next
    }
    assert.equal(new Set(seen).size, 25)
    assert.equal(seen.length, 25)
    const { next } = await store.list({ limit: 7 })
    const text = Buffer.from(`${noon}.${id(1)}`)
    for (const wrong of [
      '',
      "' OR 1=1",
      `${noon}.${id(1)}`,
      `${next}A`,
      `${next}=`,
      next!.slice(1),
      text.toString('hex'),
    ]) {
      await assert.rejects(async () => store.list({ limit: 7, after: wrong }), { code: 'invalid_sales_cursor' }, wrong)
    }
    assert.equal((await store.list({ limit: 1e9 })).sales.length, 25)
    assert.equal((await store.list({ limit: 10, sinceMs: noon + 2 })).sales.length, 8)
    assert.equal((await store.list({ limit: 10, untilMs: noon + 1 })).sales.length, 9)
  })

  test(`${name}: due events are listed until they are delivered`, async (t) => {
    const store = open(t)
    await store.record([sale(id(1), { isDue: true }), sale(id(2)), sale(id(3), { isDue: true, timeMs: noon + 5 })])
    assert.deepEqual(
      (await store.open('due', noon + 5, 10)).map(({ transactionId }) => transactionId),
      [id(1)],
    )
    await store.delivered([id(1), id(9)])
    assert.deepEqual(await store.open('due', noon + 5, 10), [])
  })

  test(`${name}: deletes old sales but keeps totals, and a flood of failures displaces no sale`, async (t) => {
    const store = open(t, { maxSales: 400 })
    const many = (from: number, count: number, change: Partial<Sale>): Sale[] =>
      Array.from({ length: count }, (_, index) => sale(id(from + index), { timeMs: noon + index, ...change }))
    await store.record(many(0, 600, {}))
    await store.record(many(1_000, 600, {}))
    assert.ok((await store.list({ outcomes: ['settled'], limit: 1_000 })).sales.length <= 900)
    assert.deepEqual(
      (await store.revenue({})).map(({ settled, amount }) => [settled, amount]),
      [[1_200, '12000000']],
    )
  })

  test(`${name}: keeps the name of an asset when no node reports it anymore`, async (t) => {
    const store = open(t)
    await store.record([sale(id(1)), sale(id(2), { assetName: 'asset 31566704', decimals: undefined })])
    assert.deepEqual(
      (await store.revenue({})).map(({ assetName, decimals, amount }) => [assetName, decimals, amount]),
      [['USDC', 6, '20000']],
    )
  })

  test(`${name}: days that are long past are combined as earlier ones`, async (t) => {
    const store = open(t)
    await store.record([sale(id(1)), sale(id(2), { timeMs: noon + dayMs })])
    const late = noon + (keepDays + 10) * dayMs
    await store.record(Array.from({ length: 501 }, (_, index) => sale(id(100 + index), { timeMs: late })))
    assert.deepEqual(
      (await store.revenue({})).map(({ day, settled, amount }) => [day, settled, amount]),
      [
        [dayOf(late), 501, '5010000'],
        [earlier, 2, '20000'],
      ],
    )
  })
}

test('SqliteClaims: a file of version 2 keeps its claims and id, and gets sales', (t) => {
  const path = file(t)
  const first = new SqliteClaims(path)
  const { id: storeId } = first
  first.close()
  const database = Sqlite.open(path)
  database.exec('DROP TABLE sales; DROP TABLE revenue; PRAGMA user_version = 2')
  for (const column of ['fence', 'fenced_owner', 'is_begun']) database.exec(`ALTER TABLE claims DROP COLUMN ${column}`)
  database.exec('ALTER TABLE store DROP COLUMN last_fence')
  database.exec(`INSERT INTO claims (transaction_id, owner, state, until_ms, network, forget_round, times, binding)
    VALUES ('${id(1)}', 'o', 'served', 0, 'n', 9, 1, 'b')`)
  database.close()
  const claims = new SqliteClaims(path)
  t.after(() => claims.close())
  assert.equal(claims.id, storeId)
  assert.ok(claims.has(id(1)))
  claims.sales.record([sale(id(1))])
  assert.equal(claims.sales.list({ limit: 1 }).sales.length, 1)
})

test('SqliteClaims: sales survive the process', (t) => {
  const path = file(t)
  const first = new SqliteClaims(path)
  first.sales.record([sale(id(1), { decimals: undefined, round: undefined })])
  first.close()
  const second = new SqliteClaims(path)
  t.after(() => second.close())
  assert.deepEqual(second.sales.list({ limit: 5 }).sales, [sale(id(1), { decimals: undefined, round: undefined })])
})

for (const [name, open] of claimStores) {
  test(`${name}: a payment that is sent again after many others is not counted again`, async (t) => {
    const claims = open(t, { maxSales: 600 })
    const lease = { proof: 'none', nowMs: noon, leaseMs: 1_000, network: 'algorand:x', round: 1n } as const
    const first = sale(id(1), { outcome: 'verified' })
    await claims.claim(id(1), { ...lease, owner: 'o', binding: 'b', forgetRound: 1_000n, sale: first })
    await claims.sales.record([sale(id(1))])
    for (let batch = 1; batch <= 3; batch++) {
      const others = Array.from({ length: 360 }, (_, index) => sale(id(1_000 * batch + index), { timeMs: noon + 1 }))
      await claims.sales.record(others)
    }
    await claims.sales.record([sale(id(1))])
    const [row] = await claims.sales.revenue({})
    assert.deepEqual([row!.settled, row!.amount], [1_081, '10810000'])
  })
}
