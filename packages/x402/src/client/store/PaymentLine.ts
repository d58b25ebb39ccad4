/**
 * The lines of a payment log: a payment, a change of a payment, or the total of payments that are no longer in the
 * file.
 */
import { Json } from '@latchkey/algorand'
import { type Change, type Payment, type PaymentState, PaymentTable, type Spent, type Unanswered } from './Payments.js'

/** The first line of a rewritten file: the totals of the payments that are no longer in it. */
type Before = { before: { microDollars: string; assets: { [key: string]: string } } }

export type Line =
  | { readonly type: 'before'; readonly spent: Spent }
  | { readonly type: 'payment'; readonly payment: Payment; readonly unanswered: Unanswered }
  | { readonly type: 'change'; readonly change: Change }

/** Parses a line; undefined if it is not a line of a payment log. */
export function parse(text: string): Line | undefined {
  const value = Json.parseObject(text)
  if (value === undefined) return undefined
  if ('before' in value) return isBefore(value) ? { type: 'before', spent: spentOf(value) } : undefined
  if (!isChange(value)) return undefined
  if (!('payTo' in value)) return { type: 'change', change: value }
  if (!isPayment(value)) return undefined
  const { header, owner, ...payment } = value as Payment & Change
  return { type: 'payment', payment, unanswered: { header: header ?? undefined, owner: owner ?? undefined } }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): boolean => isText(value) && /^[0-9]+$/.test(value)
const states: readonly unknown[] = ['open', 'settled', 'expired'] satisfies PaymentState[]

function isBefore(value: Json.Members): value is Json.Members & Before {
  const { before } = value
  if (!Json.isObject(before) || !isCount(before['microDollars'])) return false
  return Json.isObject(before['assets']) && Object.values(before['assets']).every(isCount)
}

function isChange(value: Json.Members): value is Json.Members & Change {
  const { transactionId, state = 'open', header, owner } = value
  return isText(transactionId) && states.includes(state) && [header, owner].every((one) => isText(one ?? ''))
}

/** A line with these members is a payment. Totals and ledger lookups depend on them. */
function isPayment(value: Json.Members): value is Json.Members & Payment {
  const { amount, microDollars = '0', firstValid, lastValid, signedMs } = value
  const { state, network, url, payTo, asset, requestId = '' } = value
  if (![amount, microDollars, firstValid, lastValid].every(isCount)) return false
  return [state, network, url, payTo, asset, requestId].every(isText) && typeof signedMs === 'number'
}

/** The lines of a new file with everything in a table. */
export function linesOf(table: PaymentTable): object[] {
  const payments = table.all()
  const lines = payments.map((payment) => ({ ...payment, ...table.unanswered(payment.transactionId) }))
  return [beforeOf(table.spent(), payments), ...lines]
}

function spentOf({ before: { microDollars, assets } }: Before): Spent {
  const counted = Object.entries(assets).map(([key, amount]): [string, bigint] => [key, BigInt(amount)])
  return { microDollars: BigInt(microDollars), assets: new Map(counted) }
}

/** All amounts spent, except for the payments that stay in the file. */
function beforeOf(all: Spent, payments: readonly Payment[]): Before {
  const kept = new PaymentTable(payments.length)
  for (const payment of payments) kept.add(payment, {})
  const { microDollars, assets } = kept.spent()
  const rest = [...all.assets].map(([key, amount]) => [key, (amount - (assets.get(key) ?? 0n)).toString()])
  return {
    before: { microDollars: (all.microDollars - microDollars).toString(), assets: Object.fromEntries(rest) },
  }
}
