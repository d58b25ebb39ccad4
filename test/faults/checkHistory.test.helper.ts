/**
 * Checks a history against logs and ledger alone. The checker knows nothing about the stores, gates and facilitators
 * that made the history, and shares no code with them.
 */
import { checkUsage } from './checkUsage.test.helper.js'
import type { Happening, History, LedgerLine, Line } from './history.test.helper.js'
import { groupBy, type Problem } from './rules.test.helper.js'

export type { Problem, Rule } from './rules.test.helper.js'

/** The operator's settings, and the roles of accounts on the ledger. */
export type Setting = {
  /** The accounts that pay fees. */
  readonly feePayers: readonly string[]
  /** In microAlgos over the whole history, which is shorter than a day. */
  readonly feesPerPayTo?: bigint | undefined
  readonly feesInAll?: bigint | undefined
}

export function checkHistory(history: History, setting: Setting): Problem[] {
  const facts = factsOf(history, setting)
  return [
    ...checkPurchases(facts),
    ...checkAnswers(facts),
    ...checkHandlers(facts),
    ...checkOrders(facts),
    ...checkResponses(facts),
    ...checkFees(facts, setting),
    ...checkTransfers(facts),
    ...checkUsage(history.lines, facts.payments),
  ]
}

type LineOf<Type extends Happening['type']> = Line & Extract<Happening, { type: Type }>

type Facts = {
  readonly lines: readonly Line[]
  readonly of: <Type extends Happening['type']>(type: Type) => LineOf<Type>[]
  /** Payments on the ledger by id: all transactions except those of the fee payers. */
  readonly payments: ReadonlyMap<string, LedgerLine>
  /** The fees of the fee payers, with the payment of the same group. */
  readonly fees: readonly { readonly line: LedgerLine; readonly payTo: string }[]
  readonly signed: ReadonlyMap<string, LineOf<'signed'>>
}

function factsOf({ lines, ledger }: History, { feePayers }: Setting): Facts {
  const of = <Type extends Happening['type']>(type: Type): LineOf<Type>[] =>
    lines.filter((line): line is LineOf<Type> => line.type === type)
  const isFee = ({ sender }: LedgerLine): boolean => feePayers.includes(sender)
  const payments = ledger.filter((line) => !isFee(line))
  const payToOf = new Map(payments.map(({ group, receiver }) => [group, receiver]))
  return {
    lines,
    of,
    payments: new Map(payments.map((line) => [line.paymentId, line])),
    fees: ledger.filter(isFee).map((line) => ({ line, payTo: payToOf.get(line.group) ?? 'none' })),
    signed: new Map(of('signed').map((line) => [line.transactionId, line])),
  }
}

/** Each purchase is paid at most once. A paid purchase is answered, and an unpaid one was given up. */
function checkPurchases({ of, payments, signed }: Facts): Problem[] {
  const answered = new Set([...of('answer'), ...of('lost')].map(({ purchase }) => purchase))
  const refused = new Set(of('refused').map(({ purchase }) => purchase))
  const paid = groupBy(
    [...signed.values()].filter(({ transactionId }) => payments.has(transactionId)),
    ({ purchase }) => purchase,
  )
  return of('intent').flatMap(({ purchase }): Problem[] => {
    const ids = (paid.get(purchase) ?? []).map(({ transactionId }) => transactionId)
    const problems: Problem[] = []
    if (ids.length > 1) problems.push({ rule: 'paid twice', text: `${purchase} by ${ids.join(' and ')}` })
    if (answered.has(purchase)) return problems
    if (ids.length > 0) problems.push({ rule: 'paid and not answered', text: `${purchase} by ${ids[0]}` })
    else if (!refused.has(purchase)) problems.push({ rule: 'never ended', text: `${purchase}` })
    return problems
  })
}

/** One payment opens one answer, for one purchase, at every receiver. There is no answer without a payment. */
function checkAnswers({ of, payments }: Facts): Problem[] {
  const answers = of('answer')
  // A use may cost nothing.
  const unpaid = answers.filter(({ transactionId, charge }) => !payments.has(transactionId) && charge !== '0')
  const given = groupBy([...answers, ...of('sent')], ({ transactionId }) => transactionId)
  const double = [...given].flatMap(([transactionId, lines]): Problem[] => {
    const several = distinct(lines.map(({ answer }) => answer))
    const purchases = distinct(lines.map(({ purchase }) => purchase))
    const found: Problem[] = []
    if (several.length > 1) {
      const text = `${transactionId}: ${several.join(' and ')}`
      found.push({ rule: 'two answers for one payment', text })
    }
    if (purchases.length > 1) {
      found.push({ rule: 'one payment for two purchases', text: `${transactionId}: ${purchases.join(' and ')}` })
    }
    return found
  })
  return [
    ...unpaid.map(({ purchase, transactionId }): Problem => {
      return { rule: 'answered and not paid', text: `${purchase} by ${transactionId}` }
    }),
    ...double,
  ]
}

/**
 * A handler may run again after its process died or lost its lease, but does not begin after the answer was sent. A
 * handler that began before may end later; its answer is not sent.
 */
function checkHandlers({ lines }: Facts): Problem[] {
  const sent = new Set<string>()
  return lines.flatMap((line): Problem[] => {
    if (line.type === 'sent') sent.add(line.transactionId)
    if (line.type !== 'begun' || !sent.has(line.transactionId)) return []
    return [{ rule: 'begun again after it was sent', text: `${line.transactionId} at ${line.process}` }]
  })
}

/** An order begins once, whatever happens to its gate. Its buyer gets the answer, or a report that it was lost. */
function checkOrders({ of }: Facts): Problem[] {
  const orders = groupBy(
    of('begun').filter(({ isOrder }) => isOrder),
    ({ transactionId }) => transactionId,
  )
  const safe = new Set(of('begun').flatMap(({ isOrder, transactionId }) => (isOrder ? [] : transactionId)))
  // A stream that is charged by usage is sent once, and is lost if its buyer asks for it again.
  const streams = new Set(of('used').flatMap(({ isStream, transactionId }) => (isStream ? transactionId : [])))
  const sent = new Set(
    [...of('sent'), ...of('answer')].flatMap(({ transactionId }) => (streams.has(transactionId) ? [] : transactionId)),
  )
  const lost = distinct(of('lost').map(({ transactionId }) => transactionId))
  return [
    ...[...orders].flatMap(([transactionId, begun]): Problem[] => {
      if (begun.length === 1) return []
      return [{ rule: 'done twice', text: `${transactionId} at ${begun.map(({ process }) => process).join(' and ')}` }]
    }),
    ...lost.flatMap((transactionId): Problem[] => [
      ...(sent.has(transactionId) ? [{ rule: 'answered and lost', text: transactionId } as const] : []),
      ...(safe.has(transactionId) ? [{ rule: 'lost, and not an order', text: transactionId } as const] : []),
    ]),
  ]
}

/** Codes with which a facilitator reports that a payment will never be settled. */
const finalReasons = ['invalid_exact_avm_settlement_failed', 'invalid_upto_avm_settlement_failed']

/** The responses of replicas match the ledger, and once all faults are over, each replica agrees. */
function checkResponses({ of, payments }: Facts): Problem[] {
  const quietMs = of('quiet').at(-1)?.atMs ?? Number.POSITIVE_INFINITY
  const undecided = of('settle').filter(({ atMs, transactionId, success, reason }) => {
    const isUndecided = !success && !finalReasons.includes(reason ?? '')
    return atMs > quietMs && isUndecided && (reason === 'settlement_pending' || payments.has(transactionId))
  })
  const unconfirmed = of('settle').flatMap(({ transactionId, success, reason, process, charge }): Problem[] => {
    if (success && charge === '0') return []
    const isPaid = payments.has(transactionId)
    if (success && !isPaid) {
      return [{ rule: 'settled in a response, and not on the ledger', text: `${transactionId} by ${process}` }]
    }
    if (success || !isPaid || !finalReasons.includes(reason ?? '')) return []
    return [{ rule: 'failed in a response, and on the ledger', text: `${transactionId} by ${process}` }]
  })
  return [
    ...unconfirmed,
    ...undecided.map(({ transactionId, reason, process }): Problem => {
      return { rule: 'not decided in the end', text: `${transactionId} by ${process}: ${reason}` }
    }),
  ]
}

function checkFees({ fees }: Facts, { feesPerPayTo, feesInAll }: Setting): Problem[] {
  const sum = (lines: readonly { line: LedgerLine }[]): bigint =>
    lines.reduce((total, { line }) => total + BigInt(line.feeMicroAlgos) + BigInt(line.amount), 0n)
  const over = (who: string, spent: bigint, budget: bigint | undefined): Problem[] =>
    budget === undefined || spent <= budget
      ? []
      : [{ rule: 'fees over budget', text: `${spent} microAlgos for ${who}, ${budget} allowed` }]
  return [
    ...over('all', sum(fees), feesInAll),
    ...[...groupBy(fees, ({ payTo }) => payTo)].flatMap(([payTo, own]) => over(payTo, sum(own), feesPerPayTo)),
  ]
}

/** Every payment on the ledger was recorded by a buyer, to the unit, with one fee. */
function checkTransfers({ payments, signed, fees }: Facts): Problem[] {
  const feesOf = groupBy(fees, ({ line }) => line.group)
  return [...payments.values()].flatMap(({ paymentId, group, receiver, amount }): Problem[] => {
    const known = signed.get(paymentId)
    const paidFees = feesOf.get(group)?.length ?? 0
    const isUpTo = paymentId.startsWith('upto-')
    const isAmount = isUpTo ? BigInt(amount) <= BigInt(known?.amount ?? 0n) : known?.amount === amount
    if (known?.payTo === receiver && isAmount && paidFees === 1) return []
    const expected = known === undefined ? 'nothing' : `${isUpTo ? 'up to ' : ''}${known.amount} to ${known.payTo}`
    const text = `${paymentId}: ${amount} to ${receiver} and ${paidFees} fees, signed was ${expected}`
    return [{ rule: 'not what was signed', text }]
  })
}

const distinct = (list: readonly string[]): string[] => [...new Set(list)]
