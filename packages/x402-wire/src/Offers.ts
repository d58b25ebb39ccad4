/** Reads the parts of a seller's offers that need no node. */
import { Address, Json, Network } from '@latchkey/algorand'
import type { PaymentRequired, PaymentRequirements } from './types.js'

/**
 * Returns the account that pays the network fees of an offer, or undefined if the payer does. If the payer itself is
 * named as the fee payer, it pays the fees as if none were named.
 */
export function feePayerOf({ extra }: { readonly extra?: object }, payer: string): string | undefined {
  const { feePayer } = (extra ?? {}) as Json.Members
  const isOther = typeof feePayer === 'string' && Address.isValid(feePayer) && feePayer !== payer
  return isOther ? feePayer : undefined
}

/** Sellers send a price once for each id of its network. These are one offer, in the form that comes first. */
export function withoutSpellings({ accepts }: PaymentRequired): PaymentRequirements[] {
  const seen = new Map<string, PaymentRequirements>()
  for (const requirement of accepts.filter(Json.isObject)) {
    const { network } = requirement
    const normal = typeof network === 'string' ? Network.normalize(network) : undefined
    const key = JSON.stringify({ ...requirement, network: normal ?? network })
    if (!seen.has(key)) seen.set(key, requirement)
  }
  return [...seen.values()]
}
