/** Paid tools over stdio, with a seller that crashes, and over streamable HTTP, in both eras of the protocol. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import type { Buyer } from '@latchkey/x402/client'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { LostToolResultError, payingCallTool, paymentOf } from './client/index.js'
import { buyerOf, cent, earned, type Market, openGate, openMarket, text } from './market.test.helper.js'
import { paymentKey } from './server/index.js'

const timeout = 120_000
const seller = fileURLToPath(new URL('./seller.test.helper.js', import.meta.url))

async function listen(t: TestContext, fetch: (request: Request) => Response | Promise<Response>): Promise<string> {
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A client of a seller of its own process. */
async function startSeller(t: TestContext, env: { [name: string]: string }): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [seller], env, stderr: 'inherit' }))
  t.after(() => client.close())
  return client
}

type Crash = { market: Market; buyer: Buyer; restart: (crash?: string) => Promise<Client>; runs: () => number }

async function openCrash(t: TestContext): Promise<Crash> {
  const market = await openMarket(t)
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-mcp-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const runsFile = join(folder, 'runs')
  const env = {
    NODE_URL: market.devnet.url,
    FACILITATOR_URL: await listen(t, createFacilitatorHandler({ facilitator: market.settler })),
    PAY_TO: market.payTo,
    CLAIMS: join(folder, 'claims.db'),
    RUNS: runsFile,
  }
  return {
    market,
    buyer: buyerOf(market),
    restart: (crash = '') => startSeller(t, { ...env, CRASH: crash }),
    runs: () => (existsSync(runsFile) ? readFileSync(runsFile, 'utf8').split('\n').length - 1 : 0),
  }
}

test('a seller that is killed after the settlement has the answer for the same payment', { timeout }, async (t) => {
  const { market, buyer, restart, runs } = await openCrash(t)
  const options = { server: 'shop', repeatMs: 1 }
  const lost = await payingCallTool(
    await restart('settled'),
    buyer,
    options,
  )({ name: 'forecast' }).catch((error) => error)
  assert.ok(lost instanceof LostToolResultError, String(lost))
  assert.deepEqual([lost.state, runs(), await earned(market)], ['settled', 1, cent])
  const result = await payingCallTool(await restart(), buyer, options)({ name: 'forecast' })
  assert.deepEqual(result.content, text('sunny').content)
  assert.deepEqual(
    [paymentOf(result)?.payment.transactionId, paymentOf(result)?.state],
    [lost.transactionId, 'settled'],
  )
  assert.deepEqual([runs(), await earned(market), buyer.payments.all().length], [1, cent, 1])
})

test('a seller that is killed before the settlement has charged nothing, and no other payment is made', {
  timeout,
}, async (t) => {
  const { market, buyer, restart, runs } = await openCrash(t)
  const options = { server: 'shop', repeatMs: 1 }
  const lost = await payingCallTool(
    await restart('handler'),
    buyer,
    options,
  )({ name: 'forecast' }).catch((error) => error)
  assert.ok(lost instanceof LostToolResultError, String(lost))
  assert.deepEqual([lost.state, await earned(market)], ['open', 0n])
  const callTool = payingCallTool(await restart(), buyer, options)
  // The claim of the process that was killed ends by its time only: until then the payment is neither served nor refused.
  const result = await callTool({ name: 'forecast' }).catch((error) => error)
  assert.ok(result instanceof LostToolResultError, String(result))
  assert.deepEqual([result.transactionId, result.state, runs()], [lost.transactionId, 'open', 1])
  assert.deepEqual([await earned(market), buyer.payments.all().length], [0n, 1])
})

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

test('a tool that asks its user something first is charged when it has answered', { timeout }, async (t) => {
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
