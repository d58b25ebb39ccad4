/** A development ledger that serves the algod API and the indexer API, in this process. */
import { type FetchHandler, type RawHandler, type RequestRecord, Server, toFetch } from '@latchkey/http'
import { type BlockMode, DevnetNode, type Fault } from './DevnetNode.js'
import { DevnetError } from './errors.js'
import * as IndexerHandler from './indexer/IndexerHandler.js'
import * as Genesis from './ledger/Genesis.js'
import * as MapKey from './ledger/MapKey.js'
import * as avm from './ledger/programs/avm.js'
import { openLedger } from './openLedger.js'
import * as RequestHandler from './RequestHandler.js'
import * as Dump from './store/Dump.js'
import * as DumpFile from './store/DumpFile.js'
import type { StateFile } from './store/StateFile.js'

/** Options of {@link createDevnetHandler}. */
export type DevnetHandlerOptions = {
  /**
   * The token that clients must send in `X-Algo-API-Token`.
   * @default none: clients need no token
   */
  token?: string | undefined
  /**
   * When blocks are made.
   * @default 'instant'
   */
  blocks?: BlockMode | undefined
  /**
   * Number of funded accounts in addition to the online accounts and the faucet, 0 to 100.
   * @default 5
   */
  accounts?: number | undefined
  /**
   * The reported genesis hash in base64, for clients that know a public network only by its hash. A transaction signed
   * for a devnet with the hash of a public network can be valid on that network: sign with keys that are worthless
   * there.
   * @default the hash of its own genesis
   */
  genesisHash?: string | undefined
  /**
   * The reported genesis id, such as `testnet-v1.0`.
   * @default that of the public network whose hash is given; otherwise `dockernet-v1`
   */
  genesisId?: string | undefined
  /**
   * A file in which all acknowledged changes survive the process. It is created if missing.
   * @default none: the state ends with the process
   */
  stateFile?: string | undefined
  /**
   * The state file is compacted when it has grown by this many bytes.
   * @default 268435456
   */
  compactBytes?: number | undefined
  /**
   * Number of latest blocks that are kept.
   * @default 10000
   */
  historyBlocks?: number | undefined
  /**
   * Whether all blocks are kept, in memory. Cannot be combined with `historyBlocks`.
   * @default false
   */
  archival?: boolean | undefined
  /**
   * Whether the indexer API is served too. It covers the kept blocks, and the creation rounds of everything that
   * exists.
   * @default false
   */
  indexer?: boolean | undefined
  /**
   * Called with a readable line for every transaction.
   * @default none
   */
  onLine?: ((line: string) => void) | undefined
  /**
   * Called with internal errors.
   * @default none
   */
  onError?: ((error: unknown) => void) | undefined
}

/** Options of {@link Devnet.start}. */
export type DevnetOptions = Omit<DevnetHandlerOptions, 'indexer'> & {
  /**
   * The port to listen on; 0 selects a free one.
   * @default 4001
   */
  port?: number | undefined
  /**
   * The address to listen on. Cheats are always restricted to programs on this machine.
   * @default '127.0.0.1'
   */
  host?: string | undefined
  /**
   * Whether the indexer API is served too, on a separate port: 8980, or the one given here; 0 selects a free one.
   * @default false
   */
  indexer?: boolean | { port?: number | undefined } | undefined
  /**
   * Called with each finished request, for a log. Responses then have an `X-Request-Id`.
   * @default none
   */
  onRequest?: ((record: RequestRecord) => void) | undefined
}

/** The funds that {@link DevnetHandler.fund} moves to an account. */
export type Funding = {
  /** @default 0n */
  microAlgos?: bigint | undefined
  /**
   * The amount of both dollar assets, in millionths.
   * @default 0n
   */
  microDollars?: bigint | undefined
  /**
   * Other assets, in base units.
   * @default []
   */
  assets?: readonly { assetId: bigint; amount: bigint }[] | undefined
}

/** The default port of {@link Devnet.start}, which is that of AlgoKit's local network. */
export const defaultPort = 4001
/** The default port of the indexer API, which is also that of AlgoKit's local network. */
export const defaultIndexerPort = 8980
const defaultAccounts = 5
const maxBodyBytes = 10 * 1024 * 1024
/** The indexer API has no requests with a body. */
const maxIndexerBodyBytes = 1024

type Parts = {
  node: DevnetNode
  stateFile: StateFile | undefined
  handle: RawHandler
  handleIndexer: RawHandler | undefined
  token: string | undefined
}

/**
 * A devnet without a server: any server can host its `fetch`. Created by {@link createDevnetHandler}.
 *
 * Methods that change the ledger throw a `StateFileError` if there is a state file and it cannot be written.
 */
export class DevnetHandler {
  /**
   * Responds to a request, as a server's handler. Cheats are served only if `info.remoteAddress` is a loopback address,
   * the host is a loopback name, and the origin is absent or on a loopback address. A server that does not pass `info`
   * serves none. `Response.error()` asks the server to close the connection, for the fault `drop`.
   */
  readonly fetch: FetchHandler
  /** The handler of the indexer API, if it is served. */
  readonly fetchIndexer: FetchHandler | undefined
  /** The token that clients must send, if there is one. */
  readonly token: string | undefined
  readonly #node: DevnetNode
  readonly #stateFile: StateFile | undefined
  readonly #stopServer: () => Promise<void>
  #stopping: Promise<void> | undefined
  #resolveStopped!: (stopping: Promise<void>) => void
  /** Settles like the first `stop`. */
  readonly stopped = new Promise<void>((resolve) => {
    this.#resolveStopped = resolve
  })

  /** @internal */
  constructor(
    { node, stateFile, handle, handleIndexer, token }: Parts,
    stopServer: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.fetch = toFetch(handle, { bodyBytes: maxBodyBytes })
    this.fetchIndexer = handleIndexer && toFetch(handleIndexer, { bodyBytes: maxIndexerBodyBytes })
    this.token = token
    this.#node = node
    this.#stateFile = stateFile
    this.#stopServer = stopServer
  }

  /** The account from which tools fund others: the first of {@link onlineAccounts}. Its key is public. */
  get dispenser(): Genesis.DevAccount {
    return this.#node.ledger.genesis.dispenser
  }

  /**
   * The accounts in the wallet of AlgoKit's local network: 4, 4 and 2 billion Algos, online with participation keys.
   * Only transactions change them. Their keys are public.
   */
  get onlineAccounts(): readonly Genesis.DevAccount[] {
    return this.#node.ledger.genesis.onlineAccounts
  }

  /** The account that issued the dollars, and from which {@link fund} takes its funds. Its key is public. */
  get faucet(): Genesis.DevAccount {
    return this.#node.ledger.genesis.faucet
  }

  /** The funded accounts, the same for every devnet. Their keys are public. */
  get accounts(): readonly Genesis.DevAccount[] {
    return this.#node.ledger.genesis.accounts
  }

  /** The genesis hash in base64. */
  get genesisHash(): string {
    return Buffer.from(MapKey.bytes(this.#node.ledger.genesis.chain.genesisHash)).toString('base64')
  }

  /** The genesis document in JSON, as nodes store it in `genesis.json`. */
  get genesis(): string {
    return this.#node.ledger.genesis.json
  }

  /** The genesis id. */
  get genesisId(): string {
    return this.#node.ledger.genesis.chain.genesisId
  }

  /** The asset ids of the dollar: those of USDC on MainNet and on TestNet. */
  get dollarIds(): readonly bigint[] {
    return Genesis.dollarIds
  }

  /** The round of the last block. */
  get round(): bigint {
    return this.#node.ledger.last.round
  }

  /**
   * Funds an account from the faucet, without a transaction. Opts it in to the assets, and adds the Algos that this
   * requires.
   *
   * @throws LedgerError with the code `rule_violation`: an unknown asset, too little supply, or less than the minimum
   * balance.
   * @throws Address.AddressError of `@latchkey/algorand` if the address is invalid.
   * @example
   * devnet.fund(address, { microAlgos: 10_000_000n, microDollars: 5_000_000n })
   */
  fund(address: string, { microAlgos = 0n, microDollars = 0n, assets = [] }: Funding): void {
    const dollars = microDollars === 0n ? [] : Genesis.dollarIds.map((assetId) => ({ assetId, amount: microDollars }))
    const to = MapKey.fromAddress(address)
    this.#node.ledger.fund({ type: 'fund', to, microAlgos, assets: [...dollars, ...assets] })
  }

  /**
   * Opts an account in to an asset, without a transaction.
   *
   * @throws LedgerError with the code `rule_violation` if the asset does not exist.
   */
  optIn(address: string, assetId: bigint): void {
    this.fund(address, { assets: [{ assetId, amount: 0n }] })
  }

  /** Makes blocks; the first includes all pending transactions. */
  mine(rounds = 1): void {
    this.#node.mine(rounds)
  }

  /**
   * Sets the time of the next block, in seconds since 1970. The clock continues from there.
   *
   * @throws DevnetError with the code `invalid_time` if it is before the last block.
   */
  setTime(timestamp: bigint): void {
    this.#node.ledger.setTime(timestamp)
  }

  /** Takes a snapshot and returns its number. The latest 100 are kept, in memory only. */
  snapshot(): number {
    return this.#node.snapshot()
  }

  /**
   * Restores a snapshot, any number of times. Later snapshots are deleted.
   *
   * @throws DevnetError with the code `unknown_snapshot`.
   */
  revert(snapshot: number): void {
    this.#node.revert(snapshot)
  }

  /** Restores the genesis state and deletes snapshots and faults. */
  reset(): void {
    this.#node.reset()
  }

  /**
   * Injects a fault.
   *
   * @throws DevnetError with the code `too_many_faults`.
   * @example
   * devnet.addFault({ type: 'drop', count: 1 })
   */
  addFault(fault: Fault): void {
    this.#node.faults.add(fault)
  }

  /** A hash that is equal for two ledgers in the same state. */
  stateHash(): string {
    return Dump.hash(this.#node.ledger.snapshot())
  }

  /**
   * Returns the whole ledger as JSON text for `load`.
   *
   * @throws DumpError with the code `dump_too_large`.
   */
  dump(): string {
    return Dump.write(this.#node.ledger.snapshot(), this.#node.ledger.genesis.chain.genesisHash)
  }

  /**
   * Replaces the ledger with a dump. If the dump has pending groups with programs, use `loadFrom`, which loads the
   * evaluator of programs first.
   *
   * @throws DumpError if the dump is invalid; the ledger is unchanged.
   */
  load(text: string): void {
    this.#node.ledger.restore(Dump.read(text, this.#node.ledger.genesis))
  }

  /**
   * Writes a dump to a file, which is replaced once the whole dump is on the disk.
   *
   * @throws DumpError
   */
  dumpTo(path: string): Promise<void> {
    return DumpFile.write(path, this.#node.ledger.snapshot(), this.#node.ledger.genesis.chain.genesisHash)
  }

  /**
   * Replaces the ledger with the dump in a file.
   *
   * @throws DumpError if the file cannot be read or the dump is invalid; the ledger is unchanged.
   */
  async loadFrom(path: string): Promise<void> {
    await avm.load()
    this.#node.ledger.restore(await DumpFile.read(path, this.#node.ledger.genesis))
  }

  /**
   * Ends all waiting requests and the server if there is one, and closes the state file.
   *
   * @throws StateFileError if a change could not be written to the state file.
   */
  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      this.#stopping = this.#stop()
      this.#resolveStopped(this.#stopping)
    }
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#node.stop()
    await this.#stopServer()
    await this.#stateFile?.close()
  }
}

/** A devnet that listens on a port. */
export class Devnet extends DevnetHandler {
  /** The address for clients, such as `http://127.0.0.1:4001`. */
  readonly url: string
  /** The address for clients of the indexer API, such as `http://127.0.0.1:8980`, if it is served. */
  readonly indexerUrl: string | undefined

  private constructor(parts: Parts, { server, url, indexer }: Listening) {
    super(parts, async () => {
      await indexer?.server.stop()
      await server.stop()
    })
    this.url = url
    this.indexerUrl = indexer?.url
  }

  /**
   * Starts a devnet.
   *
   * @throws DevnetError with the codes `invalid_option`, `address_in_use` and `listen_failed`.
   * @throws StateFileError if the state file cannot be used; it is unchanged.
   * @example
   * const devnet = await Devnet.start({ port: 0, indexer: { port: 0 } })
   * const algod = new algosdk.Algodv2('', devnet.url)
   * const indexer = new algosdk.Indexer('', devnet.indexerUrl, new URL(devnet.indexerUrl!).port)
   * await devnet.stop()
   */
  static async start(options: DevnetOptions = {}): Promise<Devnet> {
    const parts = await open({ ...options, indexer: Boolean(options.indexer) })
    try {
      return new Devnet(parts, await listenAll(parts, options))
    } catch (error) {
      parts.node.stop()
      await parts.stateFile?.close()
      throw error
    }
  }
}

type Listening = {
  readonly server: Server
  readonly url: string
  readonly indexer?: { readonly server: Server; readonly url: string } | undefined
}

async function listenAll({ handle, handleIndexer }: Parts, options: DevnetOptions): Promise<Listening> {
  const { port = defaultPort, indexer, ...others } = options
  const algod = await listen({ ...others, handle, port, bodyBytes: maxBodyBytes })
  if (handleIndexer === undefined) return algod
  const { port: indexerPort = defaultIndexerPort } = typeof indexer === 'object' ? indexer : {}
  try {
    const bodyBytes = maxIndexerBodyBytes
    return { ...algod, indexer: await listen({ ...others, handle: handleIndexer, port: indexerPort, bodyBytes }) }
  } catch (error) {
    await algod.server.stop()
    throw error
  }
}

type ListenOptions = Pick<DevnetOptions, 'host' | 'onError' | 'onRequest'> & {
  handle: RawHandler
  port: number
  bodyBytes: number
}

async function listen({ handle, host = '127.0.0.1', port, bodyBytes, onError = () => {}, onRequest }: ListenOptions) {
  const server = new Server({ handle, onError, onRequest, limits: { bodyBytes } })
  try {
    const address = await server.listen(host, port)
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
    return { server, url: `http://${name}:${address.port}` }
  } catch (error) {
    throw listenError(error, host, port)
  }
}

/**
 * Creates a devnet for any server: its `fetch` takes a `Request` and returns a `Response`.
 *
 * @throws DevnetError with the code `invalid_option`.
 * @throws StateFileError if the state file cannot be used; it is unchanged.
 * @example
 * const devnet = await createDevnetHandler()
 * const app = new Hono().all('*', (context) => devnet.fetch(context.req.raw))
 */
export async function createDevnetHandler(options: DevnetHandlerOptions = {}): Promise<DevnetHandler> {
  return new DevnetHandler(await open(options))
}

async function open(options: DevnetHandlerOptions): Promise<Parts> {
  const { token, blocks = 'instant', onLine, onError } = options
  checkBlockMode(blocks)
  const { accounts: accountCount = defaultAccounts, genesisHash, genesisId } = options
  const genesis = Genesis.make({ accountCount, genesisHash, genesisId })
  let opened: StateFile | undefined
  const synced = () => (opened === undefined || opened.isSynced ? undefined : opened.synced())
  let handleIndexer: RawHandler | undefined
  const { ledger, stateFile } = await openLedger({
    ...options,
    genesis,
    tracksLifetimes: options.indexer ?? false,
    onCreate: (created) => {
      if (options.indexer) handleIndexer = IndexerHandler.create({ ledger: created, token, synced, onError })
    },
  })
  opened = stateFile
  const node = new DevnetNode({ ledger, blocks, onLine })
  return {
    node,
    stateFile,
    token,
    handleIndexer,
    handle: RequestHandler.create({ node, token, synced: stateFile && synced, onError }),
  }
}

function listenError(cause: unknown, host: string, port: number): DevnetError {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return new DevnetError('address_in_use', `port ${port} of ${host} is in use`, cause)
  return new DevnetError('listen_failed', `the devnet cannot listen on port ${port} of ${host}: ${message}`, cause)
}

function checkBlockMode(blocks: BlockMode): void {
  if (typeof blocks === 'string') return
  if (!Number.isInteger(blocks.everyMs) || blocks.everyMs < 1 || blocks.everyMs > 3_600_000) {
    throw new DevnetError('invalid_option', 'blocks.everyMs must be from 1 to 3,600,000')
  }
}
