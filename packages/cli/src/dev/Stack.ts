/** Everything that a paid request needs, in this process: chain, key daemon, facilitator and seller. */
import { rmSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Devnet, StateFileError } from '@latchkey/devnet'
import { type RequestRecord, recordRequests, Server } from '@latchkey/http'
import { Log } from '@latchkey/system/log'
import { Chain, createFacilitatorHandler, Signer } from '@latchkey/x402/facilitator'
import { SqliteClaims, SqliteSettlements } from '@latchkey/x402/sqlite'
import { CommandError } from '../errors.js'
import * as StackPointer from '../stack/StackPointer.js'
import { accountLabel, buyerWallet, dollarAssetId, token } from '../stack/stackValues.js'
import type { OnEvent } from './EventPrinter.js'
import { environmentOf, exportLines } from './environment.js'
import { createExplorer } from './explorer/Explorer.js'
import { onFreePorts, type PortFor } from './freePort.js'
import { writeGoalDirectory } from './goalDirectory.js'
import { allowOrigins, onlyLocalHosts } from './localAccess.js'
import type { StackDirectory } from './StackDirectory.js'
import type { StackParts } from './StackParts.js'
import { createSeller, paymentIdOf, routeOf } from './seller.js'
import { LedgerEvents, ReportingFacilitator, sellerEvents, signatureEvents } from './stackEvents.js'
import { startDaemon } from './startDaemon.js'

/** The first three are AlgoKit's for LocalNet, the others those of the x402 examples. */
export const ports = {
  devnet: 4001,
  indexer: 8980,
  kmd: 4002,
  facilitator: 4022,
  seller: 4021,
  explorer: 4023,
} as const
const buyerMicroDollars = 5_000_000n
const buyerMicroAlgos = 10_000_000n
/** The price of one request: see `price` in seller.ts. A buyer with less cannot pay. */
const priceMicroDollars = 10_000n
const maxLogBytes = 16 * 1024 * 1024

export type StackOptions = {
  /** The directory of all state. The stack closes it when it stops. */
  directory: StackDirectory
  /** Uses any free ports, even if the usual ones are free. @default false */
  anyPort?: boolean | undefined
  /**
   * Origins of web pages that may use the stack, in addition to those on loopback addresses.
   * @default []
   */
  allowedOrigins?: readonly string[] | undefined
  /** Whether an explorer of the chain is served. @default false */
  hasExplorer?: boolean | undefined
  /** Whether the chain keeps all blocks. @default false */
  isArchival?: boolean | undefined
  /** Whether commands in other terminals find the stack. @default true */
  isFound?: boolean | undefined
  onError?: ((error: unknown) => void) | undefined
  /** Called with the events of the stack. */
  onEvent?: OnEvent | undefined
  /** Called with the path of the file by which commands find the stack, once it is written. */
  onPointer?: ((path: string) => void) | undefined
}

export class Stack {
  readonly parts: StackParts
  readonly directory: StackDirectory
  /** The usual ports that other programs have taken, by the part that would have used them. */
  readonly takenPorts: { readonly [part in keyof typeof ports]?: number }
  readonly #closers: (() => unknown)[]
  #stopping: Promise<void> | undefined
  #resolveStopped!: (stopping: Promise<void>) => void
  /** Settles when the stack has stopped. */
  readonly stopped = new Promise<void>((resolve) => {
    this.#resolveStopped = resolve
  })

  readonly #log: Log

  private constructor(
    parts: StackParts,
    { directory, anyPort = false }: StackOptions,
    { log, closers }: { log: Log; closers: (() => unknown)[] },
  ) {
    this.parts = parts
    this.#log = log
    this.directory = directory
    this.takenPorts = anyPort ? {} : takenPorts(parts)
    this.#closers = closers
  }

  /** Starts all parts; if one fails, stops those that were started before. */
  static async start(options: StackOptions): Promise<Stack> {
    const closers: (() => unknown)[] = [() => options.directory.close()]
    try {
      const log = openLog(options.directory.path, closers)
      const parts = await startParts(closers, options, log)
      if (options.isFound ?? true) writePointer(closers, options, parts)
      return new Stack(parts, options, { log, closers })
    } catch (error) {
      await close(closers)
      throw error
    }
  }

  /** Reopens the log of requests by its name. */
  reopenLog(): void {
    this.#log.reopen()
  }

  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      this.#stopping = close(this.#closers)
      this.#resolveStopped(this.#stopping)
    }
    return this.#stopping
  }
}

/** Closes in reverse order of the start. */
async function close(closers: (() => unknown)[]): Promise<void> {
  for (const closer of closers.reverse()) await closer()
}

/** The stack also works without the pointer, and programs can use its environment. */
function writePointer(closers: (() => unknown)[], options: StackOptions, parts: StackParts): void {
  const { devnet, kmdUrl, facilitatorUrl, sellerUrl, buyer } = parts
  const urls = { devnetUrl: devnet.url, indexerUrl: devnet.indexerUrl!, kmdUrl, facilitatorUrl, sellerUrl }
  try {
    const path = StackPointer.write({ directory: options.directory.path, buyer, ...urls })
    closers.push(() => rmSync(path, { force: true }))
    options.onPointer?.(path)
  } catch (cause) {
    const why = `other terminals cannot find this stack: ${(cause as Error).message}`
    options.onError?.(new CommandError('file_unwritable', why, { hint: 'set its environment variables there', cause }))
  }
}

function takenPorts(parts: StackParts): Stack['takenPorts'] {
  const { devnet, kmdUrl, facilitatorUrl, sellerUrl, explorerUrl } = parts
  const used = {
    devnet: devnet.url,
    indexer: devnet.indexerUrl!,
    kmd: kmdUrl,
    facilitator: facilitatorUrl,
    seller: sellerUrl,
    ...(explorerUrl !== undefined && { explorer: explorerUrl }),
  }
  const taken = Object.entries(used).flatMap(([part, url]) => {
    const expected = ports[part as keyof typeof ports]
    return new URL(url).port === String(expected) ? [] : [[part, expected] as const]
  })
  return Object.fromEntries(taken)
}

/** The state that the parts share during the start. */
type StartContext = {
  readonly directory: StackDirectory
  readonly closers: (() => unknown)[]
  readonly onPorts: <T>(start: (portFor: PortFor) => Promise<T>) => Promise<T>
  readonly allowedOrigins: readonly string[]
  readonly onError: StackOptions['onError']
  readonly onEvent: OnEvent
  readonly ledgerEvents: LedgerEvents
  /** Returns the listener of one of the servers, for their shared log. */
  readonly onRequestOf: (server: string) => (record: RequestRecord) => void
}

async function startParts(closers: (() => unknown)[], options: StackOptions, log: Log): Promise<StackParts> {
  const { directory, anyPort, allowedOrigins = [], onError, onEvent = () => {} } = options
  const ledgerEvents = new LedgerEvents(onEvent)
  const onPorts: StartContext['onPorts'] = (start) => onFreePorts(anyPort ?? false, start)
  const onRequestOf: StartContext['onRequestOf'] = (server) => (record) => log.request({ ...record, server })
  const context: StartContext = {
    directory,
    closers,
    allowedOrigins,
    onError,
    onEvent,
    ledgerEvents,
    onPorts,
    onRequestOf,
  }
  const devnet = await startDevnet(context, options.isArchival)
  closers.push(writeGoalDirectory(directory.path, devnet))
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId })
  // Opened before the server, so that it is closed after it.
  const claims = openClaims(context)
  const listener = await listenForSeller(context)
  const onSignature = signatureEvents(onEvent)
  const daemon = await startDaemon({ directory, devnet, port: ports.kmd, onPorts, allowedOrigins, onSignature })
  closers.push(() => daemon.stop())
  const { buyer } = daemon
  const isBuyerFunded = await fundBuyer(devnet, chain, buyer)
  // Recorded after funding: a directory without a buyer belongs to an incomplete start.
  if (directory.buyer !== buyer) directory.recordBuyer(buyer)
  const facilitatorUrl = await startFacilitator(context, devnet, chain)
  const explorerUrl = options.hasExplorer ? await startExplorer(context, devnet, buyer) : undefined
  const parts: StackParts = {
    devnet,
    chain,
    kmdUrl: daemon.url,
    kmdDataDir: daemon.dataDir,
    goalDir: directory.path,
    facilitatorUrl,
    sellerUrl: listener.url,
    explorerUrl,
    seller: devnet.accounts[1]!.address,
    buyer,
    isBuyerFunded: isBuyerFunded && directory.isKept,
    consoleLink: daemon.consoleLink,
  }
  await startSeller(context, listener, claims, parts)
  return parts
}

/** The log of all servers but the daemon, which has its own. It is closed last. */
function openLog(directory: string, closers: (() => unknown)[]): Log {
  const log = new Log({ to: join(directory, 'requests.log'), format: 'json', maxBytes: maxLogBytes })
  closers.push(() => log.close())
  return log
}

async function startDevnet(context: StartContext, archival: boolean | undefined): Promise<Devnet> {
  const { directory, closers, onPorts, onError, ledgerEvents } = context
  const onRequest = context.onRequestOf('devnet')
  const stateFile = directory.isEphemeral ? undefined : join(directory.path, 'ledger.log')
  const devnet = await onPorts(async (portFor) => {
    const [port, indexerPort] = [await portFor(ports.devnet), await portFor(ports.indexer)]
    const options = { port, indexer: { port: indexerPort }, stateFile, archival, onError, onRequest }
    return Devnet.start({ ...options, onLine: ledgerEvents.onLine })
  }).catch((cause: unknown) => {
    if (!(cause instanceof StateFileError)) throw cause
    const hint = 'start over with latchkey dev --fresh, which moves the old files to the directory previous'
    throw new CommandError('stack_unusable', `the previous dev stack's ledger cannot be used: ${cause.message}`, {
      hint,
      cause,
    })
  })
  closers.push(() => devnet.stop())
  return devnet
}

/** A restart keeps the balance of the buyer. A buyer that cannot pay for a single request is funded like a new one. */
async function fundBuyer(devnet: Devnet, chain: Chain, buyer: string): Promise<boolean> {
  const holding = await chain.algod.holding(buyer, dollarAssetId)
  if (holding !== undefined && holding.amount >= priceMicroDollars) return false
  const { microAlgos } = await chain.algod.account(buyer)
  const missingAlgos = microAlgos < buyerMicroAlgos ? buyerMicroAlgos - microAlgos : 0n
  devnet.fund(buyer, { microAlgos: missingAlgos, microDollars: buyerMicroDollars })
  return true
}

async function startFacilitator(context: StartContext, devnet: Devnet, chain: Chain): Promise<string> {
  const { directory, closers, onPorts, allowedOrigins, onError, onEvent, ledgerEvents } = context
  const store = new SqliteSettlements(join(directory.path, 'facilitator.db'))
  const feePayer = Signer.fromMnemonic(devnet.accounts[0]!.mnemonic)
  // The sellers of a stack are on this machine.
  const discovery = { allowPrivate: true }
  const options = { chains: [chain], feePayer, store, discovery, onError }
  const facilitator = new ReportingFacilitator(options, onEvent, ledgerEvents)
  closers.push(() => facilitator.stop())
  if (directory.isKept) await facilitator.resume()
  const fetch = onlyLocalHosts(allowOrigins(createFacilitatorHandler({ facilitator, onError }), allowedOrigins))
  return onPorts(async (portFor) => {
    const onRequest = context.onRequestOf('facilitator')
    const server = new Server({ fetch, onRequest, ...(onError === undefined ? {} : { onError }) })
    const { port } = await server.listen('127.0.0.1', await portFor(ports.facilitator))
    closers.push(() => server.stop())
    return `http://127.0.0.1:${port}`
  })
}

async function startExplorer(
  { closers, onPorts, onError }: StartContext,
  devnet: Devnet,
  buyer: string,
): Promise<string> {
  const { fetchIndexer, dollarIds, onlineAccounts, faucet, accounts } = devnet
  const named = [...onlineAccounts, faucet, ...accounts].map((one) => [one.address, accountLabel(one.name)] as const)
  const explorer = createExplorer({
    indexer: async (path) => fetchIndexer!(new Request(`http://127.0.0.1${path}`)),
    dollarAssetIds: dollarIds,
    names: new Map([...named, [buyer, 'buyer']]),
  })
  return onPorts(async (portFor) => {
    const server = new Server({ fetch: onlyLocalHosts(explorer), ...(onError === undefined ? {} : { onError }) })
    const { port } = await server.listen('127.0.0.1', await portFor(ports.explorer))
    closers.push(() => server.stop())
    return `http://127.0.0.1:${port}`
  })
}

/** The seller listens before it has routes, so that it cannot take the port of another part. */
type Listener = { readonly url: string; readonly server: HttpServer }

function listenForSeller({ closers, onPorts }: StartContext): Promise<Listener> {
  return onPorts(async (portFor) => {
    const server = createServer()
    const port = await listen(server, await portFor(ports.seller))
    closers.push(() => closeHttp(server))
    return { url: `http://127.0.0.1:${port}`, server }
  })
}

/** Claims must survive a restart, because the ledger still has the payments. */
function openClaims({ directory, closers }: StartContext): SqliteClaims | undefined {
  if (directory.isEphemeral) return undefined
  const claims = new SqliteClaims(join(directory.path, 'seller.db'))
  closers.push(() => claims.close())
  return claims
}

async function startSeller(
  { closers, onError, onEvent, onRequestOf }: StartContext,
  { server }: Listener,
  claims: SqliteClaims | undefined,
  parts: StackParts,
): Promise<void> {
  const { chain, seller: payTo, facilitatorUrl: facilitators, kmdUrl } = parts
  const paywall = { kmd: { url: kmdUrl, token, wallet: buyerWallet } }
  const exports = (): string => exportLines(environmentOf(parts))
  const hooks = sellerEvents(onEvent)
  const seller = await createSeller({ chain, payTo, facilitators, claims, paywall, exports, onError, hooks })
  closers.push(() => seller.close())
  const recording = { routeOf, paymentOf: paymentIdOf, onRequest: onRequestOf('seller') }
  server.on('request', recordRequests(seller.listener, recording))
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
