/** A ledger at work: when blocks are made, who waits for them, what goes wrong on purpose, and what is written down. */
import type { Submission } from '@latchkey/algorand'
import { Faults } from './Faults.js'
import * as Candidate from './ledger/Candidate.js'
import type { Ledger } from './ledger/Ledger.js'
import type { Snapshot } from './ledger/Snapshot.js'
import * as Summary from './Summary.js'

/** `instant`: a group is in a block before its submission is answered. `manual`: blocks are made when asked for. */
export type BlockMode = 'instant' | 'manual' | { readonly everyMs: number }

export type NodeOptions = {
  ledger: Ledger
  blocks: BlockMode
  /** A readable line for every transaction, with its round or with why it was refused. */
  onLine?: ((line: string) => void) | undefined
}

export const maxMinedRounds = 100_000
const maxSnapshots = 100
const maxWaiting = 1_000

export class Node {
  readonly ledger: Ledger
  readonly faults = new Faults()
  readonly mode: BlockMode
  readonly #onLine: ((line: string) => void) | undefined
  readonly #snapshots = new Map<number, Snapshot>()
  readonly #waiting = new Set<() => void>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #interval: NodeJS.Timeout | undefined
  #snapshotCount = 0
  #heldUntilMs = 0
  #lastBlockMs = performance.now()

  constructor({ ledger, blocks, onLine }: NodeOptions) {
    this.ledger = ledger
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

  /** The id of the first transaction; throws a Rejection. */
  submit(group: readonly Submission.Submitted[]): string {
    let candidates: Candidate.Candidate[]
    try {
      candidates = this.ledger.submit(group)
    } catch (error) {
      this.#tellRefusal(group, error)
      throw error
    }
    const heldMs = this.faults.takeHold()
    if (heldMs !== undefined) this.#hold(heldMs)
    else if (this.mode === 'instant') this.#closeBlock()
    return Candidate.id(candidates[0]!)
  }

  /** Closes the open block and makes empty ones after it, as many as asked for in all. */
  mine(rounds: number): void {
    for (let round = 0; round < rounds; round++) this.#closeBlock()
  }

  /** Resolves when the ledger has the round, when the time is up, or when nobody waits any more. */
  async waitForRound(round: bigint, timeoutMs: number, onGone: (gone: () => void) => void): Promise<void> {
    if (this.ledger.last.round >= round) return
    if (this.#waiting.size >= maxWaiting) throw new TooManyWaitingError('too many requests wait for a block')
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        unsubscribe()
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      const unsubscribe = this.ledger.onChange(() => this.ledger.last.round >= round && done())
      this.#waiting.add(done)
      onGone(done)
    })
  }

  snapshot(): number {
    this.#snapshotCount++
    this.#snapshots.set(this.#snapshotCount, this.ledger.moment())
    if (this.#snapshots.size > maxSnapshots) this.#snapshots.delete(this.#snapshots.keys().next().value!)
    return this.#snapshotCount
  }

  /** Back to a snapshot, which stays; those taken after it are of a future that is gone. */
  revert(id: number): boolean {
    const moment = this.#snapshots.get(id)
    if (moment === undefined) return false
    this.ledger.restore(moment)
    for (const later of this.#snapshots.keys()) if (later > id) this.#snapshots.delete(later)
    return true
  }

  reset(): void {
    this.#snapshots.clear()
    this.faults.clear()
    this.#forgetHeld()
    this.ledger.reset()
  }

  /** Lets everybody go who waits, and makes no more blocks. */
  stop(): void {
    clearInterval(this.#interval)
    this.#forgetHeld()
    for (const done of [...this.#waiting]) done()
  }

  /** Blocks that come by themselves come later; those that are asked for come when they are. */
  #hold(ms: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, performance.now() + ms)
    if (this.mode !== 'instant') return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (this.ledger.pendingGroups().length === 0) return
      this.#closeBlock()
      // Clients wait for the block after the one that they missed, and here no other would come.
      this.#closeBlock()
    }, ms)
    this.#timers.add(timer)
  }

  #tick(): void {
    if (performance.now() >= this.#heldUntilMs) this.#closeBlock()
  }

  #forgetHeld(): void {
    this.#heldUntilMs = 0
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  #closeBlock(): void {
    const applied = this.#onLine === undefined ? [] : this.ledger.pendingTransactions()
    const { round } = this.ledger.closeBlock()
    for (const one of applied) this.#onLine?.(Summary.applied(one, round, this.ledger.state))
  }

  #tellRefusal(group: readonly Submission.Submitted[], error: unknown): void {
    if (this.#onLine === undefined) return
    for (const signed of group) this.#onLine(Summary.refused(signed, error, this.ledger.state))
  }
}

export class TooManyWaitingError extends Error {
  override name = 'TooManyWaitingError'
}
