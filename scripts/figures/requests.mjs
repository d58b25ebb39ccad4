// Finds the source files that a request runs through. All parties run in this process and talk over the loopback
// interface.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Address, Bytes, Ed25519, Mnemonic, SignedTransaction, Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { Server } from '@latchkey/http'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd-client'
import { payingCallTool, paymentOf as paymentOfResult } from '@latchkey/mcp/client'
import { ToolGate } from '@latchkey/mcp/server'
import { AgentWallet, newWalletServer } from '@latchkey/mcp/wallet'
import { Buyer, Chain, payingFetch, paymentOf, Signer } from '@latchkey/x402/client'
import { createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
import { FilePayments } from '@latchkey/x402/file'
import { paymentGate } from '@latchkey/x402/node'
import { Gate } from '@latchkey/x402/server'
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { root } from '../packages.mjs'

/** The first request of a kind loads modules and fills caches. */
const warmUps = 2
const rounds = 5
const dollarAssetId = 31566704n
const password = 'correct horse'

/**
 * Returns the source files, as paths from the root, of which at least one function runs in every request of a kind.
 * A file that runs in only some of them belongs to a timer of a party.
 */
export async function sourcesOfRequests() {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-figures-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const devnet = await Devnet.start({ port: 0 })
  const daemon = await openDaemon(directory, devnet)
  const market = await openMarket(devnet)
  const shopUrl = await openShop(market)
  const requests = {
    signature_by_owner: daemon.signByOwner,
    signature_by_agent: daemon.signByAgent,
    devnet_submit: await submitter(devnet),
    paid_request: paidRequest(market, shopUrl),
    paid_tool_call: await paidToolCall(market),
    wallet_paid_fetch: await walletPaidFetch(market, shopUrl, daemon.agent, join(directory, 'payments.jsonl')),
  }
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const found = {}
  for (const [name, prepare] of Object.entries(requests)) {
    for (let round = 0; round < warmUps; round++) await (await prepare())()
    let files
    for (let round = 0; round < rounds; round++) {
      const run = await prepare()
      // Also resets the counters.
      await session.post('Profiler.takePreciseCoverage')
      await run()
      const ran = sourcesRun((await session.post('Profiler.takePreciseCoverage')).result)
      files = files?.filter((file) => ran.has(file)) ?? [...ran].sort()
    }
    found[name] = files
  }
  return found
}

/** A compiled module has one source file. */
function sourcesRun(scripts) {
  const packages = `${pathToFileURL(join(root, 'packages')).href}/`
  const urls = scripts
    .filter(
      ({ url, functions }) => url.startsWith(packages) && functions.some(({ ranges: [whole] }) => whole.count > 0),
    )
    .map(({ url }) => url.slice(packages.length))
    .filter((path) => /^[^/]+\/dist\//.test(path))
  return new Set(urls.map((path) => `packages/${path.replace('/dist/', '/src/').replace(/\.js$/, '.ts')}`))
}

/** A key daemon with a wallet, its owner, and an agent that may pay from it. Requests are plain HTTP. */
async function openDaemon(directory, devnet) {
  const dataDir = join(directory, 'kmd-v0.5')
  mkdirSync(dataDir, { mode: 0o700 })
  // Deriving keys takes no part in a signature.
  const drivers = { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } }, ledger: { disable: true } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: '127.0.0.1:0', drivers }))
  const daemon = await Daemon.start({ dataDir, wire: 'documented' })
  const ownerToken = readFileSync(daemon.tokenFile, 'utf8')
  const post = async (path, token, body) => {
    const headers = { 'X-KMD-API-Token': token }
    const response = await fetch(`http://${daemon.address}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${text}`)
    return JSON.parse(text)
  }
  const kmd = await Kmd.connect({ dataDir })
  const { id } = await kmd.wallets.create({ name: 'figures', password })
  const wallet = await kmd.unlock({ id, password })
  const address = await wallet.generateKey()
  devnet.fund(address, { microAlgos: 10_000_000n, microDollars: 5_000_000n })
  const network = devnet.genesisHash
  const limits = [0n, dollarAssetId].map((assetId) => ({
    per: 'total',
    network,
    type: 'amount',
    assetId,
    amount: 10n ** 9n,
  }))
  const rules = { networks: [network], limits, payees: { allow: 'all' } }
  const { token } = await kmd.agents.create({ name: 'agent', walletId: id, password, addresses: [address], rules })
  const { wallet_handle_token: handle } = await post('/v1/wallet/init', ownerToken, {
    wallet_id: id,
    wallet_password: password,
  })
  const payment = () => Bytes.toBase64(encodePayment({ address, firstValid: 1n, network }))
  return {
    agent: await Kmd.asAgent({ dataDir, token }),
    signByOwner: () => {
      const body = { wallet_handle_token: handle, wallet_password: password, transaction: payment() }
      return () => post('/v1/transaction/sign', ownerToken, body)
    },
    signByAgent: () => {
      const body = { transaction: payment() }
      return () => post('/latchkey/v1/agent/sign', token, body)
    },
  }
}

/** Every transaction is different. */
function encodePayment({ address, firstValid, network }) {
  const snd = Address.decode(address)
  const note = new Uint8Array(randomBytes(8))
  const fields = { type: 'pay', snd, rcv: snd, amt: 1n, fee: 1_000n, fv: firstValid, lv: firstValid + 1_000n }
  return Transaction.encode({ ...fields, gh: Bytes.fromBase64(network), note })
}

async function submitter({ url, genesisHash, accounts: [{ address, mnemonic }] }) {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(Mnemonic.decode(mnemonic))
  return async () => {
    const { 'last-round': round } = await (await fetch(`${url}/v2/status`)).json()
    const payment = encodePayment({ address, firstValid: BigInt(round) || 1n, network: genesisHash })
    const { bytes, sender } = Transaction.canonicalize(payment)
    const signature = Ed25519.sign(Transaction.bytesToSign(bytes), secretKey)
    const body = SignedTransaction.attach(bytes, sender, signature, publicKey)
    return async () => {
      const response = await fetch(`${url}/v2/transactions`, { method: 'POST', body })
      if (!response.ok) throw new Error(await response.text())
      await response.text()
    }
  }
}

/** The chain, a facilitator that listens, and the options that both gates share. */
async function openMarket({ url, accounts }) {
  const chain = await Chain.open({ network: 'local', nodes: url, dollarAssetId })
  const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromMnemonic(accounts[0].mnemonic) })
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  const accepts = { network: chain.caip2, price: '$0.01', payTo: accounts[1].address }
  const signer = Signer.fromMnemonic(accounts[2].mnemonic)
  // A new buyer does not know the price, so the seller has to answer 402.
  const newBuyer = () => new Buyer({ signer, chains: chain, maxPerPayment: '$0.10' })
  return { chain, accepts, gateOptions: { chains: chain, facilitators: `http://127.0.0.1:${port}` }, newBuyer }
}

async function openShop({ accepts, gateOptions }) {
  const gate = await Gate.open({ routes: { 'GET /weather': { accepts } }, ...gateOptions })
  const server = createServer(paymentGate(gate, (_, response) => void response.end('{"weather":"sunny"}')))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/weather`
}

function paidRequest({ newBuyer }, url) {
  return () => {
    const pay = payingFetch(newBuyer())
    return async () => {
      const response = await pay(url)
      await response.text()
      assertSettled(paymentOf(response))
    }
  }
}

async function paidToolCall({ accepts, gateOptions, newBuyer }) {
  const gate = await ToolGate.open({ tools: { forecast: { accepts } }, ...gateOptions })
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'weather', version: '1.0.0' })
    gate.registerTool(server, 'forecast', {}, () => ({ content: [{ type: 'text', text: 'sunny' }] }))
    return server
  })
  const server = new Server({ fetch: (request) => handler.fetch(request) })
  const { port } = await server.listen('127.0.0.1', 0)
  const client = new Client({ name: 'figures', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)))
  return () => {
    const callTool = payingCallTool(client, newBuyer(), { server: 'weather' })
    return async () => assertSettled(paymentOfResult(await callTool({ name: 'forecast', arguments: {} })))
  }
}

/** The wallet of an agent as an MCP server: its tool pays for a request with a signature of the daemon. */
async function walletPaidFetch({ chain }, url, agent, log) {
  const { host } = new URL(url)
  const wallet = await AgentWallet.open({ agent, chain, payments: new FilePayments(log), allowHosts: [host] })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await newWalletServer(wallet, { version: '1.0.0' }).connect(theirs)
  const client = new Client({ name: 'figures', version: '1.0.0' })
  await client.connect(ours)
  let count = 0
  return () => {
    // A unique URL, because a wallet makes one payment for a URL at a time.
    const call = { name: 'paid_fetch', arguments: { url: `${url}?number=${count++}`, max: '$0.10' } }
    return async () => {
      const { structuredContent, content } = await client.callTool(call)
      if (structuredContent === undefined) throw new Error(JSON.stringify(content))
      assertSettled(structuredContent.paid)
    }
  }
}

function assertSettled(paid) {
  if (paid?.state !== 'settled') throw new Error(`the payment is ${paid?.state ?? 'missing'}`)
}
