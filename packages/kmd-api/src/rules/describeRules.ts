/** Describes rules: in the notation of the command line (`$5/day`), and in words (`$5 a day`). */
import { Amount, Readable } from '@latchkey/algorand'
import { dollarOf, type Limit, type NetworkAmount, type NetworkItem, quantityOf, type Rules } from './Rules.js'
import * as SpendLimit from './SpendLimit.js'

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
