/**
 * Provides the values that code on the pages may use without declaring them. Each is created when a block first needs
 * it, shared by the blocks of the page, and removed with the page.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Address, Ed25519, Group, Mnemonic, SignedTransaction, Submission, Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { Server } from '@latchkey/http'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd-client'
import { ToolGate } from '@latchkey/mcp/server'
import { Buyer, Chain, fromKmd, payingFetch, receiptOf, Signer } from '@latchkey/x402/client'
import { createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
import { paymentGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import { Gate } from '@latchkey/x402/server'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import * as algosdk from 'algosdk'
import { Hono } from 'hono'
import { atEnd, dataDirectory, type Scope, temporaryDirectory } from '../process/commands.test.helper.js'

const dollar = 31566704n
const walletName = 'spending'
const password = 'correct horse'

/** Maps each name to the function that creates its value. */
const providers = {
  // The chain.
  devnet: ({ devnet }: World) => devnet(),
  chainOptions: async ({ devnet }: World) => {
    const { url: nodes, genesisHash } = await devnet()
    return { nodes, genesisHash }
  },
  /** On the devnet, with the dollar of MainNet. */
  chain: ({ chain }: World) => chain(),
  algosdk: () => algosdk,

  // The key daemon: a wallet with a key that holds Algos and dollars.
  dataDir: async ({ daemon, block, scope }: World) => {
    // A block that starts a daemon needs a directory without a running daemon.
    if (/Daemon\.start\(|DaemonApp\.open\(/.test(block)) return dataDirectory(scope)
    return (await daemon()).dataDir
  },
  address: async ({ daemon }: World) => (await daemon()).address,
  wallet: () => walletName,
  password: () => password,
  askTheUser: () => () => password,
  transactionFrom: () => (address: string) => transactionFrom(address),

  // The trading parties.
  signer: async ({ devnet }: World) => Signer.fromMnemonic((await devnet()).accounts[2]!.mnemonic),
  seller: async ({ devnet }: World) => (await devnet()).accounts[1]!.address,
  payTo: async ({ devnet }: World) => (await devnet()).accounts[1]!.address,
  feePayer: async ({ devnet }: World) => Signer.fromMnemonic((await devnet()).accounts[0]!.mnemonic),
  facilitatorUrl: ({ facilitatorUrl }: World) => facilitatorUrl(),
  shopUrl: ({ shopUrl }: World) => shopUrl(),
  paidToolsUrl: ({ paidToolsUrl }: World) => paidToolsUrl(),
  /** A gate with one paid route, `GET /weather`. */
  gate: ({ gate }: World) => gate(),
  buyer: async ({ devnet, chain }: World) => {
    const signer = Signer.fromMnemonic((await devnet()).accounts[2]!.mnemonic)
    return new Buyer({ signer, chains: await chain() })
  },

  // Files and frameworks.
  fileIn: ({ scope }: World) => {
    const directory = temporaryDirectory(scope)
    return (name: string) => join(directory, name)
  },
  app: () => new Hono(),
  words: async ({ devnet }: World) => (await devnet()).accounts[3]!.mnemonic,
  input: async ({ devnet }: World) => transactionFrom((await devnet()).accounts[0]!.address),
  body: async ({ devnet }: World) => submission((await devnet()).accounts[0]!.mnemonic),

  // Exports of the packages, for blocks that show only part of a program.
  Address: () => Address,
  Transaction: () => Transaction,
  Group: () => Group,
  Submission: () => Submission,
  Buyer: () => Buyer,
  Chain: () => Chain,
  Gate: () => Gate,
  Devnet: () => Devnet,
  Signer: () => Signer,
  fromKmd: () => fromKmd,
  payingFetch: () => payingFetch,
  receiptOf: () => receiptOf,
  paymentGate: () => paymentGate,
}

export type Provided = { readonly [name in keyof typeof providers]: Awaited<ReturnType<(typeof providers)[name]>> }

export const providedNames = Object.keys(providers) as (keyof Provided)[]

export async function provide(world: World, names: readonly (keyof Provided)[]): Promise<Partial<Provided>> {
  const made: { [name: string]: unknown } = {}
  for (const name of names) made[name] = await providers[name](world)
  return made as Partial<Provided>
}

/** Returns the environment of JavaScript blocks. */
export async function environmentFor(world: World): Promise<{ [name: string]: string }> {
  const devnet = await world.devnet()
  return {
    ALGOD_URL: devnet.url,
    AVM_MNEMONIC: devnet.accounts[2]!.mnemonic,
    AVM_ADDRESS: devnet.accounts[1]!.address,
    FACILITATOR_URL: await world.facilitatorUrl(),
    SHOP_URL: await world.shopUrl(),
    STORE: join(temporaryDirectory(world.scope), 'facilitator.db'),
    PORT: '0',
    WEBHOOK_SECRET: '00'.repeat(32),
    SALES_TOKEN: 'a-token-for-the-page-of-the-seller',
  }
}

/** Everything is started once, on first use. */
export type World = {
  readonly scope: Scope
  /** The text of the block that uses the value. */
  readonly block: string
  readonly devnet: () => Promise<Devnet>
  readonly chain: () => Promise<Chain>
  readonly daemon: () => Promise<{ dataDir: string; address: string }>
  readonly facilitatorUrl: () => Promise<string>
  readonly gate: () => Promise<Gate>
  readonly shopUrl: () => Promise<string>
  readonly paidToolsUrl: () => Promise<string>
}

export function openWorld(scope: Scope): World {
  const world: World = {
    scope,
    block: '',
    devnet: once(async () => {
      const devnet = await Devnet.start({ port: 0 })
      atEnd(scope, () => devnet.stop())
      return devnet
    }),
    chain: once(async () => Chain.open({ network: 'local', nodes: (await world.devnet()).url, dollarAssetId: dollar })),
    daemon: once(() => startDaemon(world)),
    facilitatorUrl: once(() => startFacilitator(world)),
    gate: once(() => openGate(world)),
    shopUrl: once(() => startShop(world)),
    paidToolsUrl: once(() => startPaidTools(world)),
  }
  return world
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

async function startDaemon({ scope, devnet }: World): Promise<{ dataDir: string; address: string }> {
  const dataDir = dataDirectory(scope)
  const daemon = await Daemon.start({ dataDir, wire: 'documented' })
  atEnd(scope, () => daemon.stop())
  const kmd = await Kmd.connect({ dataDir })
  await kmd.wallets.create({ name: walletName, password })
  const wallet = await kmd.unlock({ name: walletName, password })
  const address = await wallet.generateKey()
  await wallet.release()
  kmd.close()
  const chain = await devnet()
  chain.fund(address, { microAlgos: 10_000_000n, microDollars: 5_000_000n })
  return { dataDir, address }
}

/** Starts a facilitator that settles on the devnet under its own name and the names used on the pages. */
async function startFacilitator({ scope, devnet, chain }: World): Promise<string> {
  const { url: nodes, genesisHash, accounts } = await devnet()
  const guises = ['mainnet', 'testnet'].map((network) => Chain.open({ network, nodes, genesisHash }))
  const chains = [await chain(), ...(await Promise.all(guises))]
  const feePayer = Signer.fromMnemonic(accounts[0]!.mnemonic)
  const facilitator = new Facilitator({ chains, feePayer, discovery: { allowPrivate: true } })
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  atEnd(scope, async () => {
    await server.stop()
    await facilitator.stop()
  })
  return `http://127.0.0.1:${port}`
}

async function openGate({ devnet, chain, facilitatorUrl }: World): Promise<Gate> {
  const { url: nodes, genesisHash, accounts } = await devnet()
  const payTo = accounts[1]!.address
  const guises = ['mainnet', 'testnet'].map((network) => Chain.open({ network, nodes, genesisHash }))
  const chains = [await chain(), ...(await Promise.all(guises))]
  const accepts = chains.map(({ caip2 }) => ({ network: caip2, price: '$0.01', payTo }))
  return Gate.open({ routes: { 'GET /weather': { accepts } }, chains, facilitators: await facilitatorUrl() })
}

async function startShop({ scope, gate }: World): Promise<string> {
  const server = createServer(nodeGate(await gate(), (_, response) => void response.end('{"weather":"sunny"}')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(scope, () => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

/** Starts an MCP server whose tool `forecast` costs a cent. */
async function startPaidTools({ scope, devnet, chain, facilitatorUrl }: World): Promise<string> {
  const accepts = { price: '$0.01', payTo: (await devnet()).accounts[1]!.address }
  const tools = { forecast: { accepts } }
  const gate = await ToolGate.open({ tools, chains: await chain(), facilitators: await facilitatorUrl() })
  const inputSchema = fromJsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } })
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'weather', version: '1.0.0' })
    gate.registerTool(server, 'forecast', { inputSchema }, ({ city }) => ({
      content: [{ type: 'text', text: `sunny in ${city}` }],
    }))
    return server
  })
  const server = new Server({ fetch: (request) => handler.fetch(request) })
  const { port } = await server.listen('127.0.0.1', 0)
  atEnd(scope, async () => {
    await server.stop()
    await handler.close()
    await gate.close()
  })
  return `http://127.0.0.1:${port}/mcp`
}

function transactionFrom(address: string): Uint8Array {
  const snd = Address.decode(address)
  const gh = new Uint8Array(32).fill(1)
  return Transaction.encode({ type: 'pay', snd, rcv: snd, amt: 1n, fee: 1_000n, fv: 1n, lv: 1_000n, gh })
}

function submission(mnemonic: string): Uint8Array {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(Mnemonic.decode(mnemonic))
  const { bytes, sender } = Transaction.canonicalize(transactionFrom(Address.encode(publicKey)))
  return SignedTransaction.attach(bytes, sender, Ed25519.sign(Transaction.bytesToSign(bytes), secretKey), publicKey)
}
