/**
 * Returns reservations for transactions that can no longer enter the ledger. A reservation is returned only if a node
 * of the same network is past the last valid round and has every block from the first to the last valid round without
 * the transaction. Otherwise, it counts as spent.
 */
import { AlgodError } from '@latchkey/algod'
import { Bytes, Transaction } from '@latchkey/algorand'
import type { LedgerClient } from '../api/NodeClient.js'
import type { StoredAgent } from './AgentStore.js'
import type { Agents } from './Agents.js'
import type { OpenReservation } from './Reservations.js'
import { UptoKeeper } from './UptoKeeper.js'

export type ReservationKeeperOptions = {
  agents: Agents
  /** The daemon's current node; undefined if there is none. */
  node: () => LedgerClient | undefined
  /** Called with errors not caused by the node. */
  onFailure: (error: unknown) => void
  /** @default 30 seconds */
  intervalMs?: number
}

const defaultIntervalMs = 30_000
/** The delay after the start, which has more urgent work. */
const firstMs = 2_000
/** A node's answers are considered final this many rounds after the last valid round. */
const marginRounds = 10n
/** Per agent and run. */
const mostReservations = 500
/** Per run, for all agents. */
const mostBlocks = 4_000

export class ReservationKeeper {
  readonly #options: ReservationKeeperOptions
  readonly #upto: UptoKeeper
  /** By agent and network: this node cannot decide the remaining reservations up to this number. */
  readonly #decidedUpTo = new Map<string, number>()
  /** The number of the agent that used up the block budget of the last run. */
  #lastAgent = 0
  #timer: NodeJS.Timeout | undefined
  #interval: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(options: ReservationKeeperOptions) {
    this.#options = options
    this.#upto = new UptoKeeper(options.agents.spending)
  }

  /** Starts periodic runs. Does not keep the process alive. */
  start(): void {
    const { intervalMs = defaultIntervalMs } = this.#options
    this.#timer = setTimeout(() => void this.run(), firstMs).unref()
    this.#interval = setInterval(() => void this.run(), intervalMs).unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearInterval(this.#interval)
    await this.#running
  }

  /** Runs once. A second call during a run waits for the first. */
  run(): Promise<void> {
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #look(): Promise<void> {
    if (this.#isClosed) return
    try {
      await this.#options.agents.tidy()
      const node = this.#options.node()
      if (node !== undefined) await this.#decideBy(node)
    } catch (error) {
      // A node that does not respond decides nothing and is asked again.
      if (!(error instanceof AlgodError)) this.#options.onFailure(error)
    }
  }

  async #decideBy(node: LedgerClient): Promise<void> {
    const { agents } = this.#options
    const { spending, live } = agents
    if (live.length === 0) return
    const { genesisHash, lastRound } = await node.parameters()
    const network = Bytes.toBase64(genesisHash)
    await agents.noteRound(node, network, lastRound)
    const blocks = new Blocks(node)
    const overRound = lastRound - marginRounds
    const run = { node, network, lastRound, overRound }
    this.#upto.begin(run)
    for (const [index, stored] of this.#inTurn(live).entries()) {
      // Lets other work run in between.
      if (index % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
      if (this.#isClosed) return
      const key = `${stored.number} ${network}`
      const after = this.#decidedUpTo.get(key) ?? 0
      const over = { network, lastValid: overRound, after, count: mostReservations }
      const reservations = spending.over(stored.number, over)
      const valid = spending.firstValid(stored.number, over)
      if (reservations.length > 0) await this.#decide(stored, reservations, blocks)
      const isUptoDecided = await this.#upto.decide(stored, run)
      if (blocks.isExhausted || !isUptoDecided) {
        this.#lastAgent = stored.number
        return
      }
      // Reservations that stayed open need blocks that this node does not have and never will have again.
      const last = reservations.length < mostReservations ? valid : reservations.at(-1)!.number
      this.#decidedUpTo.set(key, Math.min(last, valid - 1))
    }
  }

  /** The agent that used up the blocks comes last, so it cannot starve the others. */
  #inTurn(live: readonly StoredAgent[]): readonly StoredAgent[] {
    const first = live.findIndex(({ number }) => number > this.#lastAgent)
    return first < 0 ? live : [...live.slice(first), ...live.slice(0, first)]
  }

  async #decide(stored: StoredAgent, reservations: readonly OpenReservation[], blocks: Blocks): Promise<void> {
    const { spending } = this.#options.agents
    const found: number[] = []
    const absent: OpenReservation[] = []
    for (const reservation of reservations) {
      const answer = await blocks.search(reservation)
      if (answer === 'found') found.push(reservation.number)
      else if (answer === 'absent') absent.push(reservation)
    }
    if (found.length > 0) await spending.confirm(stored, found)
    // The node may have been replaced by one of another network in the meantime.
    if (absent.length === 0 || !(await blocks.isStillOf(absent[0]!.network))) return
    await spending.giveBack(stored, absent)
  }
}

/** A node's blocks, each read once. */
class Blocks {
  readonly #node: LedgerClient
  readonly #ids = new Map<bigint, Promise<ReadonlySet<string> | undefined>>()

  constructor(node: LedgerClient) {
    this.#node = node
  }

  get isExhausted(): boolean {
    return this.#ids.size >= mostBlocks
  }

  async search({ transactionId, firstValid, lastValid }: OpenReservation): Promise<'found' | 'absent' | 'unknown'> {
    const wanted = Transaction.encodeId(transactionId)
    // Round 0 has no transactions, and some nodes do not serve it.
    for (let round = firstValid > 0n ? firstValid : 1n; round <= lastValid; round++) {
      const ids = await this.#read(round)
      if (ids === undefined) return 'unknown'
      if (ids.has(wanted)) return 'found'
    }
    return 'absent'
  }

  async isStillOf(network: string): Promise<boolean> {
    return Bytes.toBase64((await this.#node.parameters()).genesisHash) === network
  }

  #read(round: bigint): Promise<ReadonlySet<string> | undefined> {
    const known = this.#ids.get(round)
    if (known !== undefined) return known
    if (this.isExhausted) return Promise.resolve(undefined)
    const reading = this.#node.blockTransactionIds(round).then(
      (ids) => new Set(ids),
      (error) => {
        if (error instanceof AlgodError && error.code === 'not_found') return undefined
        throw error
      },
    )
    this.#ids.set(round, reading)
    return reading
  }
}
