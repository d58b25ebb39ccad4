/**
 * The rules of an agent: what it may sign. A transaction that no rule allows is refused. Also describes rules, in the
 * notation of the command line (`$5/day`) and in words (`$5 a day`).
 */
import { Amount, LatchkeyError, Network, Readable } from '@latchkey/algorand'
import { bounds, defaults } from './bounds.js'
import * as SpendLimit from './SpendLimit.js'

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
export type Limit = SpendLimit.SpendLimit & {
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
export function quantityOf(limit: SpendLimit.SpendLimit): bigint {
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
  readonly per: SpendLimit.Period
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

/** The dollar assets of networks that are not public: those that the owner declared, or that a node reports. */
export type Dollars = readonly NetworkItem[]

/** A cache, because every signature names its limits, and limits stay the same objects. */
const texts = new WeakMap<Limit, { readonly dollars: Dollars; readonly text: string }>()

/** Returns a limit as the owner writes it: `$5/day`, `each $0.50`, `20 payments/hour`. */
export function formatLimit(limit: Limit, dollars: Dollars): string {
  const known = texts.get(limit)
  if (known?.dollars === dollars) return known.text
  const text = SpendLimit.format(limit, { dollarAssetId: dollarOf(limit.network, dollars) })
  texts.set(limit, { dollars, text })
  return text
}

/** Returns an amount with its unit: `$0.50` of the network's dollar, `2 ALGO`, `10 asset 123` in its smallest unit. */
export function formatAmount({ network, assetId, amount }: NetworkAmount, dollars: Dollars): string {
  return SpendLimit.formatAmount({ assetId, amount }, { dollarAssetId: dollarOf(network, dollars) })
}

/** Returns a quantity that counts against a limit: an amount with its unit, or a number of payments without one. */
export function formatQuantity(limit: Limit, quantity: bigint, dollars: Dollars): string {
  if (limit.type === 'count') return `${quantity}`
  return formatAmount({ network: limit.network, assetId: limit.assetId, amount: quantity }, dollars)
}

/** Describes a quantity that counts against a limit: `$5`, `2 ALGO`, `20 payments`. */
export function describeQuantity(limit: Limit, quantity: bigint, dollars: Dollars): string {
  return limit.type === 'count' ? SpendLimit.formatCount(quantity) : formatQuantity(limit, quantity, dollars)
}

/** Returns the machine-readable unit of a limit: `USDC`, `ALGO`, `asset 123` or `payments`. */
export function unitOf(limit: Limit, dollars: Dollars): string {
  return limit.type === 'count' ? 'payments' : assetUnit({ network: limit.network, id: limit.assetId }, dollars)
}

/** Returns the machine-readable unit of an asset: `USDC`, `ALGO` or `asset 123`. */
export function assetUnit({ network, id }: NetworkItem, dollars: Dollars): string {
  if (id === 0n) return 'ALGO'
  return id === dollarOf(network, dollars) ? 'USDC' : `asset ${id}`
}

/** A placeholder id that only selects the dollar format. */
const anyDollar = { dollarAssetId: 1n }

/** Formats a quantity in a machine-readable unit, as in a refusal: `$0.50`, `2 ALGO`, `3 payments`. */
export function formatUnits(quantity: bigint, unit: string | undefined): string {
  if (unit === 'USDC') return SpendLimit.formatAmount({ assetId: 1n, amount: quantity }, anyDollar)
  if (unit === 'ALGO') return Readable.money({ assetId: 0n, amount: quantity })
  return unit === undefined ? Readable.number(quantity) : `${Readable.number(quantity)} ${unit}`
}

const periodWords: { readonly [period in SpendLimit.Period]: string } = {
  payment: 'for each payment',
  hour: 'an hour',
  day: 'a day',
  week: 'a week',
  '30days': 'in 30 days',
  total: 'in total',
}

/** Describes a limit in words: `$5 a day`, `$0.50 for each payment`. */
export function describeLimit(limit: Limit, dollars: Dollars): string {
  const payee = limit.payee === undefined ? '' : ` to ${limit.payee}`
  return `${describeQuantity(limit, quantityOf(limit), dollars)} ${periodWords[limit.per]}${payee}`
}

/** Rules of one kind, as sentences. */
export type RuleGroup = { readonly title: string; readonly lines: readonly string[] }

/** Options of {@link describeRules}. */
export type DescribeOptions = {
  /** Returns the name of a network. */
  networkName: (network: string) => string
  /** Dollar assets in addition to those of the rules. @default none */
  dollars?: Dollars | undefined
}

/** Describes rules in sentences, the most important first: what the agent may spend, whom it may pay, when it asks. */
export function describeRules(rules: Rules, { networkName, dollars: others = [] }: DescribeOptions): RuleGroup[] {
  const dollars = others.length === 0 ? rules.dollars : [...rules.dollars, ...others]
  return [
    { title: 'May spend', lines: rules.limits.map((limit) => `At most ${describeLimit(limit, dollars)}.`) },
    { title: 'May pay', lines: payeeLines(rules) },
    { title: 'Asks you', lines: askLines(rules, dollars) },
    { title: 'Otherwise', lines: otherLines(rules, networkName) },
  ]
}

function payeeLines({ payees: { allow, deny } }: Rules): string[] {
  const lines = allow === 'all' ? ['Anyone.'] : allow.map((address) => `${address}.`)
  if (lines.length === 0) lines.push('No address: none is listed.')
  return [...lines, ...deny.map((address) => `Never ${address}.`)]
}

function askLines({ ask, payees }: Rules, dollars: Dollars): string[] {
  const lines = ask.above.map((one) => `Before a payment above ${formatAmount(one, dollars)}.`)
  if (ask.overLimit) lines.push('Before a payment above a limit, instead of refusing it.')
  if (ask.unknownPayee && payees.allow !== 'all') lines.push('Before it pays an address that is not listed.')
  if (ask.otherTypes) lines.push('Before every opt-in and application call.')
  return lines.length === 0 ? ['Never: anything the rules do not allow is refused.'] : lines
}

function otherLines(rules: Rules, networkName: (network: string) => string): string[] {
  const { applications, optIns, maxFeeMicroAlgos, networks } = rules
  return [
    `Signs for ${networks.map(networkName).join(' and ')} only.`,
    `Pays a fee of at most ${Amount.formatAlgos(maxFeeMicroAlgos)} per transaction. Fees count as ALGO spending.`,
    ...optIns.map(({ id }) => `May opt in to asset ${id}.`),
    ...applications.map(({ id }) => `May call application ${id}.`),
    'Never rekeys, closes an account, or exports a key.',
  ]
}

/** Returns consequences of rules that the owner may not expect. */
export function ruleWarnings({ limits, payees, ask }: Rules): string[] {
  const warnings: string[] = []
  if (!limits.some((limit) => limit.type === 'amount' && limit.assetId === 0n)) {
    warnings.push('It has no limit in ALGO, so it can sign only transactions whose fee others pay.')
  }
  if (payees.allow !== 'all' && payees.allow.length === 0 && !ask.unknownPayee) {
    warnings.push('It may not pay any address: none is listed.')
  }
  return warnings
}
