/** The rules of an agent: what it may sign. A transaction that no rule allows is refused. */
import { LatchkeyError, Network } from '@latchkey/algorand'
import { bounds, defaults } from './bounds.js'
import type { Period, SpendLimit } from './SpendLimit.js'

/** The rules of an agent. Networks are genesis hashes in standard base64; amounts are in base units. */
export type Rules = {
  /** The networks that the agent may sign for, at least one. */
  readonly networks: readonly string[]
  /** At least one limit must be on an amount. An asset without a limit cannot be spent. Fees count as Algos. */
  readonly limits: readonly Limit[]
  readonly payees: PayeeRules
  /** The applications that the agent may call. */
  readonly applications: readonly NetworkItem[]
  /** The assets that the agent may opt in to. */
  readonly optIns: readonly NetworkItem[]
  /**
   * Assets with six decimals that are displayed as dollars, at most one per network. Public networks have built-in
   * entries. Allows nothing.
   */
  readonly dollars: readonly NetworkItem[]
  /** The maximum fee of one transaction. An approval cannot lift it. */
  readonly maxFeeMicroAlgos: bigint
  /** The maximum number of rounds from first to last valid round. An approval cannot lift it. */
  readonly maxValidRounds: number
  readonly ask: AskRules
}

/** A limit on the amount of one asset, or on the number of payments, in a period, on one network. */
export type Limit = SpendLimit & {
  /** The network's genesis hash, in standard base64. */
  readonly network: string
}

/** An application or asset on one network. */
export type NetworkItem = { readonly network: string; readonly id: bigint }

/** An amount of an asset on one network. Asset 0 is Algos. */
export type NetworkAmount = { readonly network: string; readonly assetId: bigint; readonly amount: bigint }

/** The payees that the agent may pay. */
export type PayeeRules = {
  /** The addresses, or `all` for every payee that is not denied. */
  readonly allow: readonly string[] | 'all'
  /** Takes precedence over `allow`, and over an approval. */
  readonly deny: readonly string[]
}

/** The cases that need the owner's approval. */
export type AskRules = {
  /** A payment above one of these amounts needs an approval, even if the limits allow it. */
  readonly above: readonly NetworkAmount[]
  /** Whether a payment over a limit needs an approval instead of being refused. */
  readonly overLimit: boolean
  /** Whether a payee outside `payees.allow` needs an approval instead of being refused. */
  readonly unknownPayee: boolean
  /** Whether every application call and every opt-in needs an approval. */
  readonly otherTypes: boolean
}

/** Rules for a new agent, or replacement rules for an existing one. */
export type NewRules = Pick<Rules, 'networks' | 'limits'> & {
  readonly payees: {
    readonly allow: readonly string[] | 'all'
    /** @default none */
    readonly deny?: readonly string[] | undefined
  }
  /** @default none */
  readonly applications?: readonly NetworkItem[] | undefined
  /** @default none */
  readonly optIns?: readonly NetworkItem[] | undefined
  /**
   * Assets with six decimals that are displayed as dollars in limits and refusals, at most one per network. Public
   * networks have built-in entries.
   *
   * @default none
   */
  readonly dollars?: readonly NetworkItem[] | undefined
  /** @default 10_000n */
  readonly maxFeeMicroAlgos?: bigint | undefined
  /** @default 1_000 */
  readonly maxValidRounds?: number | undefined
  /** @default no approvals: anything not allowed is refused */
  readonly ask?: Partial<AskRules> | undefined
}

/** Returns complete rules. */
export function completeRules(rules: NewRules): Rules {
  const { networks, limits, payees, ask = {} } = rules
  return {
    networks,
    limits,
    payees: { allow: payees.allow, deny: payees.deny ?? [] },
    applications: rules.applications ?? [],
    optIns: rules.optIns ?? [],
    dollars: rules.dollars ?? [],
    maxFeeMicroAlgos: rules.maxFeeMicroAlgos ?? defaults.maxFeeMicroAlgos,
    maxValidRounds: rules.maxValidRounds ?? defaults.maxValidRounds,
    ask: {
      above: ask.above ?? [],
      overLimit: ask.overLimit ?? false,
      unknownPayee: ask.unknownPayee ?? false,
      otherTypes: ask.otherTypes ?? false,
    },
  }
}

/** Returns the quantity that a limit allows: an amount, or a number of payments. */
export function quantityOf(limit: SpendLimit): bigint {
  return limit.type === 'count' ? BigInt(limit.count) : limit.amount
}

/** Whether two limits restrict the same: one takes the place of the other. */
export function isSameLimit(one: Limit, other: Limit): boolean {
  return keyOf(one) === keyOf(other)
}

/** Identifies the period, network, asset and payee that a limit restricts. */
export function keyOf(limit: Limit): string {
  const asset = limit.type === 'amount' ? limit.assetId : 'count'
  return [limit.per, limit.network, asset, limit.payee].join(' ')
}

/** Whether a limit bounds the sum of the payments that `each`, a limit per payment, allows one by one. */
export function boundsSum(other: Limit, each: Limit): boolean {
  if (other.per === 'payment' || other.network !== each.network) return false
  if (other.payee !== undefined && other.payee !== each.payee) return false
  return other.type === 'count' || (each.type === 'amount' && other.assetId === each.assetId)
}

/**
 * Returns the dollar asset of a network. On a public network, it is always the network's USDC, regardless of the
 * owner's declaration: no other asset is shown as dollars there.
 */
export function dollarOf(network: string, dollars: readonly NetworkItem[]): bigint | undefined {
  return publicDollar(network) ?? dollars.find((dollar) => dollar.network === network)?.id
}

/** Returns the dollar asset of a public network. */
export function publicDollar(network: string): bigint | undefined {
  return Network.known.find(({ genesisHash }) => genesisHash === network)?.usdcAssetId
}

/** Returns the declaration that rules on a network need for its dollar asset: none on a public network. */
export function declaredDollars(network: string, dollarAssetId: bigint | undefined): NetworkItem[] {
  const isPublic = Network.known.some(({ genesisHash }) => genesisHash === network)
  return isPublic || dollarAssetId === undefined ? [] : [{ network, id: dollarAssetId }]
}

/** Returns the id of an application or asset in decimal text; undefined for any other text. */
export function parseId(text: string): bigint | undefined {
  const id = /^[1-9][0-9]{0,18}$/.test(text) ? BigInt(text) : undefined
  return id === undefined || id > bounds.integer ? undefined : id
}

/** A literal next to its class, so that browser bundles do not contain the whole registry. */
export const hint = 'correct the member that the message names'

/** The rules of an agent are not valid. */
export class RulesError extends LatchkeyError<'invalid_rules'> {
  override name = 'RulesError'
  /** The invalid member, such as `rules.limits[0].amount`. */
  readonly path: string

  constructor(path: string, message: string) {
    super('invalid_rules', message, { hint })
    this.path = path
  }
}

/** Throws an error that names the invalid member and states what it must be. */
export function fail(path: string, problem: string): never {
  throw new RulesError(path, `${path} ${problem}`)
}

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
