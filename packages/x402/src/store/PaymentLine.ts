/** The lines of a payment log: a payment, a change of one, or what was spent by payments that are no longer in the file. */
import { Json } from '@latchkey/algorand'
import type { Payment, Spent } from '../client/Payments.js'
import { type Change, PaymentTable, type Unanswered } from '../client/PaymentTable.js'

/** The first line of a rewritten file: what the payments amount to that are no longer in it. */
type Before = { before: { microDollars: string; assets: { [key: string]: string } } }

export type Line =
  | { readonly type: 'before'; readonly spent: Spent }
  | { readonly type: 'payment'; readonly payment: Payment; readonly unanswered: Unanswered }
  | { readonly type: 'change'; readonly change: Change }

/** Undefined if the line is none of a payment log. */
export function parse(text: string): Line | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Json.isObject(value)) return undefined
  if ('before' in value) return { type: 'before', spent: spentOf(value as unknown as Before) }
  if (!('transactionId' in value)) return undefined
  if (!('payTo' in value)) return { type: 'change', change: value as unknown as Change }
  const { header, owner, ...payment } = value as unknown as Payment & Unanswered
  return { type: 'payment', payment, unanswered: { header, owner } }
}

/** Everything that a table has, in the lines of a new file. */
export function linesOf(table: PaymentTable): object[] {
  const payments = table.all()
  const lines = payments.map((payment) => ({ ...payment, ...table.unanswered(payment.transactionId) }))
  return [beforeOf(table.spent(), payments), ...lines]
}

function spentOf({ before: { microDollars, assets } }: Before): Spent {
  const counted = Object.entries(assets).map(([key, amount]): [string, bigint] => [key, BigInt(amount)])
  return { microDollars: BigInt(microDollars), assets: new Map(counted) }
}

/** Everything that was spent, except by the payments that stay in the file. */
function beforeOf(all: Spent, payments: readonly Payment[]): Before {
  const kept = new PaymentTable(payments.length)
  for (const payment of payments) kept.add(payment, {})
  const { microDollars, assets } = kept.spent()
  const rest = [...all.assets].map(([key, amount]) => [key, (amount - (assets.get(key) ?? 0n)).toString()])
  return {
    before: { microDollars: (all.microDollars - microDollars).toString(), assets: Object.fromEntries(rest) },
  }
}
