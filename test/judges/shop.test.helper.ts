/** A described shop with a facilitator that catalogues it, for checkers by other authors. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { ToolGate } from '@latchkey/mcp/server'
import { decodeRequired, type PaymentRequired, paymentRequired, Signer } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/express'
import { createFacilitatorHandler, Facilitator, type FacilitatorOptions } from '@latchkey/x402/facilitator'
import { Gate, type GateOptions, ReceiptSigner } from '@latchkey/x402/server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import express from 'express'
import { loadScript } from '../docs/Reference.test.helper.js'
import { keyOf, listen, openTrade, price, type Trade } from '../x402/trade.test.helper.js'

export const { genesisHash } = Network.testnet

export type Shop = {
  readonly trade: Trade
  readonly facilitator: Facilitator
  readonly facilitatorUrl: string
  readonly url: string
}

/** A request of each route of the shop. */
export const requests = [
  ['GET', '/weather'],
  ['GET', '/weather/Rome'],
  ['POST', '/notes'],
  ['PUT', '/notes/Rome'],
  ['DELETE', '/notes/Rome'],
] as const

/** Sells GET, POST, PUT and DELETE routes, with and without parameters in the path. */
export async function openShop(
  t: TestContext,
  options: Pick<GateOptions, 'networkIds'> & Pick<FacilitatorOptions, 'networkIds'> = {},
): Promise<Shop> {
  const trade = await openTrade(t, { genesisHash })
  const { facilitator, facilitatorUrl } = await startFacilitator(t, trade, options)
  const accepts = { network: trade.chain.caip2, price, payTo: String(trade.seller.addr) }
  const text = { type: 'string' }
  const output = { schema: { type: 'object', properties: { weather: text } }, example: { weather: 'sunny' } }
  const body = { type: 'object', properties: { note: text }, required: ['note'] }
  const path = { type: 'object', properties: { city: text } }
  const note = { body, example: { body: { note: 'rain' } } }
  const gate = await Gate.open({
    routes: {
      'GET /weather': {
        accepts,
        description: 'The weather',
        input: { query: { type: 'object', properties: { units: text } }, example: { query: { units: 'celsius' } } },
        output,
      },
      'GET /weather/:city': { accepts, description: 'The weather of a city', input: { path }, output },
      'POST /notes': { accepts, description: 'A new note', input: note, output },
      'PUT /notes/:city': { accepts, description: 'A changed note', input: { ...note, path }, output },
      'DELETE /notes/:city': { accepts, description: 'A deleted note', input: { path }, output },
    },
    service: { serviceName: 'Weather Inc', tags: ['weather'] },
    discovery: { title: 'Weather', contactEmail: 'shop@example.com', guidance: 'Ask for the weather first.' },
    facilitators: facilitatorUrl,
    chains: trade.chain,
    networkIds: options.networkIds,
  })
  t.after(() => gate.close())
  const app = express()
  app.use(paymentGate(gate))
  app.use((_, response) => void response.json({ weather: 'sunny' }))
  return { trade, facilitator, facilitatorUrl, url: await listen(t, app) }
}

async function startFacilitator(
  t: TestContext,
  { chain, sponsor }: Trade,
  { networkIds }: Pick<FacilitatorOptions, 'networkIds'>,
) {
  const feePayer = Signer.fromSecretKey(keyOf(sponsor))
  const facilitator = new Facilitator({ chains: [chain], feePayer, networkIds, discovery: { allowPrivate: true } })
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(async () => {
    await server.stop()
    await facilitator.stop()
  })
  return { facilitator, facilitatorUrl: `http://127.0.0.1:${port}` }
}

/** Sells the tool `forecast` at an MCP server with a public address. */
export async function openTools(t: TestContext, { trade, facilitatorUrl }: Shop): Promise<string> {
  let handle: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 })
  const server = serve({ fetch: (request) => handle(request), port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const accepts = { price, payTo: String(trade.seller.addr) }
  const described = {
    description: 'The weather of tomorrow',
    example: { city: 'Rome' },
    outputExample: { sky: 'blue' },
  }
  const gate = await ToolGate.open({
    tools: { forecast: { accepts, ...described } },
    url,
    facilitators: facilitatorUrl,
    chains: trade.chain,
    receipts: ReceiptSigner.fromSeed(new Uint8Array(32).fill(9)),
  })
  t.after(() => gate.close())
  const object = (name: string) =>
    fromJsonSchema<{ [name: string]: string }>({
      type: 'object',
      properties: { [name]: { type: 'string' } },
      required: [name],
    })
  const handler = createMcpHandler(() => {
    const tools = new McpServer({ name: 'shop', version: '1.0.0' })
    const config = { inputSchema: object('city'), outputSchema: object('sky') }
    gate.registerTool(tools, 'forecast', config, () => ({
      content: [{ type: 'text', text: 'blue' }],
      structuredContent: { sky: 'blue' },
    }))
    return tools
  })
  t.after(() => handler.close())
  handle = (request) => handler.fetch(request)
  return url
}

/** Calls the tool without a payment. */
export async function toolOffer(t: TestContext, url: string): Promise<PaymentRequired> {
  const client = await toolClient(t, url)
  const { structuredContent } = await client.callTool({ name: 'forecast', arguments: { city: 'Rome' } })
  return structuredContent as unknown as PaymentRequired
}

export async function toolClient(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.after(() => client.close())
  return client
}

/** The offer for a request without a payment. */
export async function offerOf(url: string, method = 'GET'): Promise<PaymentRequired> {
  const { headers } = await fetch(url, { method })
  return decodeRequired(headers.get(paymentRequired) ?? '')
}

type Obtained = { readonly python?: string; readonly problem?: string }

const { obtainPython } = await loadScript<{ obtainPython: (requirements: string) => Obtained }>('obtain/python.mjs')

export { obtainPython }

/** Passes on only what finding programs requires: with a proxy, the loopback interface would not be reachable. */
export function environmentOf(more: { [name: string]: string } = {}): { [name: string]: string } {
  return { PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1', ...more }
}

export function programPath(name: string): string {
  return fileURLToPath(new URL(`../../x402/python/${name}.py`, import.meta.url))
}

/** Runs a program of Python and returns its output, whatever its exit code is. */
export function runPython(python: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environmentOf(), timeout: 60_000, maxBuffer: 1e7 }
    const child = execFile(python, args, options, (error, stdout, stderr) => {
      if (stdout === '' && error !== null) reject(new Error(`${error.message}\n${stderr.slice(-2_000)}`))
      else resolve(stdout)
    })
    child.stdin!.end(input)
  })
}
