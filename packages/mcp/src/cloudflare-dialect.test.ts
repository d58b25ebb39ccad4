/**
 * Trades with buyers and sellers in the shape of Cloudflare's `agents` package: the price in `_meta["x402/error"]`, the
 * payment as JSON in base64, one byte per character.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { decodePayment, type PaymentPayload, type PaymentRequired } from '@latchkey/x402/client'
import type { CallToolResult, Client } from '@modelcontextprotocol/client'
import { payingCallTool, paymentKey, paymentOf, paymentResponseKey } from './client/index.js'
import {
  buyerOf,
  cent,
  connect,
  earned,
  type Market,
  openGate,
  openMarket,
  requirementOf,
  text,
} from './market.test.helper.js'
import { messageBounds, paymentIn, paymentText } from './wire/ToolMessage.js'

const errorKey = 'x402/error'
const description = 'The weather of São Paulo'

/** Registers a seller that neither reads objects nor writes structured content. */
async function theirSeller(t: TestContext, market: Market, shown: unknown[]): Promise<Client> {
  const resource = { url: 'x402://forecast', description, mimeType: 'application/json' }
  const accepts = [requirementOf(market)]
  const ask = (error: string): CallToolResult => {
    const payload = { x402Version: 2, error, resource, accepts }
    return { isError: true, _meta: { [errorKey]: payload }, content: [{ type: 'text', text: JSON.stringify(payload) }] }
  }
  return connect(t, (server) =>
    server.registerTool('forecast', {}, async ({ mcpReq }) => {
      const token = mcpReq._meta?.[paymentKey]
      shown.push(token)
      if (typeof token !== 'string') return ask('PAYMENT_REQUIRED')
      const payment = JSON.parse(atob(token)) as PaymentPayload
      assert.equal((payment.resource as { description: string }).description, description)
      const settled = await market.facilitator.settle(payment, payment.accepted, {})
      if (!settled.success) return ask(settled.errorReason ?? 'SETTLEMENT_FAILED')
      return { ...text('sunny'), _meta: { [paymentResponseKey]: settled } }
    }),
  )
}

/** Pays as their client does. */
async function theirPurchase(client: Client, market: Market): Promise<CallToolResult> {
  const unpaid = await client.callTool({ name: 'forecast' })
  const required = unpaid._meta?.[errorKey] as PaymentRequired
  assert.ok(unpaid.isError && required.accepts.length > 0)
  const { header } = await buyerOf(market).pay(required)
  const token = btoa(JSON.stringify(decodePayment(header)))
  return client.callTool({ name: 'forecast', _meta: { [paymentKey]: token } })
}

test('our buyer pays their seller with a text, once', async (t) => {
  const market = await openMarket(t)
  const shown: unknown[] = []
  const client = await theirSeller(t, market, shown)
  const result = await payingCallTool(client, buyerOf(market), { server: 'shop' })({ name: 'forecast' })
  assert.deepEqual(result.content, text('sunny').content)
  assert.equal(paymentOf(result)?.state, 'settled')
  assert.deepEqual(
    shown.map((one) => typeof one),
    ['undefined', 'string'],
  )
  assert.equal(await earned(market), cent)
})

test('their buyer pays our seller, which announces its price in tools/list', async (t) => {
  const market = await openMarket(t)
  const tools = { forecast: { accepts: { price: '$0.01', payTo: market.payTo }, description } }
  const gate = await openGate(t, market, { tools })
  let runs = 0
  const client = await connect(t, (server) =>
    gate.registerTool(server, 'forecast', {}, () => {
      runs++
      return text('sunny')
    }),
  )
  const [tool] = (await client.listTools()).tools
  assert.equal(tool!._meta?.['agents-x402/paymentRequired'], true)
  assert.equal(tool!._meta?.['agents-x402/priceUSD'], 0.01)
  const result = await theirPurchase(client, market)
  assert.deepEqual(result.content, text('sunny').content)
  const receipt = result._meta?.[paymentResponseKey] as { success: boolean } | undefined
  assert.equal(receipt?.success, true)
  assert.deepEqual([runs, await earned(market)], [1, cent])
})

test('the price is the same in every place, and a price chosen by a function is not announced', async (t) => {
  const market = await openMarket(t)
  const gate = await openGate(t, market, {
    tools: { forecast: { accepts: { price: () => '$0.01', payTo: market.payTo } } },
  })
  const client = await connect(t, (server) => gate.registerTool(server, 'forecast', {}, () => text('sunny')))
  const [tool] = (await client.listTools()).tools
  assert.deepEqual(tool!._meta, { 'agents-x402/paymentRequired': true })
  const { _meta, structuredContent } = await client.callTool({ name: 'forecast' })
  assert.deepEqual(_meta?.[errorKey], structuredContent)
})

test('a payment that their seller could not read is sent again as a text, without another payment', async (t) => {
  const market = await openMarket(t)
  const shown: unknown[] = []
  const client = await theirSeller(t, market, shown)
  const buyer = buyerOf(market)
  let isDown = true
  // The connection breaks with the first payment, before the seller sees it.
  const broken: Pick<Client, 'callTool'> = {
    callTool: async (params, options) => {
      if (isDown && params._meta?.[paymentKey] !== undefined) throw new Error('connection closed')
      return client.callTool(params, options)
    },
  }
  const options = { server: 'shop', repeatMs: 1 }
  await assert.rejects(payingCallTool(broken, buyer, options)({ name: 'forecast' }))
  isDown = false
  // A buyer that has not seen the price, as after a restart.
  const result = await payingCallTool(broken, buyer, options)({ name: 'forecast' })
  assert.deepEqual(result.content, text('sunny').content)
  assert.equal(buyer.payments.all().length, 1)
  assert.equal(await earned(market), cent)
})

test('a text that is not a payment opens nothing', async (t) => {
  const market = await openMarket(t)
  const gate = await openGate(t, market, { onError: () => {} })
  let runs = 0
  const client = await connect(t, (server) =>
    gate.registerTool(server, 'forecast', {}, () => {
      runs++
      return text('sunny')
    }),
  )
  const texts = ['', '-', 'e30=', 'bnVsbA==', 'W10=', btoa('{"x402Version":2}'), '\u0000', 'A'.repeat(100_000)]
  for (const token of texts) {
    const result = await client.callTool({ name: 'forecast', _meta: { [paymentKey]: token } })
    assert.equal(result.isError, true, token.slice(0, 20))
  }
  assert.deepEqual([runs, await earned(market)], [0, 0n])
})

test('a payment survives its text in both readings', () => {
  const payment = { a: 'São Paulo 日本 \u{1f600}', b: [1, null, { c: true }] }
  const encoded = paymentText(payment)
  assert.deepEqual(paymentIn(encoded), payment)
  assert.deepEqual(JSON.parse(atob(encoded)), payment)
  assert.deepEqual(paymentIn(btoa(JSON.stringify({ a: 'São' }))), { a: 'São' })
  const deep = `${'{"a":'.repeat(messageBounds.maxDepth + 1)}1${'}'.repeat(messageBounds.maxDepth + 1)}`
  assert.equal(paymentIn(btoa(deep)), undefined)
  assert.equal(paymentIn(btoa(`{"a":"${'x'.repeat(messageBounds.maxBytes)}"}`)), undefined)
})
