/** A development ledger that serves the algod API, in this process. */
import { Server } from '@latchkey/http'
import * as App from './App.js'
import type { Fault } from './Faults.js'
import type { Change } from './ledger/Change.js'
import * as Genesis from './ledger/Genesis.js'
import * as Key from './ledger/Key.js'
import { defaultHistory, Ledger } from './ledger/Ledger.js'
import { type BlockMode, Node } from './Node.js'
import * as Dump from './store/Dump.js'
import * as DumpFile from './store/DumpFile.js'
import { LogFile } from './store/LogFile.js'

export type DevnetOptions = {
  /** 0 takes a free one. */
  port?: number | undefined
  /** Loopback unless told otherwise. Cheats stay with programs on this machine in any case. */
  host?: string | undefined
  /** Asked of clients if it is set; otherwise they need none. */
  token?: string | undefined
  blocks?: BlockMode | undefined
  /** How many funded accounts there are beside the dispenser. */
  accounts?: number | undefined
  /** A file in which everything that is answered survives this process; made if it is missing. */
  stateFile?: string | undefined
  /** The state file is written anew, without what is over, when it has grown by this much. */
  compactBytes?: number | undefined
  /** How many of the latest blocks are kept. */
  historyBlocks?: number | undefined
  /** A readable line for every transaction. */
  onLine?: ((line: string) => void) | undefined
  /** Told about faults of the devnet's own. */
  onError?: ((error: unknown) => void) | undefined
}

export type Funding = {
  microAlgos?: bigint | undefined
  /** Of both dollar assets, in millionths. */
  microDollars?: bigint | undefined
  assets?: readonly { assetId: bigint; amount: bigint }[] | undefined
}

export const defaultPort = 4001
const defaultAccounts = 5
const bodyBytes = 10 * 1024 * 1024
const defaultCompactBytes = 256 * 1024 * 1024

export class Devnet {
  readonly url: string
  readonly token: string | undefined
  readonly #node: Node
  readonly #server: Server
  readonly #log: LogFile | undefined
  #stopping: Promise<void> | undefined
  #tellStopped!: (stopping: Promise<void>) => void
  /** Settles when it has been stopped, by whomever, as that did. */
  readonly stopped = new Promise<void>((resolve) => {
    this.#tellStopped = resolve
  })

  private constructor(url: string, token: string | undefined, node: Node, server: Server, log: LogFile | undefined) {
    this.url = url
    this.token = token
    this.#node = node
    this.#server = server
    this.#log = log
  }

  static async start(options: DevnetOptions = {}): Promise<Devnet> {
    const { port = defaultPort, host = '127.0.0.1', token, blocks = 'instant', onLine, onError } = options
    checkBlockMode(blocks)
    const genesis = Genesis.make({ accountCount: options.accounts ?? defaultAccounts })
    const { ledger, log } = await openLedger(genesis, options)
    const node = new Node({ ledger, blocks, onLine })
    const synced = log && (() => (log.isSynced ? undefined : log.synced()))
    const server = new Server({ handle: App.create({ node, token, synced, onError }), limits: { bodyBytes } })
    try {
      const address = await server.listen(host, port)
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
      return new Devnet(`http://${name}:${address.port}`, token, node, server, log)
    } catch (error) {
      node.stop()
      await log?.close()
      throw error
    }
  }

  /** The account that everything is funded from. Its key is known to everybody. */
  get dispenser(): Genesis.DevAccount {
    return this.#node.ledger.genesis.dispenser
  }

  get accounts(): readonly Genesis.DevAccount[] {
    return this.#node.ledger.genesis.accounts
  }

  get genesisHash(): string {
    return Buffer.from(Key.bytes(this.#node.ledger.genesis.chain.genesisHash)).toString('base64')
  }

  get genesisId(): string {
    return this.#node.ledger.genesis.chain.genesisId
  }

  get dollarIds(): readonly bigint[] {
    return Genesis.dollarIds
  }

  get round(): bigint {
    return this.#node.ledger.last.round
  }

  /** Gives an account what is asked for, opted in to assets by force and with the Algos that takes. */
  fund(address: string, { microAlgos = 0n, microDollars = 0n, assets = [] }: Funding): void {
    const dollars = microDollars === 0n ? [] : Genesis.dollarIds.map((assetId) => ({ assetId, amount: microDollars }))
    this.#node.ledger.give({ type: 'gift', to: Key.fromAddress(address), microAlgos, assets: [...dollars, ...assets] })
  }

  optIn(address: string, assetId: bigint): void {
    this.fund(address, { assets: [{ assetId, amount: 0n }] })
  }

  mine(rounds = 1): void {
    this.#node.mine(rounds)
  }

  /** In seconds since 1970; the next block has it. */
  setTime(timestamp: bigint): void {
    this.#node.ledger.setTime(timestamp)
  }

  snapshot(): number {
    return this.#node.snapshot()
  }

  revert(snapshot: number): void {
    if (!this.#node.revert(snapshot)) throw new RangeError(`there is no snapshot ${snapshot}`)
  }

  reset(): void {
    this.#node.reset()
  }

  addFault(fault: Fault): void {
    this.#node.faults.add(fault)
  }

  /** The same for two ledgers in the same state. */
  stateHash(): string {
    return Dump.hash(this.#node.ledger.moment())
  }

  /** Everything, as a text that `load` takes. */
  dump(): string {
    return Dump.write(this.#node.ledger.moment(), this.#node.ledger.genesis.chain.genesisHash)
  }

  load(text: string): void {
    this.#node.ledger.restore(Dump.read(text, this.#node.ledger.genesis))
  }

  /** Writes a dump, in the place of what is there once it is on the disk as a whole. */
  dumpTo(path: string): Promise<void> {
    return DumpFile.write(path, this.#node.ledger.moment(), this.#node.ledger.genesis.chain.genesisHash)
  }

  async loadFrom(path: string): Promise<void> {
    this.#node.ledger.restore(await DumpFile.read(path, this.#node.ledger.genesis))
  }

  /** Rejects if not everything got into the state file. */
  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      this.#stopping = this.#stop()
      this.#tellStopped(this.#stopping)
    }
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#node.stop()
    await this.#server.stop()
    await this.#log?.close()
  }
}

function checkBlockMode(blocks: BlockMode): void {
  if (typeof blocks === 'string') return
  if (!Number.isInteger(blocks.everyMs) || blocks.everyMs < 1 || blocks.everyMs > 3_600_000) {
    throw new RangeError('blocks come every 1 to 3,600,000 ms')
  }
}

async function openLedger(
  genesis: Genesis.Genesis,
  { stateFile, compactBytes = defaultCompactBytes, historyBlocks, onError = () => {} }: DevnetOptions,
): Promise<{ ledger: Ledger; log: LogFile | undefined }> {
  let journal: (change: Change) => void = () => {}
  const history = { ...defaultHistory, blocks: historyBlocks ?? defaultHistory.blocks }
  const ledger = new Ledger({ genesis, history, journal: (change) => journal(change) })
  if (stateFile === undefined) return { ledger, log: undefined }
  const log = await LogFile.open({ path: stateFile, genesis, replay: (change) => ledger.replay(change) })
  let isCompacting = false
  const compact = async (): Promise<void> => {
    try {
      await log.compact(ledger.moment())
    } catch (error) {
      onError(error)
    }
    isCompacting = false
  }
  journal = (change) => {
    log.append(change)
    if (isCompacting || log.bytesSinceCompaction <= compactBytes) return
    isCompacting = true
    // Not before the change has happened: the moment has to include it.
    setImmediate(compact)
  }
  return { ledger, log }
}
