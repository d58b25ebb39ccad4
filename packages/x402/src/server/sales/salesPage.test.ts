import assert from 'node:assert/strict'
import test from 'node:test'
import { Network } from '@latchkey/algorand'
import { MemoryClaims } from '../store/Claims.js'
import type { Sale } from '../store/Sales.js'
import { salesCsv } from './salesCsv.js'
import { type SalesPageOptions, salesPage } from './salesPage.js'

const token = 'a-token-of-the-seller'
const now = Date.now()
const evil = '<script>alert(1)</script>"\'\u202e'

function sale(count: number, change: Partial<Sale> = {}): Sale {
  return {
    transactionId: 'ABCDEFGHIJ'[count % 10]!.repeat(40) + 'ABCDEFGHIJ'[Math.floor(count / 10) % 10]!.repeat(12),
    timeMs: now - count,
    outcome: 'settled',
    code: '',
    route: 'GET /weather',
    method: 'GET',
    path: '/weather',
    payer: 'PAYER'.padEnd(58, 'A'),
    payTo: 'SELLER',
    amount: '10000',
    asset: '10458941',
    assetName: 'USDC',
    decimals: 6,
    network: Network.testnet.caip2,
    round: 7,
    firstValid: 1,
    lastValid: 2,
    isDue: false,
    ...change,
  }
}

function shop(sales: readonly Sale[], options: Partial<SalesPageOptions> = {}) {
  const claims = new MemoryClaims()
  claims.sales.record(sales)
  const page = salesPage({ claims, token, onError: () => {}, ...options })
  return (query = '', headers: { [name: string]: string } = { Authorization: `Bearer ${token}` }, method = 'GET') =>
    page(new Request(`http://shop.example/sales${query}`, { headers, method }))
}

test('refuses to be mounted without a token or a guard, with a short token, and on a store without sales', () => {
  const claims = new MemoryClaims()
  for (const options of [{}, { token: '' }, { token: 'short' }, { token: 5 }, { authorize: true }]) {
    assert.throws(() => salesPage({ claims, ...(options as object) }), { code: 'invalid_option' })
  }
  assert.throws(() => salesPage({ claims: {} as never, token }), {
    code: 'invalid_option',
    message: /does not record sales/,
  })
})

test('refuses a token that a request cannot carry', () => {
  const claims = new MemoryClaims()
  for (const own of [
    'a token with some spaces',
    'a-token-with-caf\u{e9}-in-it',
    'a-token-of-the-seller\n',
    'x'.repeat(701),
  ]) {
    assert.throws(() => salesPage({ claims, token: own }), { code: 'invalid_option', message: /token/ }, own)
  }
})

test('shows nothing without the token, and accepts it as a bearer token or as a password', async () => {
  const open = shop([sale(1)])
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
  const refused: { [name: string]: string }[] = [
    {},
    { Authorization: token },
    { Authorization: 'Bearer wrong' },
    { Authorization: `Bearer ${token}x` },
    { Authorization: 'Basic %%%' },
    basic('wrong'),
    basic(`${token}:`),
    { Cookie: `token=${token}` },
  ]
  for (const headers of refused) {
    const response = await open('', headers)
    assert.equal(response.status, 401, JSON.stringify(headers))
    assert.match(response.headers.get('WWW-Authenticate')!, /^Basic /)
    assert.doesNotMatch(await response.text(), /USDC/)
  }
  assert.equal((await open(`?token=${token}`, {})).status, 401)
  for (const headers of [basic(`:${token}`), basic(`anyone:${token}`), { authorization: `bearer ${token}` }]) {
    assert.equal((await open('', headers)).status, 200)
  }
})

test('a guard must return exactly true, and one that throws refuses', async () => {
  for (const [answer, status] of [
    [() => true, 200],
    [async () => true, 200],
    [() => 'yes' as never, 403],
    [() => false, 403],
    [() => Promise.reject(new Error('down')), 500],
  ] as const) {
    const open = shop([sale(1)], { token: undefined, authorize: answer })
    const response = await open('', {})
    assert.equal(response.status, status)
    if (status !== 200) assert.doesNotMatch(await response.text(), /USDC/)
  }
  const both = shop([sale(1)], { authorize: () => false })
  assert.equal((await both()).status, 401)
})

test('is read-only, without CORS, caching, framing or scripts', async () => {
  const open = shop([sale(1)])
  assert.equal((await open('', undefined, 'POST')).status, 405)
  const { headers } = await open('', { Authorization: `Bearer ${token}`, Origin: 'https://other.example' })
  assert.equal(headers.get('Access-Control-Allow-Origin'), null)
  assert.equal(headers.get('Cache-Control'), 'no-store')
  assert.match(
    headers.get('Content-Security-Policy')!,
    /^default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'/,
  )
  assert.equal(await (await open('', undefined, 'HEAD')).text(), '')
})

test('shows revenue, payments and failures, and escapes texts of others', async () => {
  const open = shop(
    [
      sale(1),
      sale(2, { amount: '2500000' }),
      sale(3, { outcome: 'refused', code: evil, payer: evil, assetName: evil, route: `GET /${evil}` }),
    ],
    { name: evil },
  )
  const text = await (await open()).text()
  assert.match(text, /2\.51 USDC/)
  assert.match(text, /2 payments/)
  assert.match(text, /On TestNet/)
  assert.match(text, /lora\.algokit\.io\/testnet\/transaction\//)
  assert.doesNotMatch(text, /<script|\u202e|alert\(1\)<\/script>/)
})

test('pages lists, ignores an invalid number of days, and refuses an invalid cursor', async () => {
  const open = shop(Array.from({ length: 35 }, (_, index) => sale(index)))
  const first = await (await open()).text()
  const rows = (text: string) => text.match(/class="settled"/g)?.length
  assert.equal(rows(first), 25)
  const [, next] = /\?days=30&amp;payments=([^#]+)#payments/.exec(first)!
  assert.equal(rows(await (await open(`?payments=${next}`)).text()), 10)
  for (const query of ['?days=-1', '?days=99999', '?days=x']) assert.equal((await open(query)).status, 200, query)
  for (const query of [`?payments=${'x'.repeat(5_000)}`, '?failures=%00', '?failures=', `?payments=${next}A`]) {
    assert.equal((await open(query)).status, 400, query)
  }
  assert.equal((await open('?csv=passwords')).status, 400)
})

test('CSV has every payment once, also authorizations for prices by usage', async () => {
  const ids = Array.from({ length: 1_252 }, (_, index) => `upto-${String(index).padStart(52, 'A')}`)
  const open = shop(ids.map((transactionId, index) => sale(0, { transactionId, timeMs: now - index })))
  const lines = (await (await open('?csv=payments')).text()).trim().split('\r\n').slice(1)
  assert.deepEqual(
    lines.map((line) => line.split(',').at(-2)),
    ids,
  )
})

test('ends a CSV with an error if the store begins again', async () => {
  const sales = new MemoryClaims().sales
  sales.record(Array.from({ length: 30 }, (_, index) => sale(index)))
  for (const next of ['same', undefined]) {
    let count = 0
    const list = () => ({ ...sales.list({ limit: 10 }), next: next ?? `page ${count++}` })
    await assert.rejects(
      async () => {
        for await (const text of salesCsv({ ...sales, list } as never, {})) assert.ok(text.length > 0)
      },
      { code: 'invalid_sales_cursor' },
    )
  }
})

test('CSV has exact decimals, every row, and no formula', async () => {
  const open = shop([
    sale(1, { amount: '18446744073709551615' }),
    sale(2, { decimals: undefined }),
    ...['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '＝1', "x;=cmd|'/C calc'!A0", 'x;"@1', 'a"b,c\n=d'].map(
      (code, index) => sale(3 + index, { outcome: 'refused', code }),
    ),
  ])
  const response = await open('?csv=payments')
  assert.match(response.headers.get('Content-Disposition')!, /attachment; filename="payments.csv"/)
  const text = await response.text()
  const lines = text.split('\r\n')
  assert.equal(lines.length, 1 + 12 + 1)
  assert.match(lines[1]!, /,18446744073709\.551615,USDC,18446744073709551615,10458941,TestNet,/)
  assert.match(lines[2]!, /,,USDC,10000,/)
  const codes = lines.slice(3, 12).map((line) => line.split(',')[2])
  const first = ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t'=1", "' =1", "'＝1"]
  // If semicolons separate cells, as in much of Europe, a text must not begin another cell.
  assert.deepEqual(codes, [...first, "x;'=cmd|'/C calc'!A0", `"x;'""@1"`])
  assert.match(text, /,"a""b,c\n'=d",/)
  const revenue = await (await open('?csv=revenue')).text()
  assert.match(revenue, /^day,route,payments,failures,amount,unit,/)
  assert.match(revenue, /,GET \/weather,2,10,18446744073709\.561615,USDC,18446744073709561615,/)
})
