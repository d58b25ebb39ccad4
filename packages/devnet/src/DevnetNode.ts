/** A ledger with the functions of a running node: block production, waiting for blocks, snapshots and faults. */
import { BoundedMap, type Submission } from '@latchkey/algorand'
import { DevnetError } from './errors.js'
import { checkAddresses } from './ledger/addressCheck.js'
import type * as IncomingTransaction from './ledger/IncomingTransaction.js'
import type { Ledger } from './ledger/Ledger.js'
import type { Snapshot } from './ledger/LedgerChange.js'
import * as avm from './ledger/programs/avm.js'
import { ParticipationKeys } from './participation/ParticipationKeys.js'
import * as TransactionLine from './TransactionLine.js'

/** A failure injected on purpose, to test programs against it. It applies to the next `count` requests of its kind. */
export type Fault =
  /** Submissions take effect immediately, and get their response `ms` milliseconds later. */
  | { readonly type: 'delay'; readonly ms: number; readonly count: number }
  /** A submission takes effect, and the connection is closed without a response. */
  | { readonly type: 'drop'; readonly count: number }
  /** A submission gets this error and has no effect. */
  | { readonly type: 'fail'; readonly status: number; readonly message: string; readonly count: number }
  /** A submission is accepted, but automatic blocks wait `ms` milliseconds. A mined block includes it. */
  | { readonly type: 'hold'; readonly ms: number; readonly count: number }
  /** The lookup of a transaction gets 404 although the transaction exists. */
  | { readonly type: 'lose'; readonly count: number }

type OfType<T extends Fault['type']> = Extract<Fault, { type: T }>

export const maxFaults = 100

export class Faults {
  #faults: Fault[] = []

  add(fault: Fault): void {
    if (this.#faults.length >= maxFaults) {
      throw new DevnetError('too_many_faults', `${maxFaults} faults are already pending`)
    }
    this.#faults.push(fault)
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  clear(): void {
    this.#faults = []
  }

  /** Uses the first fault of this type once, which decrements its count. */
  take<T extends Fault['type']>(type: T): OfType<T> | undefined {
    if (this.#faults.length === 0) return undefined
    const index = this.#faults.findIndex((fault) => fault.type === type)
    if (index < 0) return undefined
    const fault = this.#faults[index] as OfType<T>
    if (fault.count > 1) this.#faults[index] = { ...fault, count: fault.count - 1 }
    else this.#faults.splice(index, 1)
    return fault
  }
}

export type SubmitOptions = {
  /** Whether to accept post-quantum accounts and programs whose address is a point of the curve of Ed25519. */
  readonly skipsAddressCheck?: boolean | undefined
}

/**
 * When blocks are made. `instant`: one for each submission, before the response. `manual`: only by `mine`. `everyMs`:
 * at this interval.
 */
export type BlockMode = 'instant' | 'manual' | { readonly everyMs: number }

export type DevnetNodeOptions = {
  ledger: Ledger
  blocks: BlockMode
  /** Called with a readable line for every transaction, with its round or the reason of its rejection. */
  onLine?: ((line: string) => void) | undefined
}

export const maxMinedRounds = 100_000
const maxSnapshots = 100
const maxWaiters = 1_000

export class DevnetNode {
  readonly ledger: Ledger
  readonly faults = new Faults()
  /** Reported as set: there is no profiler. */
  readonly profileRates = { 'block-rate': 0n, 'mutex-rate': 0n }
  readonly participation: ParticipationKeys
  readonly mode: BlockMode
  readonly #onLine: ((line: string) => void) | undefined
  readonly #snapshots = new BoundedMap<number, Snapshot>(maxSnapshots)
  readonly #waiters = new Set<() => void>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #interval: NodeJS.Timeout | undefined
  #snapshotCount = 0
  #heldUntilMs = 0
  #lastBlockMs = performance.now()

  constructor({ ledger, blocks, onLine }: DevnetNodeOptions) {
    this.ledger = ledger
    this.participation = new ParticipationKeys(ledger.genesis.participation)
    this.mode = blocks
    this.#onLine = onLine
    ledger.onChange(() => {
      this.#lastBlockMs = performance.now()
    })
    if (typeof blocks === 'object') this.#interval = setInterval(() => this.#tick(), blocks.everyMs)
  }

  get msSinceLastBlock(): number {
    return performance.now() - this.#lastBlockMs
  }

  /** Returns the id of the first transaction; throws a LedgerError. */
  submit(group: readonly Submission.Decoded[], { skipsAddressCheck = false }: SubmitOptions = {}): string {
    let transactions: IncomingTransaction.IncomingTransaction[]
    try {
      if (!skipsAddressCheck) checkAddresses(group)
      transactions = this.ledger.submit(group)
    } catch (error) {
      if (!avm.isNotLoaded(error)) this.#reportRejection(group, error)
      throw error
    }
    const hold = this.faults.take('hold')
    if (hold !== undefined) this.#hold(hold.ms)
    else if (this.mode === 'instant') this.#closeBlock()
    return transactions[0]!.decoded.id
  }

  /** Closes the open block, then makes empty ones, `rounds` in total. */
  mine(rounds: number): void {
    for (let round = 0; round < rounds; round++) this.#closeBlock()
  }

  /** Resolves when the ledger has the round, after the timeout, or when the peer closes the connection. */
  async waitForRound(round: bigint, timeoutMs: number, onClose: (listener: () => void) => void): Promise<void> {
    if (this.ledger.last.round >= round) return
    if (this.#waiters.size >= maxWaiters) {
      throw new DevnetError('too_many_waiting', 'too many requests are waiting for a block')
    }
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        unsubscribe()
        this.#waiters.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      const unsubscribe = this.ledger.onChange(() => this.ledger.last.round >= round && done())
      this.#waiters.add(done)
      onClose(done)
    })
  }

  snapshot(): number {
    this.#snapshotCount++
    this.#snapshots.set(this.#snapshotCount, this.ledger.snapshot())
    return this.#snapshotCount
  }

  hasSnapshot(id: number): boolean {
    return this.#snapshots.has(id)
  }

  /** Restores a snapshot, which stays available. Later ones are deleted. Throws a DevnetError if it is unknown. */
  revert(id: number): void {
    const snapshot = this.#snapshots.get(id)
    if (snapshot === undefined) throw new DevnetError('unknown_snapshot', `there is no snapshot ${id}`)
    this.ledger.restore(snapshot)
    for (const later of this.#snapshots.keys()) if (later > id) this.#snapshots.delete(later)
  }

  reset(): void {
    this.#snapshots.clear()
    this.faults.clear()
    this.participation.reset()
    this.#cancelHolds()
    this.ledger.reset()
  }

  /** Ends all waiting and makes no more blocks. */
  stop(): void {
    clearInterval(this.#interval)
    this.#cancelHolds()
    for (const done of [...this.#waiters]) done()
  }

  /** Delays automatic blocks; `mine` is not affected. */
  #hold(ms: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, performance.now() + ms)
    if (this.mode !== 'instant') return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (this.ledger.pendingGroups().length === 0) return
      this.#closeBlock()
      // Clients wait for the block after the one that they missed, and otherwise none would follow here.
      this.#closeBlock()
    }, ms)
    this.#timers.add(timer)
  }

  #tick(): void {
    if (performance.now() >= this.#heldUntilMs) this.#closeBlock()
  }

  #cancelHolds(): void {
    this.#heldUntilMs = 0
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  #closeBlock(): void {
    const applied = this.#onLine === undefined ? [] : this.ledger.pendingTransactions()
    const { round } = this.ledger.closeBlock()
    for (const one of applied) this.#onLine?.(TransactionLine.confirmed(one, round, this.ledger.state))
  }

  #reportRejection(group: readonly Submission.Decoded[], error: unknown): void {
    if (this.#onLine === undefined) return
    for (const { signed } of group) this.#onLine(TransactionLine.rejected(signed.txn, error, this.ledger.state))
  }
}
