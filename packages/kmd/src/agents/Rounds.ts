/**
 * Tracks the last rounds of public networks, as reported by the daemon's node, to refuse post-dated payments. Payments
 * signed on many days and all valid on the same day would exceed a daily limit.
 *
 * The last known round is stored in the file, so that a restart while the node does not respond opens no gap. Between
 * two reports, a round is at most the highest one possible in the elapsed time.
 */
import { AlgodError } from '@latchkey/algod'
import { Bytes, Network } from '@latchkey/algorand'
import type { LedgerClient } from '../api/NodeClient.js'
import type { StateDatabase } from '../state/StateDatabase.js'

export const roundSchema = `
  CREATE TABLE rounds (
    network TEXT PRIMARY KEY,
    round INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
  ) STRICT;
`

/**
 * `unchecked`: the daemon has no node for the network, so its rounds cannot be known. `unknown`: its node did not
 * respond.
 */
export type LastRound = bigint | 'unchecked' | 'unknown'

export type RoundsOptions = { database: StateDatabase; clock: SpendingClock }

type Noted = { readonly round: bigint; readonly atMs: number }

/** Shorter than a round on any public network. */
const leastRoundMs = 2_000
/** About the time of a round on public networks. Over hours, {@link leastRoundMs} would be too inaccurate. */
const usualRoundMs = 2_800
const exactMs = 3_600_000
/** The file is written at most this often. */
const storeEveryMs = 600_000
/** The delay after a missing response. */
const askAgainMs = 1_000

export class Rounds {
  readonly #database: StateDatabase
  readonly #clock: SpendingClock
  readonly #noted = new Map<string, Noted>()
  readonly #storedAtMs = new Map<string, number>()
  #node: () => LedgerClient | undefined = () => undefined
  /** The network of the node that responded last. */
  #answered: { readonly node: LedgerClient; readonly network: string } | undefined
  #asking: Promise<void> | undefined
  #askedAtMs = Number.NEGATIVE_INFINITY

  constructor({ database, clock }: RoundsOptions) {
    this.#database = database
    this.#clock = clock
    database.listen({ onReopen: () => this.#noted.clear() })
  }

  /** Sets the daemon's current node; undefined if there is none. */
  useNode(node: () => LedgerClient | undefined): void {
    this.#node = node
    this.#askedAtMs = Number.NEGATIVE_INFINITY
  }

  /** An upper bound of a network's last round. */
  last(network: string): LastRound {
    const node = this.#node()
    if (node === undefined || !isPublic(network)) return 'unchecked'
    if (this.#answered?.node === node && this.#answered.network !== network) return 'unchecked'
    const noted = this.#noted.get(network) ?? this.#read(network)
    if (noted === undefined) return 'unknown'
    return noted.round + BigInt(roundsIn(Math.max(0, this.#clock.now() - noted.atMs)))
  }

  /**
   * A round that a public network has certainly reached: the one that the daemon's node reported last, which may be long
   * ago. Undefined if it reported none, and for a local network, which may start again at round 0.
   */
  reached(network: string): bigint | undefined {
    if (!isPublic(network)) return undefined
    return (this.#noted.get(network) ?? this.#read(network))?.round
  }

  /** Asks the node if the network's round is unknown. Also resolves if the node does not respond. */
  async learn(network: string): Promise<void> {
    if (this.last(network) !== 'unknown') return
    const nowMs = this.#clock.now()
    if (this.#asking === undefined && nowMs - this.#askedAtMs < askAgainMs) return
    this.#askedAtMs = nowMs
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    await this.#asking
  }

  /** Records a round reported by a node, and stores it in the file. */
  async note(node: LedgerClient, network: string, round: bigint): Promise<void> {
    this.#answered = { node, network }
    if (!isPublic(network)) return
    const atMs = this.#clock.now()
    this.#noted.set(network, { round, atMs })
    const storedAtMs = this.#storedAtMs.get(network)
    if (storedAtMs !== undefined && atMs - storedAtMs < storeEveryMs) return
    await this.#database.change(() => {
      const sql = 'INSERT OR REPLACE INTO rounds (network, round, at_ms) VALUES (?, ?, ?)'
      this.#database.statement(sql).run(network, round, atMs)
    })
    this.#storedAtMs.set(network, atMs)
  }

  async #ask(): Promise<void> {
    const node = this.#node()
    if (node === undefined) return
    try {
      const { genesisHash, lastRound } = await node.parameters()
      await this.note(node, Bytes.toBase64(genesisHash), lastRound)
    } catch (error) {
      // A node that does not respond is asked again by a later request.
      if (!(error instanceof AlgodError)) throw error
    }
  }

  #read(network: string): Noted | undefined {
    if (!this.#database.exists) return undefined
    const row = this.#database.statement('SELECT round, at_ms FROM rounds WHERE network = ?').get(network) as
      | { round: number; at_ms: number }
      | undefined
    if (row === undefined) return undefined
    const noted = { round: BigInt(row.round), atMs: row.at_ms }
    this.#noted.set(network, noted)
    return noted
  }
}

/** A local network makes rounds as fast as payments arrive. */
function isPublic(network: string): boolean {
  return Network.known.some(({ genesisHash }) => genesisHash === network)
}

/** The maximum number of rounds in a time span. */
function roundsIn(ms: number): number {
  if (ms <= exactMs) return Math.ceil(ms / leastRoundMs)
  return exactMs / leastRoundMs + Math.ceil((ms - exactMs) / usualRoundMs)
}

type SpendingClockOptions = {
  database: StateDatabase
  /** Milliseconds since 1970. */
  now?: () => number
  /** A monotonic clock, in milliseconds from an arbitrary start. */
  elapsed?: () => number
}

/**
 * The clock for limits and expiry. Its time never goes backwards: the file stores the highest time used, which is the
 * earliest time after a restart. While the machine's clock is behind, this clock advances by elapsed time.
 */
export class SpendingClock {
  readonly #database: StateDatabase
  readonly #now: () => number
  readonly #elapsed: () => number
  #highestMs: number | undefined
  #elapsedMs = 0
  #storedMs = 0

  constructor({ database, now = Date.now, elapsed = () => performance.now() }: SpendingClockOptions) {
    this.#database = database
    this.#now = now
    this.#elapsed = elapsed
  }

  now(): number {
    const elapsedMs = this.#elapsed()
    const passedMs = this.#highestMs === undefined ? 0 : Math.max(0, elapsedMs - this.#elapsedMs)
    const highestMs = this.#highestMs ?? this.#read()
    this.#elapsedMs = elapsedMs
    // Kept with its fraction, because many short intervals would otherwise add up to nothing.
    this.#highestMs = Math.max(this.#now(), highestMs + passedMs)
    return Math.floor(this.#highestMs)
  }

  /** Writes the time that was used. Call only within `StateDatabase.change`. */
  write(nowMs: number): void {
    if (nowMs <= this.#storedMs) return
    this.#database
      .statement('INSERT INTO clock (one, highest_ms) VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET highest_ms = ?1')
      .run(nowMs)
    this.#storedMs = nowMs
  }

  /** Called after a transaction was rolled back. */
  forgetStored(): void {
    this.#storedMs = 0
  }

  #read(): number {
    if (!this.#database.exists) return 0
    const row = this.#database.statement('SELECT highest_ms FROM clock').get() as { highest_ms: number } | undefined
    return row?.highest_ms ?? 0
  }
}
