/** Evaluates a group without changing the ledger. */
import type { Submission } from '@latchkey/algorand'
import type { Outcome } from './apply/index.js'
import * as Evaluate from './Evaluate.js'
import * as IncomingTransaction from './IncomingTransaction.js'
import { LedgerError, simulateText } from './LedgerError.js'
import type { MapKey } from './MapKey.js'
import { StateOverlay } from './StateOverlay.js'
import type { StateReader } from './StateReader.js'

export type SimulationOptions = {
  allowsEmptySignatures: boolean
  /** Unsigned transactions count as authorized by the account that may authorize them at that point of the group. */
  fixesSigners: boolean
}

export type SimulationResult = {
  /** Of the members before the one that failed, or of all. */
  readonly outcomes: readonly Outcome[]
  /** The signer used instead of the one a member names, where they differ. */
  readonly fixedSigners: ReadonlyMap<number, MapKey>
  readonly failure: { readonly message: string; readonly index: number } | undefined
}

/** Throws a LedgerError only where no single transaction is at fault: nodes send an error response for that. */
export function run(
  group: readonly Submission.Submitted[],
  { allowsEmptySignatures, fixesSigners }: SimulationOptions,
  { chain, round, state }: { chain: Evaluate.Chain; round: bigint; state: StateReader },
): SimulationResult {
  const outcomes: Outcome[] = []
  const fixedSigners = new Map<number, MapKey>()
  const overlay = new StateOverlay(state)
  const signerOf = (transaction: IncomingTransaction.IncomingTransaction, index: number): MapKey => {
    if (!fixesSigners || transaction.isSigned) return transaction.authorizer
    const signer = overlay.account(transaction.sender).authorizer ?? transaction.sender
    if (signer !== transaction.authorizer) fixedSigners.set(index, signer)
    return signer
  }
  try {
    const transactions = IncomingTransaction.prepare(group, chain)
    IncomingTransaction.checkSignatures(transactions, allowsEmptySignatures)
    Evaluate.group(transactions, { chain, round, overlay, authorizerOf: signerOf }, outcomes)
    return { outcomes, fixedSigners, failure: undefined }
  } catch (error) {
    if (!(error instanceof LedgerError) || error.index === undefined) throw error
    return { outcomes, fixedSigners, failure: { message: simulateText(error), index: error.index } }
  }
}
