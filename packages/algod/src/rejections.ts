/** Classifies why a node rejects a transaction, by algod's texts. */

/**
 * - `already_in_ledger`: the transaction was confirmed before.
 * - `lease_taken`: a confirmed transaction holds the same lease of the sender.
 * - `outside_validity`: the current round is not between its first and last valid round.
 * - `pool_full`: the node currently accepts no more transactions, or none with this fee.
 * - `wrong_network`: the transaction is for another genesis.
 * - `other`: anything else; see the text.
 */
export type RejectionCode =
  | 'already_in_ledger'
  | 'lease_taken'
  | 'outside_validity'
  | 'pool_full'
  | 'wrong_network'
  | 'other'

const texts: readonly (readonly [text: string, code: RejectionCode])[] = [
  ['already in ledger', 'already_in_ledger'],
  ['overlapping lease', 'lease_taken'],
  ['txn dead', 'outside_validity'],
  ['reached capacity', 'pool_full'],
  ['below threshold', 'pool_full'],
  ['does not match expected', 'wrong_network'],
]

export function rejectionCode(reason: string): RejectionCode {
  return texts.find(([text]) => reason.includes(text))?.[1] ?? 'other'
}

/**
 * Whether a rejection is about the transaction itself. The other codes may be temporary: the group is already on the
 * ledger, or the node is behind, full or on another network for now.
 */
export function isRejection(code: RejectionCode): boolean {
  return code === 'other' || code === 'lease_taken'
}
