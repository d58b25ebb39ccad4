/** Describes an approval in one sentence that leads with the money. */
import { Address, Readable, Transaction } from '@latchkey/algorand'
import type { Approval, NodeStatus } from '../responseTypes.js'

/** The names that the page knows. */
export type Names = {
  readonly node: NodeStatus | undefined
  /** Returns the owner's label of an address, or an empty text. */
  labelOf(address: string): string
}

/**
 * Returns a sentence such as `shopper wants to pay $0.01 to KNLHV3RI... for http://127.0.0.1:4021/quote (not checked)`.
 * The daemon's own description is used for bytes that cannot be decoded here.
 */
export function approvalText({ agentName, transaction, description, claimedUrl }: Approval, names: Names): string {
  const dollarAssetIds = names.node?.isReachable === true ? names.node.usdcAssetIds.map(BigInt) : []
  try {
    const decoded = Transaction.decode(transaction)
    const payee = decoded.arcv ?? decoded.rcv
    const payeeName = payee === undefined ? undefined : names.labelOf(Address.encode(payee))
    return Readable.payment(decoded, { payer: agentName, claimedUrl, dollarAssetIds, payeeName })
  } catch {
    return description[0] ?? ''
  }
}
