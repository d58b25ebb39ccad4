/** Evaluates a group without changing the ledger. */
import type { Submission } from '@latchkey/algorand'
import type { Outcome } from './apply/index.js'
import * as Evaluate from './Evaluate.js'
import * as IncomingTransaction from './IncomingTransaction.js'
import { LedgerError, simulateText } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import { StateOverlay } from './StateOverlay.js'
import type { StateReader } from './StateReader.js'

export type SimulationOptions = {
  allowsEmptySignatures: boolean
  /** Unsigned transactions count as authorized by the account that may authorize them at that point of the group. */
  fixesSigners: boolean
}

export type SimulationResult = {
  /** The outcomes of all members, or up to the failed one, whose outcome is partial. */
  readonly outcomes: readonly Outcome[]
  /** The signers used instead of the named ones, where they differ. */
  readonly fixedSigners: ReadonlyMap<number, MapKey.MapKey>
  readonly failure: SimulationFailure | undefined
}

export type SimulationFailure = {
  readonly message: string
  readonly index: number
  /** Whether the failure is in the form or the signatures of the group, before the evaluation. */
  readonly isStateless: boolean
}

/** Throws a LedgerError only if no single transaction is at fault, for which nodes send an error response. */
export function run(
  group: readonly Submission.Decoded[],
  { allowsEmptySignatures, fixesSigners }: SimulationOptions,
  { chain, round, state }: { chain: Evaluate.Chain; round: bigint; state: StateReader },
): SimulationResult {
  const outcomes: Outcome[] = []
  const fixedSigners = fixesSigners ? fixSigners(group, state) : new Map<number, MapKey.MapKey>()
  const overlay = new StateOverlay(state)
  try {
    const transactions = IncomingTransaction.prepare(group, chain)
    IncomingTransaction.checkSignatures(transactions, allowsEmptySignatures)
    Evaluate.group(transactions, { chain, round, overlay, fixedSigners }, outcomes)
    return { outcomes, fixedSigners, failure: undefined }
  } catch (error) {
    if (!(error instanceof LedgerError) || error.index === undefined) throw error
    return { outcomes, fixedSigners, failure: failureOf(error, error.index) }
  }
}

function failureOf(error: LedgerError, index: number): SimulationFailure {
  return { message: simulateText(error), index, isStateless: error.code !== 'rule_violation' }
}

/**
 * Returns the signers of unsigned members that name another one. As on a node they are determined before the
 * evaluation, from the state and from the rekeying in the group: a member after the failed one has its signer too, and
 * an account that is closed in the group keeps its own. An application call may rekey, so none is fixed after one.
 */
function fixSigners(group: readonly Submission.Decoded[], state: StateReader): Map<number, MapKey.MapKey> {
  const fixed = new Map<number, MapKey.MapKey>()
  const rekeyed = new Map<MapKey.MapKey, MapKey.MapKey>()
  for (const [index, { signed }] of group.entries()) {
    const { txn } = signed
    const sender = MapKey.ofField(txn.snd)
    if (!IncomingTransaction.isSigned(signed)) {
      const signer = rekeyed.get(sender) ?? state.account(sender).authorizer ?? sender
      const named = signed.sgnr === undefined ? sender : MapKey.of(signed.sgnr)
      if (signer !== named) fixed.set(index, signer)
    }
    if (txn.type === 'appl') break
    if (txn.rekey !== undefined) rekeyed.set(sender, MapKey.of(txn.rekey))
  }
  return fixed
}
