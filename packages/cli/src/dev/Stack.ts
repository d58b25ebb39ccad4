/** Everything that a paid request needs, in this process: chain, key daemon, facilitator and seller. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Devnet } from '@latchkey/devnet'
import { Server } from '@latchkey/http'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd-client'
import { Chain, createFacilitatorHandler, Facilitator, Signer } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { limitDaemonMemory } from '../daemonMemory.js'
import { shellWord } from '../format.js'
import { onFreePorts, type PortFor } from './freePort.js'
import { writeGoalDirectory } from './goalDirectory.js'
import { allowOrigins, onlyLocalHosts } from './localAccess.js'
import { createSeller } from './seller.js'

/** The first three are AlgoKit's for LocalNet, the others those of the x402 examples. */
const ports = { devnet: 4001, kmd: 4002, indexer: 8980, facilitator: 4022, seller: 4021 }
export const token = 'a'.repeat(64)
/** Tools that know LocalNet look for it, and fund accounts from a key in it. */
export const defaultWallet = 'unencrypted-default-wallet'
/** A wallet of its own, because every key in the default wallet is a rich one; listed after it, for tools that take the first. */
export const buyerWallet = 'x402-buyer'
export const dollarAssetId = 31566704n
export const dollarDecimals = 6
const buyerMicroDollars = 5_000_000n
const buyerMicroAlgos = 10_000_000n

export type StackOptions = {
  /** Uses any free ports, even if those that tools expect are free. @default false */
  anyPort?: boolean | undefined
  /**
   * Origins of web pages that may use the stack, beside those on loopback addresses.
   * @default []
   */
  allowedOrigins?: readonly string[] | undefined
  onError?: ((error: unknown) => void) | undefined
  /** Called with the directory of all files of the stack, before anything is written to it. */
  onDirectory?: ((directory: string) => void) | undefined
}

export class Stack {
  readonly devnet: Devnet
  readonly chain: Chain
  readonly kmdUrl: string
  readonly kmdDataDir: string
  /** A data directory for `goal`, with that of the daemon inside. */
  readonly goalDir: string
  readonly facilitatorUrl: string
  readonly sellerUrl: string
  readonly seller: string
  readonly buyer: string
  /** Creates a one-time link to the daemon's web console. */
  readonly consoleLink: () => string
  readonly #closers: (() => unknown)[]
  #stopping: Promise<void> | undefined
  #resolveStopped!: (stopping: Promise<void>) => void
  /** Settles when the stack has stopped. */
  readonly stopped = new Promise<void>((resolve) => {
    this.#resolveStopped = resolve
  })

  private constructor(parts: Parts, closers: (() => unknown)[]) {
    this.devnet = parts.devnet
    this.chain = parts.chain
    this.kmdUrl = parts.kmdUrl
    this.kmdDataDir = parts.kmdDataDir
    this.goalDir = parts.goalDir
    this.facilitatorUrl = parts.facilitatorUrl
    this.sellerUrl = parts.sellerUrl
    this.seller = parts.seller
    this.buyer = parts.buyer
    this.consoleLink = parts.consoleLink
    this.#closers = closers
  }

  /** Starts all parts; if one fails, stops those that were started before. */
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
      this.#resolveStopped(this.#stopping)
    }
    return this.#stopping
  }
}

type Parts = Omit<Stack, 'stop' | 'stopped'>

/** In reverse order of the start. */
async function close(closers: (() => unknown)[]): Promise<void> {
  for (const closer of closers.reverse()) await closer()
}

/** What the parts share during the start. */
type StartContext = {
  readonly directory: string
  readonly closers: (() => unknown)[]
  readonly onPorts: <T>(start: (portFor: PortFor) => Promise<T>) => Promise<T>
  readonly allowedOrigins: readonly string[]
  readonly onError: StackOptions['onError']
}

async function startParts(closers: (() => unknown)[], options: StackOptions): Promise<Parts> {
  const { anyPort, allowedOrigins = [], onError, onDirectory } = options
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-dev-'))
  onDirectory?.(directory)
  closers.push(() => rmSync(directory, { recursive: true, force: true }))
  const context: StartContext = {
    directory,
    closers,
    allowedOrigins,
    onError,
    onPorts: (start) => onFreePorts(anyPort ?? false, start),
  }
  const devnet = await context.onPorts(async (portFor) => {
    const [port, indexerPort] = [await portFor(ports.devnet), await portFor(ports.indexer)]
    return Devnet.start({ port, indexer: { port: indexerPort }, onError })
  })
  closers.push(() => devnet.stop())
  writeGoalDirectory(directory, devnet)
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId })
  const listener = await listenForSeller(context)
  const { kmdUrl, kmdDataDir, buyer, consoleLink } = await startKmd(context, devnet)
  devnet.fund(buyer, { microAlgos: buyerMicroAlgos, microDollars: buyerMicroDollars })
  const facilitatorUrl = await startFacilitator(context, devnet, chain)
  const seller = devnet.accounts[1]!.address
  const parts = {
    devnet,
    chain,
    kmdUrl,
    kmdDataDir,
    goalDir: directory,
    facilitatorUrl,
    sellerUrl: listener.url,
    seller,
    buyer,
    consoleLink,
  }
  await startSeller(context, listener, parts)
  return parts
}

/** The daemon has the wallet that tools look for, with the keys of the online accounts, and one with the key of the buyer. */
async function startKmd({ directory, closers, onPorts, allowedOrigins }: StartContext, devnet: Devnet) {
  const kmdDataDir = join(directory, 'kmd-v0.5')
  mkdirSync(kmdDataDir, { mode: 0o700 })
  writeFileSync(join(kmdDataDir, 'kmd.token'), token, { mode: 0o600 })
  const onWorkerStart = limitDaemonMemory()
  const daemon = await onPorts(async (portFor) => {
    const address = `127.0.0.1:${await portFor(ports.kmd)}`
    const settings = { address, allowed_origins: allowedOrigins, allow_header_pna: true, ...lightScrypt }
    writeFileSync(join(kmdDataDir, 'kmd_config.json'), JSON.stringify(settings), { mode: 0o600 })
    return Daemon.start({
      dataDir: kmdDataDir,
      wire: 'reference',
      node: { url: devnet.url },
      // dApps under development, and the paywall of the seller.
      allowLoopbackOrigins: true,
      onWorkerStart,
    })
  })
  closers.push(() => daemon.stop())
  const kmd = await Kmd.connect({ dataDir: kmdDataDir })
  const rich = await createWallet(kmd, defaultWallet)
  for (const { secretKey } of devnet.onlineAccounts) {
    await rich.importKey(new Uint8Array(Buffer.from(secretKey, 'base64')))
  }
  await rich.release()
  const wallet = await createWallet(kmd, buyerWallet)
  const buyer = await wallet.generateKey()
  await wallet.release()
  // Longer than usual, as nothing here has any value.
  const consoleLink = (): string => daemon.consoleLink({ lifetimeMs: 3_600_000 })
  return { kmdUrl: `http://${daemon.address}`, kmdDataDir, buyer, consoleLink }
}

async function createWallet(kmd: Kmd, name: string): ReturnType<Kmd['unlock']> {
  await kmd.wallets.create({ name, password: '' })
  return kmd.unlock({ name, password: '' })
}

/** The keys have no value, so deriving the password need not take time. */
const lightScrypt = {
  drivers: { sqlite: { scrypt: { scrypt_n: 1024, scrypt_r: 1, scrypt_p: 1 }, allow_unsafe_scrypt: true } },
}

async function startFacilitator(context: StartContext, devnet: Devnet, chain: Chain): Promise<string> {
  const { directory, closers, onPorts, allowedOrigins, onError } = context
  const store = new SqliteSettlements(join(directory, 'facilitator.db'))
  const feePayer = Signer.fromMnemonic(devnet.accounts[0]!.mnemonic)
  const facilitator = new Facilitator({ chains: [chain], feePayer, store, onError })
  closers.push(() => facilitator.stop())
  const fetch = onlyLocalHosts(allowOrigins(createFacilitatorHandler({ facilitator, onError }), allowedOrigins))
  return onPorts(async (portFor) => {
    const server = new Server({ fetch, ...(onError === undefined ? {} : { onError }) })
    const { port } = await server.listen('127.0.0.1', await portFor(ports.facilitator))
    closers.push(() => server.stop())
    return `http://127.0.0.1:${port}`
  })
}

/** The seller listens before it has routes: it may not take the port of another part. */
type Listener = { readonly url: string; readonly server: HttpServer }

function listenForSeller({ closers, onPorts }: StartContext): Promise<Listener> {
  return onPorts(async (portFor) => {
    const server = createServer()
    const port = await listen(server, await portFor(ports.seller))
    closers.push(() => closeHttp(server))
    return { url: `http://127.0.0.1:${port}`, server }
  })
}

async function startSeller({ onError }: StartContext, { server }: Listener, parts: Parts): Promise<void> {
  const { chain, seller: payTo, facilitatorUrl: facilitators, kmdUrl } = parts
  const paywall = { kmd: { url: kmdUrl, token, wallet: buyerWallet } }
  const exports = (): string => exportLines(environmentOf(parts))
  server.on('request', await createSeller({ chain, payTo, facilitators, paywall, exports, onError }))
}

/** The environment variables with which programs use the stack. */
export function environmentOf(parts: Parts): { [name: string]: string } {
  const { devnet, kmdUrl, kmdDataDir, goalDir, facilitatorUrl, sellerUrl, seller, buyer } = parts
  const [algod, kmd, indexer] = [new URL(devnet.url), new URL(kmdUrl), new URL(devnet.indexerUrl!)]
  return {
    ALGOD_SERVER: `http://${algod.hostname}`,
    ALGOD_PORT: algod.port,
    ALGOD_TOKEN: token,
    ALGOD_URL: devnet.url,
    ALGORAND_DATA: goalDir,
    INDEXER_SERVER: `http://${indexer.hostname}`,
    INDEXER_PORT: indexer.port,
    INDEXER_TOKEN: token,
    INDEXER_URL: devnet.indexerUrl!,
    KMD_SERVER: `http://${kmd.hostname}`,
    KMD_PORT: kmd.port,
    KMD_TOKEN: token,
    KMD_DATA_DIR: kmdDataDir,
    KMD_WALLET: buyerWallet,
    KMD_KEY: buyer,
    KMD_PASSWORD_FILE: '/dev/null',
    DISPENSER_MNEMONIC: devnet.dispenser.mnemonic,
    FACILITATOR_URL: facilitatorUrl,
    RESOURCE_SERVER_URL: sellerUrl,
    AVM_NETWORK: 'local',
    AVM_ADDRESS: seller,
    USDC_ASSET_ID: dollarAssetId.toString(),
  }
}

/** Export statements for a POSIX shell. */
export function exportLines(environment: { [name: string]: string }): string {
  return Object.entries(environment)
    .map(([name, value]) => `export ${name}=${shellWord(value)}\n`)
    .join('')
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
