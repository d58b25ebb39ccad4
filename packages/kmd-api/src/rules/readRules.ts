/** Rules in responses of the daemon, which has validated them, as {@link Rules}. */
import type { Limit, Rules } from './Rules.js'
import type { Period } from './SpendLimit.js'

/** A limit as it is read from a response. The members of the other type are blank or 0. */
export type ReadLimit = {
  readonly per: Period
  readonly network: string
  readonly type: 'amount' | 'count'
  readonly assetId: string
  readonly amount: string
  readonly count: number
  /** Blank for all payees. */
  readonly payee: string
}

/** Rules as they are read from a response. */
export type ReadRules = Omit<Rules, 'payees'> & {
  readonly payees: { readonly allowAll: boolean; readonly allow: readonly string[]; readonly deny: readonly string[] }
}

/** Returns a limit that was read from a response. */
export function toLimit({ per, network, type, assetId, amount, count, payee }: ReadLimit): Limit {
  const base = { per, network, ...(payee !== '' && { payee }) }
  return type === 'amount'
    ? { ...base, type, assetId: BigInt(assetId), amount: BigInt(amount) }
    : { ...base, type, count }
}

/** Returns rules that were read from a response. */
export function toRules({ payees: { allowAll, allow, deny }, ...rules }: ReadRules): Rules {
  return { ...rules, payees: { allow: allowAll ? 'all' : allow, deny } }
}
