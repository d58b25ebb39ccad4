/** Tests paid tools over streamable HTTP, in both versions of the protocol. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { payingCallTool, paymentOf } from './client/index.js'
import { buyerOf, cent, earned, listen, openGate, openMarket, text } from './market.test.helper.js'
import { paymentKey } from './server/index.js'

const timeout = 120_000

const eras: { readonly [era: string]: ClientOptions } = {
  legacy: {},
  modern: { versionNegotiation: { mode: 'auto' } },
}
for (const [era, options] of Object.entries(eras)) {
  test(`over streamable HTTP, ${era}`, { timeout }, async (t) => {
    const market = await openMarket(t)
    const gate = await openGate(t, market)
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'shop', version: '1.0.0' })
      gate.registerTool(server, 'forecast', {}, () => text('sunny'))
      return server
    })
    t.after(() => handler.close())
    const url = `${await listen(t, (request) => handler.fetch(request))}/mcp`
    const client = new Client({ name: 'test', version: '1.0.0' }, options)
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    t.after(() => client.close())
    assert.equal(client.getProtocolEra(), era)
    const buyer = buyerOf(market)
    const payments: unknown[] = []
    const callTool = payingCallTool(client, buyer, { server: url, onPayment: ({ payload }) => payments.push(payload) })
    const result = await callTool({ name: 'forecast' })
    assert.deepEqual(result.content, text('sunny').content)
    assert.deepEqual([paymentOf(result)?.state, paymentOf(result)?.receipt?.success], ['settled', true])
    const { host } = new URL(url)
    assert.ok(paymentOf(result)?.payment.url.startsWith(`mcp://${host}/mcp/tools/forecast?`))
    const replayed = await client.callTool({ name: 'forecast', _meta: { [paymentKey]: payments[0] } })
    assert.equal((replayed.structuredContent as { error: string }).error, 'payment_already_used')
    assert.equal(await earned(market), cent)
  })
}

test('a tool that first asks its user for input is charged once it has answered', { timeout }, async (t) => {
  const market = await openMarket(t)
  const gate = await openGate(t, market)
  const asked: bigint[] = []
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    gate.registerTool(server, 'forecast', {}, async ({ mcpReq }) => {
      const answer = acceptedContent<{ city: string }>(mcpReq.inputResponses, 'city')
      if (answer !== undefined) return text(`sunny in ${answer.city}`)
      asked.push(await earned(market))
      const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } } as const
      return inputRequired({ inputRequests: { city: inputRequired.elicit({ message: 'Where?', requestedSchema }) } })
    })
    return server
  })
  t.after(() => handler.close())
  const url = await listen(t, (request) => handler.fetch(request))
  const capabilities = { elicitation: { form: {} } }
  const client = new Client({ name: 'test', version: '1.0.0' }, { ...eras['modern'], capabilities })
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { city: 'Oslo' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.after(() => client.close())
  const result = await payingCallTool(client, buyerOf(market), { server: url })({ name: 'forecast' })
  assert.deepEqual(result.content, text('sunny in Oslo').content)
  assert.deepEqual([asked, await earned(market), paymentOf(result)?.state], [[0n], cent, 'settled'])
})
