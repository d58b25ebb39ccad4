/** A devnet with a buyer, a seller and a facilitator, and pairs of clients and servers of the official SDK. */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { serve } from '@hono/node-server'
import { Devnet } from '@latchkey/devnet'
import { Buyer, type BuyerOptions, Chain, type PaymentRequirements, Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { type FacilitatorClient, localFacilitator } from '@latchkey/x402/server'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { cent, dollar, price } from './goods.test.helper.js'
import { ToolGate, type ToolGateOptions } from './server/index.js'

export { cent, dollar, price, text } from './goods.test.helper.js'

export type Market = {
  readonly devnet: Devnet
  readonly chain: Chain
  /** Holds five dollars and no spare ALGO. */
  readonly signer: Signer.Signer
  /** Can be paid in dollars. */
  readonly payTo: string
  readonly feePayer: Signer.Signer
  readonly facilitator: FacilitatorClient
  /** The facilitator behind the client above. */
  readonly settler: Facilitator
}

export async function openMarket(t: TestContext): Promise<Market> {
  const devnet = await Devnet.start({ port: 0, accounts: 1 })
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const [signer, seller, feePayer] = [newSigner(), newSigner(), newSigner()]
  devnet.fund(signer.address, { assets: [{ assetId: dollar, amount: 5_000_000n }] })
  devnet.fund(feePayer.address, { microAlgos: 10_000_000n })
  devnet.optIn(seller.address, dollar)
  const settler = new Facilitator({ chains: [chain], feePayer })
  t.after(async () => {
    await settler.stop()
    await devnet.stop()
  })
  const facilitator = localFacilitator(settler)
  return { devnet, chain, signer, payTo: seller.address, feePayer, facilitator, settler }
}

export function newSigner(): Signer.Signer {
  return Signer.fromSeed(new Uint8Array(randomBytes(32)))
}

/** Returns the balance of the seller, in millionths of a dollar. */
export async function earned({ chain, payTo }: Pick<Market, 'chain' | 'payTo'>): Promise<bigint> {
  const { holdings } = await chain.algod.accountWithHoldings(payTo)
  return holdings.find(({ assetId }) => assetId === dollar)?.amount ?? 0n
}

export function buyerOf({ signer, chain }: Market, options: Partial<BuyerOptions> = {}): Buyer {
  return new Buyer({ signer, chains: chain, ...options })
}

/** Opens a gate that by default sells `forecast` for one cent. */
export async function openGate(
  t: TestContext,
  { chain, facilitator, payTo }: Market,
  options: Partial<ToolGateOptions> = {},
): Promise<ToolGate> {
  const accepts = { price, payTo }
  const tools = { forecast: { accepts, description: 'The weather of tomorrow' } }
  const gate = await ToolGate.open({ tools, chains: chain, facilitators: facilitator, ...options })
  t.after(() => gate.close())
  return gate
}

/** Returns a client that is connected to a server in the same process. */
export async function connect(t: TestContext, register: (server: McpServer) => unknown): Promise<Client> {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  register(server)
  const client = new Client({ name: 'test', version: '1.0.0' })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await client.connect(ours)
  t.after(async () => {
    await client.close()
    await server.close()
  })
  return client
}

/** A requirement of one cent with sponsored fees. */
export function requirementOf({ chain, payTo, feePayer }: Market): PaymentRequirements {
  return {
    scheme: 'exact',
    network: chain.caip2 as PaymentRequirements['network'],
    amount: cent.toString(),
    asset: dollar.toString(),
    payTo,
    maxTimeoutSeconds: 60,
    extra: { feePayer: feePayer.address },
  }
}

/** Starts a server that is closed after the test, and returns its address. */
export async function listen(
  t: TestContext,
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<string> {
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
