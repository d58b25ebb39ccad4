/**
 * One step in determining how a settlement ends: a lookup, a submission, and a decision by the round; and the waits and
 * turns of many settlements between their steps.
 */
import type { Absence, Algod, RejectionCode, TransactionState } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import { Address, Submission } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import type { PaymentErrorCode } from '../PaymentError.js'
import type { Settlement, SettlementOutcome } from '../store/Settlements.js'
import { BlockSearch, BlockWatch, RoundClock } from './BlockWatch.js'

/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n
/** How many rounds back nodes find a transaction by its id. Blocks are searched for older transactions. */
const lookupRounds = 1_000n
/** How far a responding node may be behind the node that reported the round. */
const lagRounds = 10n
/**
 * A group that waits longer than this for a block is sent to the other nodes too, because the first one may not have
 * forwarded it.
 */
const stuckMs = 20_000
/**
 * After this time the other nodes are queried for a block that has the payment, because the first one may be behind.
 */
const doubtMs = 5_000

export type Network = {
  readonly algod: Algod
  readonly clock: RoundClock
  readonly blocks: BlockSearch
  readonly watch: BlockWatch
}

export function networkOf(algod: Algod, pollMs: number): Network {
  const clock = new RoundClock(algod, pollMs)
  return { algod, clock, blocks: new BlockSearch(algod), watch: new BlockWatch(algod, clock) }
}

export type Progress = {
  /** Whether a node can have accepted the payment. Only the ledger then decides that it is not confirmed. */
  mayBeSent: boolean
  /** Whether a node responded to a submission, but the payment was not found afterwards. */
  isForgotten: boolean
  /**
   * Whether a node rejects a payment that it may have accepted before, for example because the payer's money is gone.
   * The payment can still be confirmed if the money comes back before it expires.
   */
  isRejected: boolean
  /** Whether a node rejects a charge because of the account that pays its fee, which is no fault of the payer. */
  isFeeRejected: boolean
  /** Whether a node had the payment at the last lookup, waiting for a block. */
  isPending: boolean
  /** Since when the payment waits for a block. */
  pendingSinceMs: number | undefined
  outcome: SettlementOutcome | undefined
  /**
   * Whether the payment ends because the first node that got it rejected it. Final only if nothing else can have sent
   * it.
   */
  isRefused: boolean
  /** The round up to which no block has the payment, by node, as covered by lookups by id. */
  readonly absentUntil: Map<number, bigint>
  /** Blocks to search, because the payment expired and lookups have not covered these rounds. */
  search: { readonly from: bigint; readonly to: bigint } | undefined
}

export function progressOf({ isNew }: { isNew: boolean }): Progress {
  return {
    mayBeSent: !isNew,
    isForgotten: false,
    isRejected: false,
    isFeeRejected: false,
    isPending: false,
    pendingSinceMs: undefined,
    outcome: undefined,
    isRefused: false,
    absentUntil: new Map(),
    search: undefined,
  }
}

/** One lookup, and one submission if the payment is not found. */
export async function step(settlement: Settlement, network: Network, progress: Progress): Promise<void> {
  const { algod } = network
  progress.search = undefined
  const isStuck = performance.now() - (progress.pendingSinceMs ?? Number.POSITIVE_INFINITY) > stuckMs
  if (progress.mayBeSent && (await isFound(settlement, network, progress)) && !isStuck) return
  if (progress.outcome !== undefined) return
  const wasSent = progress.mayBeSent
  // Set before the submission, because the process can end in between.
  progress.mayBeSent = true
  // Do not rely only on a node that accepted the payment and lost it, or refused to pass it on.
  const toAll = progress.isForgotten || isStuck
  const attributes = { [Tracing.names.payment]: settlement.transactionId }
  const sent = await Tracing.span('facilitator.submit', { attributes }, () => algod.submit(settlement.group, { toAll }))
  if (isStuck) progress.pendingSinceMs = performance.now()
  const isOfFee = sent.type === 'refused' && isOfFeePayer(settlement, sent.reason)
  const isFinal = sent.type === 'refused' && isRejection(sent.code) && !isOfFee
  if (isFinal && !wasSent && !sent.isAmbiguous) {
    // No node can have accepted the payment before, and this one rejected it. Any other code may be temporary: the
    // group is already on the ledger, or the node is behind, full, expensive or on another network for now.
    progress.outcome = failed(settlement, sent.reason)
    progress.isRefused = true
    return
  }
  if (await isFound(settlement, network, progress)) return
  progress.isForgotten ||= sent.type !== 'unanswered'
  if (sent.type !== 'unanswered') {
    // Any other code, such as that of an expired transaction, says nothing about the fee.
    if (sent.type === 'accepted' || sent.code === 'other') progress.isFeeRejected = isOfFee
    progress.isRejected = sent.type === 'refused' && isRejection(sent.code) && !isOfFee
  }
  await decideByTime(settlement, network, progress)
}

/** Whether a node rejects the group for what it is. Another transaction of the payer may hold the lease of a charge. */
function isRejection(code: RejectionCode): boolean {
  return code === 'other' || code === 'lease_taken'
}

/**
 * Whether a charge was rejected because its fee cannot be paid, such as by an account that was emptied or rekeyed. The
 * charge is for work that was done, so it is tried again until it expires: the operator may fund the account.
 */
function isOfFeePayer(settlement: Settlement, reason: string): boolean {
  if (!isUptoSettlement(settlement) || settlement.group.length < 2) return false
  const { id, signed } = Submission.decodeFirst(settlement.group[0]!)
  return reason.includes(id) || reason.includes(Address.encode(signed.txn.snd))
}

/** Whether the payment is in a block, or waiting for one. */
async function isFound(settlement: Settlement, { algod }: Network, progress: Progress): Promise<boolean> {
  const untilConfirmed = performance.now() - (progress.pendingSinceMs ?? Number.POSITIVE_INFINITY) > doubtMs
  const { state, absences } = await algod.lookUp(ledgerIdOf(settlement), { untilConfirmed })
  if (isKnown(state, progress)) return true
  for (const absence of absences) cover(settlement, progress, absence)
  return false
}

function isKnown(state: TransactionState, progress: Progress): boolean {
  if (state.type === 'confirmed') progress.outcome = { state: 'settled', round: state.round }
  progress.isPending = state.type === 'pending'
  if (progress.isPending) progress.pendingSinceMs ??= performance.now()
  const isKnown = progress.isPending || state.type === 'confirmed'
  if (isKnown) progress.isRejected = false
  return isKnown
}

/**
 * A lookup covers the rounds that a node remembers. All rounds are covered only if there is no gap to those covered
 * before.
 */
function cover(settlement: Settlement, progress: Progress, { node, round }: Absence): void {
  const until = round - lagRounds
  const before = absentUntil(settlement, progress, node)
  if (round - lookupRounds < before && until > before) progress.absentUntil.set(node, until)
}

function absentUntil({ firstValid }: Settlement, progress: Progress, node: number): bigint {
  return progress.absentUntil.get(node) ?? firstValid - 1n
}

/**
 * Decides after the last valid round of a payment that was not found. The payment is then either in a block too old for
 * a lookup by id, or in none. A quorum of nodes, each past that round itself, must confirm that it is in none.
 */
async function decideByTime(settlement: Settlement, network: Network, progress: Progress): Promise<void> {
  const { lastValid } = settlement
  const { algod, clock } = network
  if ((await clock.lastRound()) <= lastValid + settledRounds) return
  // Looked up again after the round was read, because the payment may have been confirmed in between.
  const { state, absences } = await algod.lookUpEverywhere(ledgerIdOf(settlement))
  if (isKnown(state, progress)) return
  const past = absences.filter(({ round }) => round > lastValid + settledRounds)
  if (past.length < algod.quorum) return
  /** The last round that the lookup on the node did not cover. */
  const oldest = ({ round }: Absence): bigint => least(round - lookupRounds, lastValid)
  const covered = past.filter((one) => absentUntil(settlement, progress, one.node) >= oldest(one))
  if (covered.length >= algod.quorum) {
    progress.outcome = expired(settlement, progress)
    return
  }
  const coveredUntil = past.map(({ node }) => absentUntil(settlement, progress, node)).sort(descending)
  const to = past.map(oldest).sort(descending)[0]!
  progress.search = { from: coveredUntil[algod.quorum - 1]! + 1n, to }
}

/**
 * Wakes up after the block that has the payment, or when it must be looked up. Returns a function that ends the watch.
 */
export function watchBlocks(
  settlement: Settlement,
  { watch }: Network,
  progress: Progress,
  wakeUp: () => void,
): () => void {
  return watch.subscribe(ledgerIdOf(settlement), (round) => {
    if (round !== undefined) progress.outcome = { state: 'settled', round }
    wakeUp()
  })
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function descending(a: bigint, b: bigint): number {
  return a < b ? 1 : a > b ? -1 : 0
}

/**
 * Reads the blocks that no lookup has covered.
 *
 * @throws AlgodError if a block is on no node, or on fewer than the quorum; nothing is decided then
 */
export async function searchBlocks(settlement: Settlement, network: Network, progress: Progress): Promise<void> {
  const { from, to } = progress.search!
  const round = await network.blocks.find(ledgerIdOf(settlement), from, to)
  progress.outcome = round === undefined ? expired(settlement, progress) : { state: 'settled', round }
}

function failed(settlement: Settlement, reason: string): SettlementOutcome {
  return { state: 'failed', errorReason: failureCode(settlement), errorMessage: reason }
}

/** The code of a settlement that failed, by its scheme. */
export function failureCode(settlement: Pick<Settlement, 'transactionId'>): PaymentErrorCode {
  return isUptoSettlement(settlement) ? 'invalid_upto_avm_settlement_failed' : 'invalid_exact_avm_settlement_failed'
}

function expired(settlement: Settlement, { isFeeRejected }: Progress): SettlementOutcome {
  const errorMessage = 'the charge expired while its fee could not be paid'
  if (isFeeRejected) return { state: 'failed', errorReason: 'facilitator_fee_account_unfunded', errorMessage }
  return failed(settlement, 'the payment expired before it was confirmed')
}

/** Waits that end after a timeout, with the awaited result, or when the process stops. */
export class Waits {
  /**
   * Each function ends a wait. An AbortSignal does not work, because Workers do not let a request use a signal created
   * by another.
   */
  readonly #wakeUps = new Set<() => void>()
  #isStopped = false

  /** Whether waits return immediately, because the process is stopping. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Ends all waits. */
  stop(): void {
    this.#isStopped = true
    for (const wakeUp of [...this.#wakeUps]) wakeUp()
  }

  /** @param watch subscribes a function that ends the sleep early; returns a function that unsubscribes */
  sleep(ms: number, watch?: (wakeUp: () => void) => () => void): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isStopped) return resolve()
      const wakeUp = (): void => {
        clearTimeout(timer)
        unwatch?.()
        this.#wakeUps.delete(wakeUp)
        resolve()
      }
      const timer = setTimeout(wakeUp, ms)
      this.#wakeUps.add(wakeUp)
      const unwatch = watch?.(wakeUp)
    })
  }

  /** Returns the result, or `otherwise` when the time is up or the process stops. */
  for<T, U>(work: Promise<T>, otherwise: U, ms: number): Promise<T | U> {
    return waitFor(work, otherwise, ms, this.#wakeUps)
  }
}

/** Returns the result, or `otherwise` when the time is up or one of the `wakeUps` is called. */
export async function waitFor<T, U>(
  work: Promise<T>,
  otherwise: U,
  ms: number,
  wakeUps = new Set<() => void>(),
): Promise<T | U> {
  let wakeUp = (): void => {}
  const timeUp = new Promise<U>((resolve) => {
    wakeUp = () => resolve(otherwise)
  })
  const timer = setTimeout(wakeUp, ms)
  wakeUps.add(wakeUp)
  try {
    return await Promise.race([work, timeUp])
  } finally {
    clearTimeout(timer)
    wakeUps.delete(wakeUp)
  }
}

/**
 * Limits how much work runs concurrently. Work that a caller waits for comes before background work, each in the order
 * of arrival.
 */
export class Turns {
  readonly #max: number
  readonly #urgent: (() => void)[] = []
  readonly #background: (() => void)[] = []
  #running = 0

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(isUrgent: boolean, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#max) this.#running++
    else await new Promise<void>((resolve) => (isUrgent ? this.#urgent : this.#background).push(resolve))
    try {
      return await work()
    } finally {
      // Passes the slot to the next work, or frees it.
      const next = this.#urgent.shift() ?? this.#background.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

const ids = new WeakMap<Settlement, string>()

/** Whether a settlement belongs to the scheme `upto`. It is then recorded under the id of the buyer's authorization. */
export function isUptoSettlement({ transactionId }: Pick<Settlement, 'transactionId'>): boolean {
  return UptoPayment.isId(transactionId)
}

/**
 * The id under which the ledger knows a settlement: that of the transaction that pays. The transfer of the scheme
 * `upto` is built when it is settled, so its id follows from the recorded group. Empty if nothing was charged, because
 * there is then no transaction.
 */
export function ledgerIdOf(settlement: Settlement): string {
  if (!isUptoSettlement(settlement)) return settlement.transactionId
  const { group } = settlement
  let id = ids.get(settlement)
  if (id === undefined) {
    id = group.length === 0 ? '' : Submission.decodeFirst(group[group.length - 1]!).id
    ids.set(settlement, id)
  }
  return id
}
