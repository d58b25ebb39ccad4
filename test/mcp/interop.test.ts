/**
 * Trades paid tools between our programs and programs made of published x402 packages, which have no MCP transport
 * here.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { payingCallTool, paymentKey, paymentOf, paymentResponseKey } from '@latchkey/mcp/client'
import { ToolGate } from '@latchkey/mcp/server'
import { newestModules } from '@latchkey/published'
import { Buyer, type PaymentPayload, Signer } from '@latchkey/x402/client'
import { type CallToolResult, Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import type { PaymentRequired, Network as PublishedNetwork } from '@x402/core/types'
import { ours, settingOf } from '../x402/interop.test.helper.js'
import { cent, keyOf, openTrade, possessions, price, type Trade } from '../x402/trade.test.helper.js'

const timeout = 60_000
const { caip2, genesisHash } = Network.testnet
const network = caip2 as PublishedNetwork
const sunny = { content: [{ type: 'text' as const, text: 'sunny' }] }

async function connect(t: TestContext, register: (server: McpServer) => unknown): Promise<Client> {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  register(server)
  const client = new Client({ name: 'test', version: '1.0.0' })
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  await client.connect(near)
  t.after(async () => {
    await client.close()
    await server.close()
  })
  return client
}

/** Starts our seller with our facilitator. */
async function sellOurs(t: TestContext, trade: Trade): Promise<Client> {
  const facilitators = await ours.facilitators['ours']!(t, trade)
  const tools = { forecast: { accepts: { price, payTo: String(trade.seller.addr) } } }
  const gate = await ToolGate.open({ tools, chains: trade.chain, facilitators })
  t.after(() => gate.close())
  return connect(t, (server) => gate.registerTool(server, 'forecast', {}, () => sunny))
}

/** Starts a seller as the transport describes it, from parts of the published package for sellers. */
async function sellTheirs(t: TestContext, trade: Trade): Promise<Client> {
  const url = await ours.facilitators['ours']!(t, trade)
  const { x402ResourceServer, HTTPFacilitatorClient, ServerScheme } = newestModules
  const shop = new x402ResourceServer(new HTTPFacilitatorClient({ url })).register(network, new ServerScheme())
  await shop.initialize()
  const payTo = String(trade.seller.addr)
  const accepts = await shop.buildPaymentRequirements({ scheme: 'exact', network, price, payTo })
  const ask = async (error: string): Promise<CallToolResult> => {
    const resource = { url: 'mcp://tool/forecast', description: 'weather', mimeType: 'application/json' }
    const required = await shop.createPaymentRequiredResponse(accepts, resource, error)
    const text = JSON.stringify(required)
    return { isError: true, structuredContent: required, content: [{ type: 'text', text }] }
  }
  return connect(t, (server) =>
    server.registerTool('forecast', {}, async ({ mcpReq }) => {
      const payment = mcpReq._meta?.[paymentKey] as PaymentPayload | undefined
      if (payment === undefined) return ask('Payment required to access this resource')
      const requirement = shop.findMatchingRequirements(accepts, payment)
      if (requirement === undefined) return ask('No matching payment requirements found')
      const { isValid, invalidReason = 'invalid' } = await shop.verifyPayment(payment, requirement)
      if (!isValid) return ask(invalidReason)
      const receipt = await shop.settlePayment(payment, requirement)
      return receipt.success ? { ...sunny, _meta: { [paymentResponseKey]: receipt } } : ask('Settlement failed')
    }),
  )
}

/** Pays as the transport describes it, with the published client. */
async function buyTheirs(client: Client, trade: Trade): Promise<CallToolResult> {
  const { buyerKey, algodUrl } = settingOf(trade, caip2)
  const { x402Client, ClientScheme, toClientAvmSigner } = newestModules
  const wallet = new x402Client().register(network, new ClientScheme(toClientAvmSigner(buyerKey), { algodUrl }))
  const unpaid = await client.callTool({ name: 'forecast' })
  assert.equal(unpaid.isError, true)
  const payment = await wallet.createPaymentPayload(unpaid.structuredContent as PaymentRequired)
  return client.callTool({ name: 'forecast', _meta: { [paymentKey]: payment } })
}

async function buyOurs(client: Client, { chain, buyer }: Trade): Promise<CallToolResult> {
  const signer = Signer.fromSecretKey(keyOf(buyer))
  const callTool = payingCallTool(client, new Buyer({ signer, chains: chain }), { server: 'shop' })
  const result = await callTool({ name: 'forecast' })
  assert.equal(paymentOf(result)?.state, 'settled')
  return result
}

const parties = { ours: [sellOurs, buyOurs], published: [sellTheirs, buyTheirs] } as const
for (const [sold, [sell]] of Object.entries(parties)) {
  for (const [bought, [, buy]] of Object.entries(parties)) {
    test(`seller ${sold}, buyer ${bought}`, { timeout }, async (t) => {
      const trade = await openTrade(t, { genesisHash })
      const before = await possessions(trade)
      const result = await buy(await sell(t, trade), trade)
      assert.deepEqual(result.content, sunny.content)
      const receipt = result._meta?.[paymentResponseKey] as { success: boolean; payer: string; transaction: string }
      assert.deepEqual([receipt.success, receipt.payer], [true, String(trade.buyer.addr)])
      const { confirmedRound } = await trade.algod.pendingTransactionInformation(receipt.transaction).do()
      assert.ok(confirmedRound! > 0n)
      const after = await possessions(trade)
      assert.deepEqual(after.buyer, [before.buyer[0], before.buyer[1]! - cent])
      assert.deepEqual(after.seller, [before.seller[0], cent])
    })
  }
}
