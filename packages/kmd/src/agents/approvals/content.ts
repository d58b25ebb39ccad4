/**
 * The content of an approval: a transaction, or the program of an authorization for a price by usage. A program begins
 * with its version and a transaction with a map of msgpack, so that neither can pass for the other.
 */
import { Transaction, UptoProgram, type UptoTerms } from '@latchkey/algorand'
import type { AgentRefusal } from '../Agent.js'
import { type Facts, isRefusal, readFacts, uptoFacts } from '../Decision.js'
import type { Approval } from './Approval.js'

/** `transaction` of an authorization is the transfer of its maximum. */
export type Content = { readonly transaction: Transaction.Transaction; readonly terms: UptoTerms | undefined }

export function contentOf(bytes: Uint8Array): Content {
  const terms = UptoProgram.parse(bytes)
  if (terms === undefined) return { transaction: Transaction.decode(bytes), terms }
  return { transaction: UptoProgram.transferOf(terms, terms.maxAmount), terms }
}

export function factsOf(bytes: Uint8Array): Facts | AgentRefusal {
  const terms = UptoProgram.parse(bytes)
  return terms === undefined ? readFacts(bytes) : uptoFacts(terms, undefined)
}

/** The id that people and other programs know: of the transaction, or of the authorization. */
export function shownId({ transactionId, transaction }: Pick<Approval, 'transactionId' | 'transaction'>): string {
  const terms = UptoProgram.parse(transaction)
  return terms === undefined ? transactionId : UptoProgram.idOf(terms.lease)
}

/**
 * Identifies what an agent wants to pay for: a denial also refuses the next transaction for the same purpose for a
 * while. Two transactions with the same purpose have the same text. `claimedUrl` is as the owner was shown it. It is the
 * caller's claim, so a caller can avoid the denial by claiming another URL: the owner is then asked again, and sees
 * both.
 */
export function purposeOf(facts: Facts, claimedUrl: string): string {
  const { kind, network, sender, payee, assetId, applicationId } = facts
  // An opt-in pays the sender itself, so the asset is its subject.
  const subject = kind === 'opt_in' ? assetId : kind === 'application' ? applicationId : payee
  return JSON.stringify([kind, network, kind === 'payment' ? null : sender, `${subject}`, claimedUrl])
}

/** The purpose of a stored approval. */
export function storedPurpose({ transaction, claimedUrl }: Approval): string | undefined {
  const facts = factsOf(transaction)
  return isRefusal(facts) ? undefined : purposeOf(facts, claimedUrl)
}
