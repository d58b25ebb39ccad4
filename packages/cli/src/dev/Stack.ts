/** Everything that a paid request takes, on one machine and in this process: chain, key daemon, facilitator, seller. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Devnet } from '@latchkey/devnet'
import { Server } from '@latchkey/http'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd/client'
import { Chain, createApp, Facilitator, Signer, SqliteSettlements } from '@latchkey/x402/facilitator'
import { gated } from '@latchkey/x402/node'
import { Gate } from '@latchkey/x402/server'
import { freePort } from './freePort.js'

/** What AlgoKit takes for LocalNet's. */
const ports = { devnet: 4001, kmd: 4002, facilitator: 4022, seller: 4021 }
export const token = 'a'.repeat(64)
export const walletName = 'unencrypted-default-wallet'
export const dollarAssetId = 31566704n
export const dollarDecimals = 6
export const price = '$0.01'
const buyerMicroDollars = 5_000_000n
const buyerMicroAlgos = 10_000_000n

export type StackOptions = {
  /** Free ports, even where those that tools expect are free. */
  takesAnyPort?: boolean | undefined
  onError?: ((error: unknown) => void) | undefined
}

export class Stack {
  readonly devnet: Devnet
  readonly chain: Chain
  readonly kmdUrl: string
  readonly kmdDataDir: string
  readonly facilitatorUrl: string
  readonly sellerUrl: string
  readonly seller: string
  readonly buyer: string
  readonly #closers: (() => unknown)[]
  #stopping: Promise<void> | undefined
  #tellStopped!: (stopping: Promise<void>) => void
  /** Settles when it has been stopped, by whomever. */
  readonly stopped = new Promise<void>((resolve) => {
    this.#tellStopped = resolve
  })

  private constructor(parts: Parts, closers: (() => unknown)[]) {
    this.devnet = parts.devnet
    this.chain = parts.chain
    this.kmdUrl = parts.kmdUrl
    this.kmdDataDir = parts.kmdDataDir
    this.facilitatorUrl = parts.facilitatorUrl
    this.sellerUrl = parts.sellerUrl
    this.seller = parts.seller
    this.buyer = parts.buyer
    this.#closers = closers
  }

  /** All of it, or nothing: what was started before a failure is stopped. */
  static async start(options: StackOptions = {}): Promise<Stack> {
    const closers: (() => unknown)[] = []
    try {
      return new Stack(await startParts(closers, options), closers)
    } catch (error) {
      await close(closers)
      throw error
    }
  }

  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      this.#stopping = close(this.#closers)
      this.#tellStopped(this.#stopping)
    }
    return this.#stopping
  }
}

type Parts = Omit<Stack, 'stop' | 'stopped'>

/** The last that was started first. */
async function close(closers: (() => unknown)[]): Promise<void> {
  for (const closer of closers.reverse()) await closer()
}

/** Where the parts are put up, and what must be done to take them down again. */
type Site = {
  readonly directory: string
  readonly closers: (() => unknown)[]
  readonly portFor: (preferred: number) => Promise<number>
  readonly onError: StackOptions['onError']
}

async function startParts(closers: (() => unknown)[], { takesAnyPort, onError }: StackOptions): Promise<Parts> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-dev-'))
  closers.push(() => rmSync(directory, { recursive: true, force: true }))
  const site: Site = {
    directory,
    closers,
    onError,
    portFor: async (preferred) => (takesAnyPort ? 0 : freePort(preferred)),
  }
  const devnet = await Devnet.start({ port: await site.portFor(ports.devnet), onError })
  closers.push(() => devnet.stop())
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId })
  const { kmdUrl, kmdDataDir, buyer } = await startKmd(site, devnet)
  devnet.fund(buyer, { microAlgos: buyerMicroAlgos, microDollars: buyerMicroDollars })
  const facilitatorUrl = await startFacilitator(site, devnet, chain)
  const seller = devnet.accounts[1]!.address
  const sellerUrl = await startSeller(site, chain, seller, facilitatorUrl)
  return { devnet, chain, kmdUrl, kmdDataDir, facilitatorUrl, sellerUrl, seller, buyer }
}

/** With the wallet that tools look for, which holds the dispenser's key and the buyer's. */
async function startKmd({ directory, closers, portFor }: Site, devnet: Devnet) {
  const kmdDataDir = join(directory, 'kmd-v0.5')
  mkdirSync(kmdDataDir, { mode: 0o700 })
  const settings = { address: `127.0.0.1:${await portFor(ports.kmd)}`, ...lightScrypt }
  writeFileSync(join(kmdDataDir, 'kmd_config.json'), JSON.stringify(settings), { mode: 0o600 })
  writeFileSync(join(kmdDataDir, 'kmd.token'), token, { mode: 0o600 })
  const daemon = await Daemon.start({ dataDir: kmdDataDir, wire: 'reference' })
  closers.push(() => daemon.stop())
  const kmd = await Kmd.connect({ dataDir: kmdDataDir })
  await kmd.wallets.create({ name: walletName, password: '' })
  const wallet = await kmd.unlock({ name: walletName, password: '' })
  await wallet.importKey(new Uint8Array(Buffer.from(devnet.dispenser.secretKey, 'base64')))
  const buyer = await wallet.generateKey()
  await wallet.release()
  return { kmdUrl: `http://${daemon.address}`, kmdDataDir, buyer }
}

/** The wallet is called unencrypted, and its keys are to play money: nobody should wait for its password. */
const lightScrypt = {
  drivers: { sqlite: { scrypt: { scrypt_n: 1024, scrypt_r: 1, scrypt_p: 1 }, allow_unsafe_scrypt: true } },
}

async function startFacilitator(site: Site, devnet: Devnet, chain: Chain): Promise<string> {
  const { directory, closers, portFor, onError } = site
  const store = new SqliteSettlements(join(directory, 'facilitator.db'))
  const feePayer = Signer.fromMnemonic(devnet.accounts[0]!.mnemonic)
  const facilitator = new Facilitator({ chains: [chain], feePayer, store, onError })
  closers.push(() => facilitator.stop())
  const server = new Server({ handle: createApp({ facilitator, onError }) })
  const { port } = await server.listen('127.0.0.1', await portFor(ports.facilitator))
  closers.push(() => server.stop())
  return `http://127.0.0.1:${port}`
}

async function startSeller(site: Site, chain: Chain, payTo: string, facilitators: string): Promise<string> {
  const { closers, portFor, onError } = site
  const accepts = { network: chain.caip2, price, payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
  const gate = await Gate.open({ routes, facilitators, chains: chain, cors: true, onError })
  const server = createServer(gated(gate, answerWeather))
  const port = await listen(server, await portFor(ports.seller))
  closers.push(() => closeHttp(server))
  return `http://127.0.0.1:${port}`
}

function answerWeather(request: IncomingMessage, response: ServerResponse): void {
  const isWeather = request.url?.split('?')[0] === '/weather'
  const report = { weather: 'sunny', temperature: 70, timestamp: new Date().toISOString() }
  response.statusCode = isWeather ? 200 : 404
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify(isWeather ? { report } : { error: 'there is only /weather' }))
}

function listen(server: HttpServer, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

function closeHttp(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
