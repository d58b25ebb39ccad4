/** Spending limits in readable notation: `$5/day`, `2 ALGO/total`, `each $0.50`, `20 payments/hour`. */
import { Address, Amount, LatchkeyError, Readable } from '@latchkey/algorand'
import { bounds } from './bounds.js'

/** The period that a limit covers. All but `payment` and `total` are rolling. */
export type Period = 'payment' | 'hour' | 'day' | 'week' | '30days' | 'total'

/** A limit on an amount of one asset, in base units, or on the number of payments. */
export type SpendLimit = {
  readonly per: Period
  /** @default all payees together */
  readonly payee?: string | undefined
} & (
  | { readonly type: 'amount'; readonly assetId: bigint; readonly amount: bigint }
  | { readonly type: 'count'; readonly count: number }
)

/** The asset that `$` refers to. */
export type DollarOptions = {
  /** The dollar asset of the network, with six decimals. @default none: `$` is refused */
  dollarAssetId?: bigint | undefined
}

/** Every {@link Period}, shortest first. */
export const periods: readonly Period[] = ['payment', 'hour', 'day', 'week', '30days', 'total']

const periodNames: { readonly [name: string]: Period } = {
  payment: 'payment',
  each: 'payment',
  hour: 'hour',
  '1h': 'hour',
  day: 'day',
  '1d': 'day',
  week: 'week',
  '7d': 'week',
  '30days': '30days',
  '30d': '30days',
  total: 'total',
}
const dollarDecimals = 6
const maxLength = 200
const examples = 'such as $5/day, each $0.50, 2 ALGO/total, 10 asset 123/week or 20 payments/hour'
/** A literal next to its class, so that browser bundles do not contain the whole registry. */
export const limitHint = `write a limit ${examples}`

/**
 * Parses a limit. Dollars and Algos are decimals; amounts of any other asset are in base units.
 *
 * @throws SpendLimitError `invalid_limit`, with a message that explains the problem.
 *
 * @example
 * SpendLimit.parse('$5/day', { dollarAssetId: 31566704n })
 * // { type: 'amount', per: 'day', assetId: 31566704n, amount: 5_000_000n }
 */
export function parse(text: string, options: DollarOptions = {}): SpendLimit {
  if (text.length > maxLength) throw new SpendLimitError(`a limit must have at most ${maxLength} characters`)
  const [, body, payee] = /^\s*(.*?)(?:\s+to\s+(\S+))?\s*$/is.exec(text)!
  if (payee !== undefined && !Address.isValid(payee)) throw new SpendLimitError(`${quote(payee)} is not an address`)
  const { quantity, per } = splitPeriod(body!, text)
  const limit = parseQuantity(quantity, text, options)
  if (limit.type === 'count' && per === 'payment') {
    throw new SpendLimitError(`the number of payments in ${quote(text)} needs a period, such as 20 payments/hour`)
  }
  return { ...limit, per, ...(payee !== undefined && { payee }) }
}

/**
 * Parses an amount without a period: `$0.25`, `2 ALGO`, `10 asset 123`.
 *
 * @throws SpendLimitError `invalid_limit`.
 */
export function parseAmount(text: string, options: DollarOptions = {}): { assetId: bigint; amount: bigint } {
  const quantity = text.length > maxLength ? undefined : parseQuantity(text.trim(), text, options, amountForm)
  if (quantity?.type === 'amount') return { assetId: quantity.assetId, amount: quantity.amount }
  throw notOfForm(text, amountForm)
}

/**
 * Formats a limit so that {@link parse} can read it.
 *
 * @example
 * SpendLimit.format({ type: 'count', per: 'hour', count: 20 }) // '20 payments/hour'
 */
export function format(limit: SpendLimit, options: DollarOptions = {}): string {
  const quantity = limit.type === 'count' ? formatCount(limit.count) : formatAmount(limit, options)
  const payee = limit.payee === undefined ? '' : ` to ${limit.payee}`
  return limit.per === 'payment' ? `each ${quantity}${payee}` : `${quantity}/${limit.per}${payee}`
}

/** Formats an amount with its unit: `$0.50`, `2 ALGO`, `10 asset 123`. */
export function formatAmount(
  { assetId, amount }: { assetId: bigint; amount: bigint },
  { dollarAssetId }: DollarOptions = {},
): string {
  if (assetId === 0n) return Readable.money({ assetId, amount })
  return assetId === dollarAssetId ? Readable.dollars(amount) : `${Readable.number(amount)} asset ${assetId}`
}

/** Formats a number of payments: `1 payment`, `20 payments`. */
export function formatCount(count: number | bigint): string {
  return `${count}` === '1' ? '1 payment' : `${Readable.number(count)} payments`
}

/**
 * Parses the maximum fee of a transaction, in Algos with or without the unit: `0.01 ALGO`, `0.01`.
 *
 * @throws SpendLimitError `invalid_limit`.
 */
export function parseFee(text: string): bigint {
  const number = text.trim().replace(/\s*ALGOS?$/i, '')
  const fee = text.length > maxLength ? undefined : Amount.parse(number, Amount.algoDecimals)
  if (fee !== undefined && fee <= bounds.feeMicroAlgos) return fee
  throw new SpendLimitError(`${quote(text)} is not a fee in ALGO, such as 0.01 ALGO, at most 10`)
}

function splitPeriod(body: string, text: string): { quantity: string; per: Period } {
  const each = /^each\s+(.*)$/is.exec(body)
  if (each !== null) return { quantity: each[1]!.trim(), per: 'payment' }
  const slash = body.lastIndexOf('/')
  if (slash < 0) throw new SpendLimitError(`${quote(text)} has no period; write a limit ${examples}`)
  const name = body
    .slice(slash + 1)
    .trim()
    .toLowerCase()
  const per = Object.hasOwn(periodNames, name) ? periodNames[name] : undefined
  if (per === undefined) {
    throw new SpendLimitError(`${quote(name)} is not a period; use payment, hour, day, week, 30days or total`)
  }
  return { quantity: body.slice(0, slash).trim(), per }
}

type Quantity = { type: 'amount'; assetId: bigint; amount: bigint } | { type: 'count'; count: number }

/** The expected form of a text, for the error. */
type Form = { readonly noun: string; readonly examples: string }

const limitForm: Form = { noun: 'a limit', examples }
const amountForm: Form = { noun: 'an amount', examples: 'such as $0.25, 2 ALGO or 10 asset 123' }

function notOfForm(text: string, form: Form): SpendLimitError {
  const hint = `write ${form.noun} ${form.examples}`
  return new SpendLimitError(`${quote(text)} is not ${form.noun} ${form.examples}`, hint)
}

function parseQuantity(
  quantity: string,
  text: string,
  { dollarAssetId }: DollarOptions,
  form: Form = limitForm,
): Quantity {
  const dollars = /^\$\s*(\S+)$/.exec(quantity) ?? /^(\S+)\s+(?:USDC|USD)$/i.exec(quantity)
  if (dollars !== null) {
    if (dollarAssetId === undefined) throw new SpendLimitError(`this network has no dollar asset for ${quote(text)}`)
    return { type: 'amount', assetId: dollarAssetId, amount: units(dollars[1]!, dollarDecimals, text) }
  }
  const algos = /^(\S+?)\s*ALGOS?$/i.exec(quantity)
  if (algos !== null) return { type: 'amount', assetId: 0n, amount: units(algos[1]!, Amount.algoDecimals, text) }
  const asset = /^(\S+)\s+(?:asset\s+#?|#)([1-9][0-9]{0,19})$/i.exec(quantity)
  if (asset !== null && BigInt(asset[2]!) <= bounds.integer) {
    return { type: 'amount', assetId: BigInt(asset[2]!), amount: units(asset[1]!, 0, text) }
  }
  const count = /^([0-9]{1,10}|[0-9]{1,3}(?:,[0-9]{3}){1,3})\s+payments?$/i.exec(quantity)
  const payments = Number(count?.[1]?.replaceAll(',', ''))
  if (count !== null && payments <= bounds.count) return { type: 'count', count: payments }
  throw notOfForm(text, form)
}

function units(number: string, decimals: number, text: string): bigint {
  const amount = Amount.parse(number.replaceAll(/(?<=\d),(?=\d{3}(?:\D|$))/g, ''), decimals)
  if (amount !== undefined && amount <= bounds.integer) return amount
  const most = decimals === 0 ? 'a whole number of the smallest unit' : `a number with at most ${decimals} decimals`
  throw new SpendLimitError(`the amount in ${quote(text)} is not ${most}`)
}

/** Makes untrusted text safe for a message. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, maxLength)).replace(/[^ -~]/g, '?')
}

/** The text is not a limit. */
export class SpendLimitError extends LatchkeyError<'invalid_limit'> {
  override name = 'SpendLimitError'

  constructor(message: string, hint: string = limitHint) {
    super('invalid_limit', message, { hint })
  }
}
