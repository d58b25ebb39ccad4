/** Purchases that buyers name: one settlement and one run of the handler for each name. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { type Buyer, decodeReceipt, decodeRequired, type PaymentRequired, payingFetch } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/node'
import { type ClaimStore, type GateOptions, MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { type Market, openMarket, type Payload } from './support/market.test.helper.js'

const cent = 10_000n
const id = 'order-2026-11-17-0001'

type Answer = { status: number; body: string; error: string | undefined; transaction: string | undefined }

/** A shop whose handler counts its runs, and whose settlements are counted by transaction. */
async function openShop(t: TestContext, market: Market, options: Partial<GateOptions> = {}) {
  const { chain, seller, local } = market
  const accepts = { network: chain.caip2, payTo: seller, price: '$0.01' } as const
  const settled = new Set<string>()
  const settle: typeof local.settle = async (...args) => {
    const result = await local.settle(...args)
    if (result.success) settled.add(result.transaction)
    return result
  }
  const gate = await market.gate({
    routes: {
      'GET /report/:id': { accepts },
      'POST /orders': { accepts: { ...accepts, paymentFlow: 'upfront' } },
      'GET /slow': { accepts },
    },
    paymentIdentifier: 'optional',
    facilitators: { ...local, settle },
    ...options,
  })
  let runs = 0
  let failures = 0
  const server = createServer(
    paymentGate(gate, async (request, response) => {
      runs++
      if (request.url === '/slow') await new Promise((resolve) => setTimeout(resolve, 300))
      if (failures > 0) {
        failures--
        response.statusCode = 500
      }
      response.end(`answer ${runs}`)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.close()
    server.closeAllConnections()
    await gate.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const send = async (path: string, header?: string, method = 'GET'): Promise<Answer> => {
    const headers: { [name: string]: string } = header === undefined ? {} : { 'PAYMENT-SIGNATURE': header }
    const response = await fetch(`${url}${path}`, { method, headers })
    const body = await response.text()
    const receipt = response.headers.get('PAYMENT-RESPONSE')
    const { error } = (body.startsWith('{') ? JSON.parse(body) : {}) as { error?: string }
    const transaction = receipt === null ? undefined : decodeReceipt(receipt).transaction
    return { status: response.status, body, error, transaction }
  }
  const required = async (path: string, method = 'GET'): Promise<PaymentRequired> => {
    const response = await fetch(`${url}${path}`, { method })
    return decodeRequired(response.headers.get('PAYMENT-REQUIRED')!)
  }
  const fail = (): void => void failures++
  return { url, send, required, settled, runs: () => runs, fail }
}

async function pay(buyer: Buyer, required: PaymentRequired, paymentIdentifier: string | undefined = id) {
  return (await buyer.pay(required, { paymentIdentifier })).header
}

const stores: { readonly [name: string]: (t: TestContext) => ClaimStore } = {
  MemoryClaims: () => new MemoryClaims(),
  SqliteClaims: (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'purchases-'))
    const claims = new SqliteClaims(join(directory, 'claims.db'))
    t.after(() => {
      claims.close()
      rmSync(directory, { recursive: true })
    })
    return claims
  },
}

for (const [name, open] of Object.entries(stores)) {
  for (const [method, path] of [
    ['GET', '/slow'],
    ['POST', '/orders'],
  ] as const) {
    test(`${name}: eight parallel fresh payments under one name, ${method}: one settlement, one run`, async (t) => {
      const market = await openMarket(t)
      const shop = await openShop(t, market, { claims: open(t) })
      const required = await shop.required(path, method)
      const headers = []
      for (let index = 0; index < 8; index++) headers.push(await pay(market.buyer, required))
      const answers = await Promise.all(headers.map((header) => shop.send(path, header, method)))
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body]),
        Array(8).fill([200, 'answer 1']),
      )
      assert.equal(new Set(answers.map(({ transaction }) => transaction)).size, 1)
      assert.deepEqual([shop.runs(), shop.settled.size], [1, 1])
      assert.equal(await market.dollars(), cent)
      // And later.
      assert.equal((await shop.send(path, await pay(market.buyer, required), method)).body, 'answer 1')
      assert.deepEqual([shop.runs(), shop.settled.size], [1, 1])
      assert.equal(await market.dollars(), cent)
    })
  }
}

test('a name for another request or price is refused with 409, and nothing is charged', async (t) => {
  const market = await openMarket(t)
  const shop = await openShop(t, market)
  assert.equal((await shop.send('/report/1', await pay(market.buyer, await shop.required('/report/1')))).status, 200)
  for (const path of ['/report/2', '/report/1?page=2', '/slow']) {
    const answer = await shop.send(path, await pay(market.buyer, await shop.required(path)))
    assert.deepEqual([answer.status, answer.error], [409, 'payment_identifier_conflict'], path)
  }
  const post = await shop.send('/orders', await pay(market.buyer, await shop.required('/orders', 'POST')), 'POST')
  assert.equal(post.status, 409)
  assert.deepEqual([shop.runs(), shop.settled.size], [1, 1])
  assert.equal(await market.dollars(), cent)
})

test('a route that requires a name responds with 400 to a payment without one', async (t) => {
  const market = await openMarket(t)
  const shop = await openShop(t, market, { paymentIdentifier: 'required' })
  const required = await shop.required('/report/1')
  const named = (info: object | undefined) => async () => {
    const { payload } = await market.buyer.pay(required)
    const extensions = { ...payload.extensions } as { [name: string]: unknown }
    if (info === undefined) delete extensions['payment-identifier']
    else extensions['payment-identifier'] = { info }
    return Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
  }
  for (const [info, error] of [
    [undefined, 'payment_identifier_required'],
    [{ required: true }, 'payment_identifier_required'],
    [{ required: true, id: 'short' }, 'payment_identifier_invalid'],
    [{ required: true, id: 'x'.repeat(129) }, 'payment_identifier_invalid'],
    [{ required: true, id: 'order 2026 11 17 0001' }, 'payment_identifier_invalid'],
    [{ required: true, id: 1 }, 'payment_identifier_invalid'],
  ] as const) {
    const answer = await shop.send('/report/1', await named(info)())
    assert.deepEqual([answer.status, answer.error], [400, error])
  }
  assert.deepEqual([shop.runs(), shop.settled.size], [0, 0])
  const response = await payingFetch(market.buyer)(`${shop.url}/report/1`)
  assert.equal(response.status, 200, 'our buyer adds a name where one is required')
})

test('another payer who learns a name gets nothing of the first', async (t) => {
  const market = await openMarket(t)
  const shop = await openShop(t, market)
  const required = await shop.required('/report/1')
  const first = await shop.send('/report/1', await pay(market.buyer, required))
  const other = await shop.send('/report/1', await pay(market.newBuyer({}, 1), required))
  assert.deepEqual([first.body, other.body], ['answer 1', 'answer 2'])
  assert.notEqual(other.transaction, first.transaction)
  assert.equal(await market.dollars(), 2n * cent)

  // A stranger knows the name, and reads the payments of the first payer on the ledger.
  const unnamed = (await market.buyer.pay(required)).header
  assert.equal((await shop.send('/report/1', unnamed)).status, 200)
  const settledBefore = JSON.parse(Buffer.from(unnamed, 'base64').toString()) as Payload
  const forged = { ...settledBefore, extensions: { 'payment-identifier': { info: { required: false, id } } } }
  const replayed = await shop.send('/report/1', Buffer.from(JSON.stringify(forged)).toString('base64'))
  assert.equal(replayed.status, 402)
  // Or sends an unsigned payment of the first payer.
  const unsigned = await market.buyer.pay(required, { paymentIdentifier: id })
  const { paymentGroup, paymentIndex } = unsigned.payload.payload as Payload['payload']
  const others = [...paymentGroup]
  others[paymentIndex] = withoutSignature(others[paymentIndex]!)
  const bare = { ...unsigned.payload, payload: { paymentGroup: others, paymentIndex } }
  const refused = await shop.send('/report/1', Buffer.from(JSON.stringify(bare)).toString('base64'))
  assert.equal(refused.status, 402)
  assert.equal(shop.runs(), 3)
})

/** Replaces the signature of a signed transaction by zeros. */
function withoutSignature(text: string): string {
  const bytes = Buffer.from(text, 'base64')
  const start = bytes.indexOf(Buffer.from([0xa3, 0x73, 0x69, 0x67, 0xc4, 0x40])) + 6
  bytes.fill(0, start, start + 64)
  return bytes.toString('base64')
}

test('a purchase whose handler failed is not complete: a fresh payment under its name is charged', async (t) => {
  const market = await openMarket(t)
  const shop = await openShop(t, market)
  const required = await shop.required('/report/1')
  shop.fail()
  assert.equal((await shop.send('/report/1', await pay(market.buyer, required))).status, 500)
  assert.equal(await market.dollars(), 0n)
  assert.equal((await shop.send('/report/1', await pay(market.buyer, required))).body, 'answer 2')
  assert.deepEqual([shop.runs(), shop.settled.size], [2, 1])
  assert.equal(await market.dollars(), cent)
})

test('routes without the option ignore names', async (t) => {
  const market = await openMarket(t)
  const shop = await openShop(t, market, { paymentIdentifier: undefined })
  const required = await shop.required('/report/1')
  assert.equal(required.extensions?.['payment-identifier'], undefined)
  const extensions = { 'payment-identifier': { info: { required: false, id } } }
  for (let run = 1; run <= 2; run++) {
    const { payload } = await market.buyer.pay(required)
    const named = { ...payload, extensions: { ...payload.extensions, ...extensions } }
    const answer = await shop.send('/report/1', Buffer.from(JSON.stringify(named)).toString('base64'))
    assert.equal(answer.body, `answer ${run}`)
  }
})

test('payingFetch names purchases by its option, and one name is charged once', async (t) => {
  const market = await openMarket(t)
  const shop = await openShop(t, market)
  const paymentIdentifier = ({ url }: { url: string }) => `report-${new URL(url).pathname.slice(8).padStart(20, '0')}`
  for (let call = 0; call < 3; call++) {
    const paying = payingFetch(market.newBuyer(), { paymentIdentifier })
    assert.equal(await (await paying(`${shop.url}/report/7`)).text(), 'answer 1')
  }
  assert.equal(await market.dollars(), cent)
})

type Published = {
  declarePaymentIdentifierExtension: (required: boolean) => object
  appendPaymentIdentifierToExtensions: (extensions: object, id?: string) => object
  extractPaymentIdentifier: (payload: object) => string | null
  isPaymentIdentifierRequired: (extension: unknown) => boolean
}

test('names of the published TypeScript extension, and its view of our declaration', async (t) => {
  const file = 'published/node_modules/@x402/extensions/dist/esm/payment-identifier/index.mjs'
  const published = (await import(new URL(`../../../${file}`, import.meta.url).href)) as Published
  const market = await openMarket(t)
  const shop = await openShop(t, market, { paymentIdentifier: 'required' })
  const required = await shop.required('/report/1')
  assert.deepEqual(required.extensions!['payment-identifier'], published.declarePaymentIdentifierExtension(true))
  assert.equal(published.isPaymentIdentifierRequired(required.extensions!['payment-identifier']), true)
  let made: string | undefined
  for (let call = 0; call < 2; call++) {
    const { payload } = await market.buyer.pay(required)
    const echoed = { ...payload.extensions, 'payment-identifier': required.extensions!['payment-identifier'] }
    const extensions = published.appendPaymentIdentifierToExtensions(structuredClone(echoed), made)
    const named = { ...payload, extensions }
    made = published.extractPaymentIdentifier(named)!
    const answer = await shop.send('/report/1', Buffer.from(JSON.stringify(named)).toString('base64'))
    assert.deepEqual([answer.status, answer.body], [200, 'answer 1'])
  }
  const { payload } = await market.buyer.pay(required, { paymentIdentifier: id })
  assert.equal(published.extractPaymentIdentifier(payload), id, 'it reads ours')
  assert.equal(await market.dollars(), cent)
})
