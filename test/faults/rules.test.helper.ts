/** The rules that a history of a fault test must follow. */

export const rules = [
  'paid twice',
  'paid and not answered',
  'never ended',
  'answered and not paid',
  'two answers for one payment',
  'one payment for two purchases',
  'begun again after it was sent',
  'done twice',
  'answered and lost',
  'lost, and not an order',
  'settled in a response, and not on the ledger',
  'failed in a response, and on the ledger',
  'not decided in the end',
  'fees over budget',
  'not what was signed',
  'charged and not used',
  'used and not charged',
  'charged other than delivered',
  'charged other than answered by a replica',
] as const

export type Rule = (typeof rules)[number]
export type Problem = { readonly rule: Rule; readonly text: string }

export function groupBy<T>(list: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of list) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value])
  return groups
}
