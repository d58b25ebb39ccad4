/** One step of finding out how a settlement ends: a lookup, a submission, and what the round says about it. */
import type { Absence, Algod, TransactionState } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import type { Settlement, SettlementOutcome } from '../store/Settlements.js'
import { BlockSearch } from './BlockSearch.js'
import { BlockWatch } from './BlockWatch.js'
import { RoundClock } from './RoundClock.js'

/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n
/** How many rounds back nodes find a transaction by its id; for older ones the blocks are searched. */
const lookupRounds = 1_000n
/** How far a node that responds may be behind the one that told the round. */
const lagRounds = 10n
/** A group that waits longer than this for a block gets to the other nodes too: the first one may not have passed it on. */
const stuckMs = 20_000
/** After this long the other nodes are asked whether it is in a block: the first one may be behind. */
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
  /** Whether a node can have accepted it: then only the ledger decides that it is not confirmed. */
  mayBeSent: boolean
  /** Whether a node said that it accepted it, and it was not found after that. */
  isForgotten: boolean
  /**
   * Whether a node rejects it that may have accepted it before: its money was moved away, for example. It can still be
   * confirmed, if the money comes back before it expires.
   */
  isRejected: boolean
  /** Whether a node had it at the last lookup, waiting for a block. */
  isPending: boolean
  /** Since when it waits for a block. */
  pendingSinceMs: number | undefined
  outcome: SettlementOutcome | undefined
  /** Whether it ends because the first node that got it rejected it: final only if nothing else can have sent it. */
  isRefused: boolean
  /** By node, it is in no block up to this round: lookups by id have covered them. */
  readonly absentUntil: Map<number, bigint>
  /** Blocks to search: it expired, and lookups have not covered these rounds. */
  search: { readonly from: bigint; readonly to: bigint } | undefined
}

export function progressOf({ isNew }: { isNew: boolean }): Progress {
  return {
    mayBeSent: !isNew,
    isForgotten: false,
    isRejected: false,
    isPending: false,
    pendingSinceMs: undefined,
    outcome: undefined,
    isRefused: false,
    absentUntil: new Map(),
    search: undefined,
  }
}

/** One lookup, and one submission if it is not found. */
export async function step(settlement: Settlement, network: Network, progress: Progress): Promise<void> {
  const { algod } = network
  progress.search = undefined
  const isStuck = performance.now() - (progress.pendingSinceMs ?? Number.POSITIVE_INFINITY) > stuckMs
  if (progress.mayBeSent && (await isFound(settlement, network, progress)) && !isStuck) return
  if (progress.outcome !== undefined) return
  const wasSent = progress.mayBeSent
  // Before it is submitted: the process can end in between.
  progress.mayBeSent = true
  // A node that accepted it and does not know it is not asked alone again.
  const toAll = progress.isForgotten || isStuck
  const sent = await (Tracing.isOn()
    ? Tracing.span('facilitator.submit', { attributes: { [Tracing.names.payment]: settlement.transactionId } }, () =>
        algod.submit(settlement.group, { toAll }),
      )
    : algod.submit(settlement.group, { toAll }))
  if (isStuck) progress.pendingSinceMs = performance.now()
  if (sent.type === 'refused' && !wasSent && !sent.isAmbiguous && sent.code === 'other') {
    // No node can have accepted it before, and this one rejected it. Any other code may be temporary: the group is on the
    // ledger already, or the node is behind, full, expensive or of another network for now.
    progress.outcome = failed(sent.reason)
    progress.isRefused = true
    return
  }
  if (await isFound(settlement, network, progress)) return
  progress.isForgotten ||= sent.type === 'accepted'
  if (sent.type !== 'unanswered') progress.isRejected = sent.type === 'refused' && sent.code === 'other'
  await decideByTime(settlement, network, progress)
}

/** In a block, or waiting for one. */
async function isFound(settlement: Settlement, { algod }: Network, progress: Progress): Promise<boolean> {
  const untilConfirmed = performance.now() - (progress.pendingSinceMs ?? Number.POSITIVE_INFINITY) > doubtMs
  const { state, absences } = await algod.lookUp(settlement.transactionId, { untilConfirmed })
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

/** A lookup covers the rounds that a node remembers. Only without a gap to the rounds covered before are all of them covered. */
function cover(settlement: Settlement, progress: Progress, { node, round }: Absence): void {
  const until = round - lagRounds
  const before = absentUntil(settlement, progress, node)
  if (round - lookupRounds < before && until > before) progress.absentUntil.set(node, until)
}

function absentUntil({ firstValid }: Settlement, progress: Progress, node: number): bigint {
  return progress.absentUntil.get(node) ?? firstValid - 1n
}

/**
 * It was not found: after its last valid round it is either in a block too old for a lookup by id, or in none. That it is in
 * none takes a quorum of nodes, each of which is past that round itself.
 */
async function decideByTime(settlement: Settlement, network: Network, progress: Progress): Promise<void> {
  const { lastValid, transactionId } = settlement
  const { algod, clock } = network
  if ((await clock.lastRound()) <= lastValid + settledRounds) return
  // Looked up again after the round was read: it may have been confirmed in between.
  const { state, absences } = await algod.lookUpEverywhere(transactionId)
  if (isKnown(state, progress)) return
  const past = absences.filter(({ round }) => round > lastValid + settledRounds)
  if (past.length < algod.quorum) return
  /** The last round that the lookup on the node did not cover. */
  const oldest = ({ round }: Absence): bigint => least(round - lookupRounds, lastValid)
  const covered = past.filter((one) => absentUntil(settlement, progress, one.node) >= oldest(one))
  if (covered.length >= algod.quorum) {
    progress.outcome = expired
    return
  }
  const coveredUntil = past.map(({ node }) => absentUntil(settlement, progress, node)).sort(descending)
  const to = past.map(oldest).sort(descending)[0]!
  progress.search = { from: coveredUntil[algod.quorum - 1]! + 1n, to }
}

/** Wakes up after the block that has it, or when it has to be looked up. Returns what ends that. */
export function watchBlocks(
  { transactionId }: Settlement,
  { watch }: Network,
  progress: Progress,
  wakeUp: () => void,
): () => void {
  return watch.subscribe(transactionId, (round) => {
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
 * @throws AlgodError if a block is on no node, or on fewer than the quorum: then nothing is decided
 */
export async function searchBlocks({ transactionId }: Settlement, network: Network, progress: Progress): Promise<void> {
  const { from, to } = progress.search!
  const round = await network.blocks.find(transactionId, from, to)
  progress.outcome = round === undefined ? expired : { state: 'settled', round }
}

function failed(reason: string): SettlementOutcome {
  return { state: 'failed', errorReason: 'invalid_exact_avm_settlement_failed', errorMessage: reason }
}

const expired = failed('it expired before it was confirmed')
