/**
 * Identifies what an agent wants to pay for: a denial also refuses the next transaction for the same purpose for a
 * while. The URL is the caller's claim, so a caller can avoid the denial by claiming another URL: the owner is then
 * asked again, and sees both.
 */
import { type Facts, isRefusal } from '../PaymentFacts.js'
import type { Approval } from './Approval.js'
import { factsOf } from './content.js'

/** Two transactions with the same purpose have the same text. `claimedUrl` is as the owner was shown it. */
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
