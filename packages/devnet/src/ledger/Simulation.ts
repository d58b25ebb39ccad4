/** What would happen to a group, without it happening. */
import type { Submission } from '@latchkey/algorand'
import type { Outcome } from './apply/index.js'
import * as Candidate from './Candidate.js'
import * as Evaluate from './Evaluate.js'
import type { Key } from './Key.js'
import { StateOverlay } from './StateOverlay.js'
import type { Store } from './Store.js'
import { simulateText, TransactionRejectedError } from './TransactionRejectedError.js'

export type SimulationOptions = {
  allowsEmptySignatures: boolean
  /** Transactions without signature count as authorised by whoever may authorise them at that point of the group. */
  fixesSigners: boolean
}

export type SimulationResult = {
  /** Of the members before the one that failed, or of all. */
  readonly outcomes: readonly Outcome[]
  /** The signer put in the place of the one a member names, where they differ. */
  readonly fixedSigners: ReadonlyMap<number, Key>
  readonly failure: { readonly message: string; readonly index: number } | undefined
}

/** Throws a Rejection only where no single transaction is to blame; nodes answer that with an error of its own. */
export function run(
  group: readonly Submission.Submitted[],
  { allowsEmptySignatures, fixesSigners }: SimulationOptions,
  { chain, round, store }: { chain: Evaluate.Chain; round: bigint; store: Store },
): SimulationResult {
  const outcomes: Outcome[] = []
  const fixedSigners = new Map<number, Key>()
  const layer = new StateOverlay(store)
  const signerOf = (candidate: Candidate.Candidate, index: number): Key => {
    if (!fixesSigners || candidate.isSigned) return candidate.authorizer
    const signer = layer.account(candidate.sender).authorizer ?? candidate.sender
    if (signer !== candidate.authorizer) fixedSigners.set(index, signer)
    return signer
  }
  try {
    const candidates = Candidate.prepare(group, chain)
    Candidate.checkSignatures(candidates, allowsEmptySignatures)
    Evaluate.group(candidates, { chain, round, layer, authorizerOf: signerOf }, outcomes)
    return { outcomes, fixedSigners, failure: undefined }
  } catch (error) {
    if (!(error instanceof TransactionRejectedError) || error.index === undefined) throw error
    return { outcomes, fixedSigners, failure: { message: simulateText(error), index: error.index } }
  }
}
