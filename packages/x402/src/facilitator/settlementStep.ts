/** One step of finding out how a settlement ends: a lookup, a submission, and what the round says about it. */
import type { Algod } from '@latchkey/algod'
import type { Settlement, SettlementOutcome } from '../store/Settlements.js'
import type { BlockSearch } from './BlockSearch.js'
import type { RoundClock } from './RoundClock.js'

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

export type Network = { readonly algod: Algod; readonly clock: RoundClock; readonly blocks: BlockSearch }

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
  /** Since when it waits for a block. */
  pendingSinceMs: number | undefined
  outcome: SettlementOutcome | undefined
  /** It is in no block up to this round: lookups by id have covered them. */
  absentUntil: bigint
  /** Blocks to search: it expired, and lookups have not covered these rounds. */
  search: { readonly from: bigint; readonly to: bigint } | undefined
}

export function progressOf({ firstValid }: Settlement, { isNew }: { isNew: boolean }): Progress {
  return {
    mayBeSent: !isNew,
    isForgotten: false,
    isRejected: false,
    pendingSinceMs: undefined,
    outcome: undefined,
    absentUntil: firstValid - 1n,
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
  const sent = await algod.submit(settlement.group, { toAll: progress.isForgotten || isStuck })
  if (isStuck) progress.pendingSinceMs = performance.now()
  if (sent.type === 'refused' && !wasSent && !sent.isAmbiguous && sent.code === 'other') {
    // No node can have accepted it before, and this one rejected it. Any other code may be temporary: the group is on the
    // ledger already, or the node is behind, full, expensive or of another network for now.
    progress.outcome = failed(sent.reason)
    return
  }
  if (await isFound(settlement, network, progress)) return
  progress.isForgotten ||= sent.type === 'accepted'
  if (sent.type !== 'unanswered') progress.isRejected = sent.type === 'refused' && sent.code === 'other'
  await decideByTime(settlement, network, progress)
}

/** In a block, or waiting for one. */
async function isFound({ transactionId }: Settlement, { algod, clock }: Network, progress: Progress): Promise<boolean> {
  // From before the lookup: what the lookup does not find is in no block up to that round.
  const roundBefore = clock.seen
  const untilConfirmed = performance.now() - (progress.pendingSinceMs ?? Number.POSITIVE_INFINITY) > doubtMs
  const state = await algod.transaction(transactionId, { untilConfirmed })
  if (state.type === 'confirmed') progress.outcome = { state: 'settled', round: state.round }
  if (state.type === 'pending') progress.pendingSinceMs ??= performance.now()
  if (state.type === 'confirmed' || state.type === 'pending') {
    progress.isRejected = false
    return true
  }
  if (roundBefore !== undefined) cover(progress, roundBefore)
  return false
}

/** A lookup covers the rounds that nodes remember. Only without a gap to the rounds covered before are all of them covered. */
function cover(progress: Progress, round: bigint): void {
  const until = round - lagRounds
  if (round - lookupRounds < progress.absentUntil && until > progress.absentUntil) progress.absentUntil = until
}

/** It was not found: after its last valid round it is either in a block too old for a lookup by id, or in none. */
async function decideByTime(settlement: Settlement, network: Network, progress: Progress): Promise<void> {
  const { lastValid } = settlement
  const round = await network.clock.lastRound()
  if (round <= lastValid + settledRounds) return
  // Looked up again after the round was read: it may have been confirmed in between.
  if (await isFound(settlement, network, progress)) return
  const oldest = round - lookupRounds
  const to = oldest < lastValid ? oldest : lastValid
  if (progress.absentUntil < to) progress.search = { from: progress.absentUntil + 1n, to }
  else progress.outcome = expired
}

/**
 * Reads the blocks that no lookup has covered.
 *
 * @throws AlgodError if a block is on no node: then nothing is decided
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
