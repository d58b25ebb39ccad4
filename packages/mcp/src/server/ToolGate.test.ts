/** Tests what a seller of tools guarantees, with a plain client of the official SDK and handmade payments. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SignedReceipt } from '@latchkey/algorand'
import { type Buyer, decodePayment, type PaymentRequired } from '@latchkey/x402/client'
import { type FacilitatorClient, ReceiptSigner } from '@latchkey/x402/server'
import type { CallToolResult, Client } from '@modelcontextprotocol/client'
import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server'
import { parsePaymentRequired } from '@x402/core/schemas'
import { payingCallTool } from '../client/index.js'
import { buyerOf, cent, connect, earned, type Market, openGate, openMarket, text } from '../market.test.helper.js'
import { McpError, paymentKey, paymentResponseKey, ToolGate, type ToolGateOptions } from './index.js'

type Shop = { client: Client; market: Market; buyer: Buyer; runs: () => number }

type ShopOptions = Partial<ToolGateOptions> & {
  facilitate?: (client: FacilitatorClient) => Partial<FacilitatorClient>
  serve?: (run: number) => CallToolResult | Promise<CallToolResult>
}

/** Opens a shop whose `forecast` tool takes a city. */
async function openShop(t: TestContext, { facilitate, serve, ...options }: ShopOptions = {}): Promise<Shop> {
  const market = await openMarket(t)
  const { facilitator } = market
  const facilitators = { ...facilitator, ...facilitate?.(facilitator) }
  const gate = await openGate(t, { ...market, facilitator: facilitators }, { onError: () => {}, ...options })
  let runs = 0
  const inputSchema = fromJsonSchema<{ city?: string }>({ type: 'object', properties: { city: { type: 'string' } } })
  const client = await connect(t, (server: McpServer) =>
    gate.registerTool(server, 'forecast', { inputSchema }, ({ city = 'Lisbon' }) => {
      runs++
      return serve === undefined ? text(`sunny in ${city}, for the ${runs}. time`) : serve(runs)
    }),
  )
  return { client, market, buyer: buyerOf(market), runs: () => runs }
}

const forecast = (client: Client, payment?: unknown, args: object = {}, name = 'forecast'): Promise<CallToolResult> =>
  client.callTool({
    name,
    arguments: args as Record<string, unknown>,
    ...(payment === undefined ? {} : { _meta: { [paymentKey]: payment } }),
  })

const required = ({ structuredContent }: CallToolResult): PaymentRequired => structuredContent as PaymentRequired

/** Makes the payment of a buyer, both for the first call and for a repeat. */
async function payFor(buyer: Buyer, result: CallToolResult): Promise<{ first: object; again: object; id: string }> {
  const { payment, header, repeatHeader } = await buyer.pay(required(result))
  return { first: decodePayment(header), again: decodePayment(repeatHeader), id: payment.transactionId }
}

const receiptOf = ({ _meta }: CallToolResult) =>
  _meta?.[paymentResponseKey] as { success: boolean; transaction: string; errorReason?: string } | undefined

const errorOf = (result: CallToolResult): unknown =>
  (result.structuredContent as { error?: unknown } | undefined)?.error

test('a call without a payment gets the price in both forms of the transport, and does not run', async (t) => {
  const { client, market, runs } = await openShop(t)
  const result = await forecast(client)
  assert.equal(result.isError, true)
  const [first] = result.content as [{ type: 'text'; text: string }]
  assert.deepEqual(JSON.parse(first.text), result.structuredContent)
  assert.ok(parsePaymentRequired(result.structuredContent).success)
  const { x402Version, error, resource, accepts } = required(result)
  assert.deepEqual([x402Version, error], [2, 'Payment required'])
  const description = 'The weather of tomorrow'
  assert.deepEqual(resource, { url: 'mcp://tool/forecast', description, mimeType: 'application/json' })
  assert.deepEqual([...new Set(accepts.map(({ amount, payTo }) => `${amount} ${payTo}`))], [`10000 ${market.payTo}`])
  assert.deepEqual([runs(), result._meta], [0, { 'x402/error': result.structuredContent }])
})

test('with a public address, offers name it and describe the tool as it is registered', async (t) => {
  const market = await openMarket(t)
  const accepts = { price: '$0.01', payTo: market.payTo }
  const tools = {
    forecast: { accepts, example: { city: 'Rome' }, outputExample: { sky: 'blue' }, serviceName: 'Weather Inc' },
    report: { accepts },
  }
  const gate = await openGate(t, market, { tools, url: 'https://shop.example/mcp' })
  const properties = { city: { type: 'string' } } as const
  const inputSchema = fromJsonSchema<{ city?: string }>({ type: 'object', properties })
  let runs = 0
  const client = await connect(t, (server) => {
    gate.registerTool(server, 'forecast', { inputSchema, description: 'Registered' }, () => text(`run ${++runs}`))
    gate.registerTool(server, 'report', {}, () => text(`run ${++runs}`))
  })
  const unpaid = await forecast(client)
  const { resource, extensions } = required(unpaid)
  assert.deepEqual(
    [resource.url, (resource as { serviceName?: string }).serviceName],
    ['https://shop.example/mcp#forecast', 'Weather Inc'],
  )
  const { info } = extensions!['bazaar'] as { info: { input: object; output: object } }
  const transport = 'streamable-http'
  const described = { type: 'mcp', toolName: 'forecast', description: 'Registered', transport }
  assert.deepEqual(info.input, { ...described, inputSchema: { type: 'object', properties }, example: { city: 'Rome' } })
  assert.deepEqual(info.output, { type: 'json', example: { sky: 'blue' } })
  const { first } = await payFor(buyerOf(market), unpaid)
  const other = await forecast(client, first, {}, 'report')
  assert.deepEqual([other.isError, errorOf(other), runs], [true, 'invalid_payload', 0])
  assert.deepEqual((await forecast(client, first)).content, text('run 1').content)
  for (const url of ['shop.example', 'ftp://shop.example', 'https://shop.example/mcp#a', 'https://a:b@shop.example']) {
    await assert.rejects(openGate(t, market, { url }), { code: 'invalid_tool_option' })
  }
})

test('a paid result has a receipt that the seller has signed, which the buyer keeps', async (t) => {
  const signer = ReceiptSigner.fromSeed(new Uint8Array(32).fill(7))
  for (const [url, resourceUrl] of [
    [undefined, 'mcp://tool/forecast'],
    ['https://shop.example/mcp', 'https://shop.example/mcp#forecast'],
  ]) {
    const { client, buyer } = await openShop(t, { receipts: signer, url })
    const result = await payingCallTool(client, buyer, { server: 'shop' })({ name: 'forecast', arguments: {} })
    const { extensions } = receiptOf(result) as unknown as {
      extensions: { 'offer-receipt': { info: { receipt: { signature: string } } } }
    }
    const { signature } = extensions['offer-receipt'].info.receipt
    const verified = SignedReceipt.verify(signature)
    const [payment] = buyer.payments.all()
    assert.deepEqual(
      [verified.signer, verified.receipt.resourceUrl, verified.receipt.payer, verified.receipt.transaction],
      [signer.address, resourceUrl, buyer.address, payment!.transactionId],
    )
    assert.equal(payment!.signedReceipt, signature)
  }
})

test('a hook grants calls without a payment, and one that fails opens nothing', async (t) => {
  let decide: () => unknown = () => ({ grantAccess: true })
  const { client, market, runs } = await openShop(t, { onProtectedRequest: (() => decide()) as never })
  const granted = await forecast(client)
  assert.deepEqual([granted.isError, granted.content], [undefined, text('sunny in Lisbon, for the 1. time').content])
  assert.deepEqual([receiptOf(granted), await earned(market)], [undefined, 0n])
  decide = () => ({ abort: true, reason: 'not for you' })
  const refused = await forecast(client)
  assert.deepEqual([refused.isError, errorOf(refused)], [true, 'not for you'])
  for (const wrong of [() => assert.fail('broken'), () => 'yes', () => ({ grantAccess: 'yes' })]) {
    decide = wrong
    assert.equal((await forecast(client)).isError, true)
  }
  assert.equal(runs(), 1)
  decide = () => undefined
  assert.equal(errorOf(await forecast(client)), 'Payment required')
})

test('one payment opens one call: it runs once, and only its buyer gets the answer again', async (t) => {
  const { client, market, buyer, runs } = await openShop(t)
  const { first, again, id } = await payFor(buyer, await forecast(client))
  const paid = await forecast(client, first)
  assert.deepEqual(paid.content, text('sunny in Lisbon, for the 1. time').content)
  assert.deepEqual([receiptOf(paid)?.success, receiptOf(paid)?.transaction], [true, id])
  const replayed = await forecast(client, first)
  assert.deepEqual([replayed.isError, errorOf(replayed)], [true, 'payment_already_used'])
  const repeated = await forecast(client, again)
  assert.deepEqual([repeated.content, receiptOf(repeated)?.transaction], [paid.content, id])
  assert.deepEqual([runs(), await earned(market)], [1, cent])
})

test('of several concurrent calls with one payment, one runs', async (t) => {
  const { client, market, buyer, runs } = await openShop(t)
  const { first } = await payFor(buyer, await forecast(client))
  const results = await Promise.all(Array.from({ length: 8 }, () => forecast(client, first)))
  assert.equal(results.filter(({ isError }) => isError !== true).length, 1)
  assert.deepEqual([runs(), await earned(market)], [1, cent])
})

test('a payment is bound to the arguments that it was first sent with', async (t) => {
  const { client, buyer, runs } = await openShop(t)
  const { first, again } = await payFor(buyer, await forecast(client, undefined, { city: 'Oslo' }))
  const paid = await forecast(client, first, { city: 'Oslo' })
  const other = await forecast(client, again, { city: 'Rome' })
  assert.deepEqual([other.isError, errorOf(other), receiptOf(other)], [true, 'payment_already_used', undefined])
  assert.equal(required(other).resource?.url, 'mcp://tool/forecast')
  assert.deepEqual((await forecast(client, again, { city: 'Oslo' })).content, paid.content)
  assert.equal(runs(), 1)
})

test('a payment for one tool does not open another, nor one for a cheap call an expensive one', async (t) => {
  const market = await openMarket(t)
  const { payTo } = market
  const tools = {
    forecast: { accepts: { price: '$0.01', payTo } },
    report: { accepts: { price: '$0.01', payTo } },
    search: {
      accepts: { price: (call: { arguments: unknown }) => `$0.0${(call.arguments as { n: number }).n}`, payTo },
    },
  }
  const gate = await openGate(t, market, { tools })
  const ran: string[] = []
  const inputSchema = fromJsonSchema<{ n?: number }>({ type: 'object', properties: { n: { type: 'number' } } })
  const client = await connect(t, (server) => {
    for (const name of Object.keys(tools)) {
      gate.registerTool(server, name, { inputSchema }, ({ n = 1 }) => {
        ran.push(`${name} ${n}`)
        return text('done')
      })
    }
  })
  const buyer = buyerOf(market)
  const { first } = await payFor(buyer, await forecast(client))
  const other = await forecast(client, first, {}, 'report')
  assert.deepEqual([other.isError, errorOf(other)], [true, 'invalid_payload'])
  const cheap = await forecast(client, undefined, { n: 1 }, 'search')
  const expensive = await forecast(client, undefined, { n: 9 }, 'search')
  assert.deepEqual([required(cheap).accepts[0]?.amount, required(expensive).accepts[0]?.amount], ['10000', '90000'])
  const { first: quoted } = await payFor(buyer, cheap)
  assert.equal(errorOf(await forecast(client, quoted, { n: 9 }, 'search')), 'No matching payment requirements')
  assert.deepEqual(ran, [])
  assert.notEqual((await forecast(client, quoted, { n: 1 }, 'search')).isError, true)
  assert.deepEqual([ran, await earned(market)], [['search 1'], cent])
})

test('a failed call is not charged, and the same payment opens the next one', async (t) => {
  const fail = [
    () => assert.fail('out of order'),
    () => ({ ...text('out of order'), isError: true }),
    () => text('sunny'),
  ] as const
  const { client, market, buyer } = await openShop(t, { serve: (run) => fail[run - 1]!() })
  const { first } = await payFor(buyer, await forecast(client))
  for (let times = 1; times <= 2; times++) {
    const failed = await forecast(client, first)
    assert.deepEqual([failed.content, failed.isError, failed._meta], [text('out of order').content, true, undefined])
    assert.equal(await earned(market), 0n)
  }
  assert.deepEqual((await forecast(client, first)).content, text('sunny').content)
  assert.equal(await earned(market), cent)
})

test('a tool that settles first is charged once when it fails, with a receipt', async (t) => {
  const market = await openMarket(t)
  const tools = { forecast: { accepts: { price: '$0.01', payTo: market.payTo, paymentFlow: 'upfront' as const } } }
  const gate = await openGate(t, market, { tools })
  const balances: bigint[] = []
  const client = await connect(t, (server) =>
    gate.registerTool(server, 'forecast', {}, async () => {
      balances.push(await earned(market))
      if (balances.length === 1) throw new Error('out of order')
      return text('sunny')
    }),
  )
  const { first, again, id } = await payFor(buyerOf(market), await forecast(client))
  const failed = await forecast(client, first)
  assert.deepEqual([failed.isError, receiptOf(failed)?.transaction], [true, id])
  assert.deepEqual((await forecast(client, again)).content, text('sunny').content)
  assert.deepEqual([balances, await earned(market)], [[cent, cent], cent])
})

test('a payment that was charged for a failed call does not open a call with other arguments', async (t) => {
  const market = await openMarket(t)
  const price = (call: { arguments: unknown }) => `$0.0${(call.arguments as { n: number }).n}`
  const tools = { search: { accepts: { price, payTo: market.payTo, paymentFlow: 'upfront' as const } } }
  const gate = await openGate(t, market, { tools })
  const ran: number[] = []
  const inputSchema = fromJsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } } })
  const client = await connect(t, (server) =>
    gate.registerTool(server, 'search', { inputSchema }, ({ n }) => {
      ran.push(n)
      if (ran.length === 1) throw new Error('out of order')
      return text(`found ${n}`)
    }),
  )
  const search = (n: number, payment?: unknown) => forecast(client, payment, { n }, 'search')
  const { first, again } = await payFor(buyerOf(market), await search(1))
  assert.equal((await search(1, first)).isError, true)
  const expensive = await search(9, again)
  assert.deepEqual([expensive.isError, errorOf(expensive), ran], [true, 'payment_already_used', [1]])
  assert.deepEqual(new Set(required(expensive).accepts.map(({ amount }) => amount)), new Set(['90000']))
  assert.deepEqual((await search(1, again)).content, text('found 1').content)
  assert.deepEqual([ran, await earned(market)], [[1, 1], cent])
})

test('a result that violates the schema of the tool is not charged', async (t) => {
  const market = await openMarket(t)
  const gate = await openGate(t, market)
  const outputs: (object | undefined)[] = [{ degrees: 'hot' }, undefined, { degrees: 21 }]
  const client = await connect(t, (server) => {
    const properties = { degrees: { type: 'number' } } as const
    const outputSchema = fromJsonSchema({ type: 'object', properties, required: ['degrees'] })
    gate.registerTool(server, 'forecast', { outputSchema }, () => {
      const structuredContent = outputs.shift()
      return { ...text('21'), ...(structuredContent === undefined ? {} : { structuredContent }) }
    })
  })
  // From now on the client also validates results against the schema.
  await client.listTools()
  const { first } = await payFor(buyerOf(market), await forecast(client))
  for (let times = 1; times <= 2; times++) assert.equal((await forecast(client, first)).isError, true)
  assert.equal(await earned(market), 0n)
  assert.deepEqual((await forecast(client, first)).structuredContent, { degrees: 21 })
  assert.equal(await earned(market), cent)
})

test('a client that disconnects gets the answer later with the same payment, which is charged once', async (t) => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { client, market, buyer, runs } = await openShop(t, { serve: () => held.then(() => text('sunny')) })
  const { first, again, id } = await payFor(buyer, await forecast(client))
  const abort = new AbortController()
  const _meta = { [paymentKey]: first }
  const lost = client.callTool({ name: 'forecast', arguments: {}, _meta }, { signal: abort.signal })
  while (runs() === 0) await new Promise((resolve) => setImmediate(resolve))
  abort.abort()
  await assert.rejects(lost)
  release()
  while ((await earned(market)) === 0n) await new Promise((resolve) => setImmediate(resolve))
  let result = await forecast(client, again)
  // The failed delivery may be recorded a moment later.
  while (receiptOf(result)?.errorReason === 'settlement_pending') result = await forecast(client, again)
  assert.deepEqual([result.content, receiptOf(result)?.transaction], [text('sunny').content, id])
  assert.deepEqual([runs(), await earned(market)], [1, cent])
})

test('an updated tool still has to be paid for, and is validated against its current schema', async (t) => {
  const market = await openMarket(t)
  const gate = await openGate(t, market)
  let runs = 0
  const object = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] } as const
  const client = await connect(t, (server) => {
    const tool = gate.registerTool(server, 'forecast', { description: 'old' }, () => text('old'))
    tool.update({
      callback: () => ({ ...text('new'), structuredContent: ++runs === 1 ? { sky: 1 } : { sky: 'blue' } }),
      outputSchema: fromJsonSchema(object),
      description: 'new',
    })
    tool.disable()
    tool.enable()
  })
  assert.equal((await client.listTools()).tools[0]!.description, 'new')
  const asked = await forecast(client)
  assert.deepEqual([asked.isError, errorOf(asked), runs], [true, 'Payment required', 0])
  const { first } = await payFor(buyerOf(market), asked)
  assert.equal((await forecast(client, first)).isError, true)
  assert.equal(await earned(market), 0n)
  assert.deepEqual((await forecast(client, first)).structuredContent, { sky: 'blue' })
  assert.deepEqual([runs, await earned(market)], [2, cent])
})

test('a result that is too large is not charged', async (t) => {
  const { client, market, buyer } = await openShop(t, { maxResultBytes: 1_000, serve: () => text('x'.repeat(1_000)) })
  const { first } = await payFor(buyer, await forecast(client))
  const result = await forecast(client, first)
  assert.deepEqual([result.isError, errorOf(result), await earned(market)], [true, 'result_too_large', 0n])
})

test('an answer is kept until its settlement is decided, and no buyer is asked to pay for it again', async (t) => {
  let isPending = true
  const pending = (client: FacilitatorClient): Partial<FacilitatorClient> => ({
    settle: async (payload, requirements, options) => {
      if (!isPending) return client.settle(payload, requirements, options)
      const { network } = requirements
      return { success: false, errorReason: 'settlement_pending', transaction: '', network }
    },
  })
  const { client, market, buyer, runs } = await openShop(t, { facilitate: pending })
  const { first, again, id } = await payFor(buyer, await forecast(client))
  const undecided = await forecast(client, first)
  assert.deepEqual([undecided.isError, receiptOf(undecided)?.errorReason], [true, 'settlement_pending'])
  assert.equal((undecided.structuredContent as { accepts?: unknown }).accepts, undefined)
  isPending = false
  const paid = await forecast(client, again)
  assert.deepEqual(paid.content, text('sunny in Lisbon, for the 1. time').content)
  assert.deepEqual([receiptOf(paid)?.transaction, runs(), await earned(market)], [id, 1, cent])
})

test('a failed settlement returns the price and the reason, not the answer', async (t) => {
  const { client, market, buyer } = await openShop(t, {
    facilitate: () => ({
      settle: async (_, { network }) => ({ success: false, errorReason: 'no_funds', transaction: '', network }),
    }),
  })
  const { first } = await payFor(buyer, await forecast(client))
  const result = await forecast(client, first)
  assert.deepEqual([result.isError, receiptOf(result)?.success], [true, false])
  assert.ok(parsePaymentRequired(result.structuredContent).success)
  assert.ok(!JSON.stringify(result).includes('sunny'))
  assert.equal(await earned(market), 0n)
})

test('while no facilitator answers, a call says when to retry, and does not run', async (t) => {
  let isDown = false
  const down = (client: FacilitatorClient): Partial<FacilitatorClient> => ({
    verify: async (...args) => (isDown ? Promise.reject(new Error('down')) : client.verify(...args)),
  })
  const { client, buyer, runs } = await openShop(t, { facilitate: down })
  const { first } = await payFor(buyer, await forecast(client))
  isDown = true
  const result = await forecast(client, first)
  assert.equal(result.isError, true)
  assert.equal(runs(), 0)
  assert.equal((result.structuredContent as { accepts?: unknown }).accepts, undefined)
})

test('a malformed payment of any kind is refused with the price', async (t) => {
  const { client, buyer, runs } = await openShop(t)
  const { first } = await payFor(buyer, await forecast(client))
  let deep: unknown = {}
  for (let depth = 0; depth < 5_000; depth++) deep = { deep }
  const polluted = JSON.parse(JSON.stringify(first).replace('{', '{"__proto__":{"x402Version":2},')) as object
  const payments = [
    ...[null, 1, 'x', [], {}, deep, polluted, Array.from({ length: 20_000 }, () => 0)],
    { ...first, extensions: { more: 'x'.repeat(100_000) } },
    { ...first, x402Version: 1 },
    { ...first, resource: { url: 'mcp://tool/other' } },
    { ...first, accepted: { ...(first as { accepted: object }).accepted, amount: '1' } },
  ]
  for (const payment of payments) {
    const result = await forecast(client, payment)
    assert.equal(result.isError, true)
    assert.ok(['invalid_payload', 'No matching payment requirements'].includes(String(errorOf(result))), `${payment}`)
  }
  assert.equal(runs(), 0)
  assert.notEqual((await forecast(client, first)).isError, true)
})

test('a receipt that the tool made up is removed', async (t) => {
  const made = { [paymentResponseKey]: { success: true, transaction: 'MADEUP' }, mine: 1 }
  const { client, buyer } = await openShop(t, {
    serve: (run) => ({ ...text('x'), _meta: made, ...(run === 1 ? { isError: true } : {}) }),
  })
  const { first, id } = await payFor(buyer, await forecast(client))
  assert.deepEqual((await forecast(client, first))._meta, { mine: 1 })
  const { _meta } = await forecast(client, first)
  assert.deepEqual([_meta?.['mine'], receiptOf({ content: [], _meta })?.transaction], [1, id])
})

test('names and tools that cannot be sold are errors at the start', async (t) => {
  const market = await openMarket(t)
  const { chain, facilitator, payTo } = market
  const accepts = { price: '$0.01', payTo }
  const open = (tools: ToolGateOptions['tools']): Promise<ToolGate> =>
    ToolGate.open({ tools, chains: chain, facilitators: facilitator })
  for (const name of ['', '.', '..', 'a b', 'a/b', 'a?b', ':id', '*', 'é', 'x'.repeat(129)]) {
    await assert.rejects(open({ [name]: { accepts } }), { code: 'invalid_tool_option' }, name)
  }
  await assert.rejects(open({}), McpError)
  await assert.rejects(open({ a: { accepts }, A: { accepts } }), { code: 'invalid_route' })
  await assert.rejects(open({ a: { accepts: { ...accepts, price: '$0' } } }), { code: 'invalid_gate_option' })
  await assert.rejects(open({ a: {} as never }), { code: 'invalid_gate_option' })
  const gate = await openGate(t, market)
  await connect(t, (server) =>
    assert.throws(() => gate.registerTool(server, 'other', {}, () => text('')), { code: 'invalid_tool_option' }),
  )
})
