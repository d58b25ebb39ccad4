/** Compares ledger, facilitator, sellers, buyers and fees to the unit at the end of a soak. */
import { LatchkeyShopper } from './soakBuyers.test.helper.js'
import { dollar, type Market, microAlgosOf } from './soakMarket.test.helper.js'
import type { Purchase } from './soakPurchases.test.helper.js'
import {
  type Claim,
  claimsOf,
  describe,
  type Entry,
  entriesOf,
  type Ledger,
  ledgerOf,
  type Row,
  settlements,
} from './soakRecords.test.helper.js'
import { compareUsage } from './soakUsageBooks.test.helper.js'

export type Books = { counts: { [name: string]: unknown }; problems: string[] }

/** Each lookup asks for up to 1,000 blocks. */
const maxExpiredLookups = 3
const maxChargeLookups = 10

export async function compareBooks(market: Market): Promise<Books> {
  const rows = await settlements(market)
  const ledger = await ledgerOf(market)
  // A charge of nothing is recorded, and is not on the ledger.
  const settledRows = rows.filter(({ state, amount }) => state === 'settled' && amount !== '0')
  const claims = await claimsOf(market)
  const entries = await entriesOf(market, ledger)
  const settled = entries.filter(({ isSettled }) => isSettled)
  const purchases = market.shoppers.flatMap((shopper) => shopper.purchases)
  const delivered = new Set(purchases.flatMap(({ deliveries }) => deliveries.map((one) => one.transactionId)))
  const missing = settled.filter(({ transactionId }) => !delivered.has(transactionId))
  // A seller cannot distinguish such a buyer from an observer of the ledger, so it sends an answer once; this one was
  // sent.
  const sentOnce = missing.filter(({ hasSecret, isServed }) => !hasSecret && isServed)
  // A metered stream is charged for what was sent of it.
  const cut = missing.filter(({ purchase }) => purchase?.good === 'tail')
  const undelivered = missing.filter((entry) => !sentOnce.includes(entry) && !cut.includes(entry))
  const excused = new Set(sentOnce.map(({ purchase }) => purchase))
  const unanswered = purchases.filter((purchase) => {
    const isLostStream = purchase.good === 'tail' && purchase.state === 'lost'
    return purchase.state !== 'delivered' && !excused.has(purchase) && !isLostStream
  })
  // A buyer whose answer was sent once, and who did not get it, may pay for another.
  const twice = paidTwice(settled.filter((entry) => !sentOnce.includes(entry)))
  const duplicates = [...doubleAnswers(purchases), ...doubleOrders(market, settled)]
  const usage = await compareUsage(market, { ledger, entries, rows })
  const problems = [
    ...undelivered.map((entry) => `undelivered: ${entry.transactionId} of ${describe(entry.purchase)}`),
    ...unanswered.map((purchase) => `unanswered: ${describe(purchase)}`),
    ...twice.map((purchase) => `paid twice: ${describe(purchase)}`),
    ...duplicates,
    ...claimProblems(claims, ledger),
    ...unpaidProblems(market, delivered, settled),
    ...ledgerProblems(settledRows, ledger, settled),
    ...(await balanceProblems(market, settledRows)),
    ...(await logProblems(market, ledger)),
    ...usage.problems,
  ]
  const counts = {
    purchases: purchases.length,
    payments: entries.length,
    settled: settled.length,
    delivered: settled.length - missing.length,
    undelivered: undelivered.length,
    sentOnceWithoutSecret: sentOnce.length,
    unanswered: unanswered.length,
    duplicates: duplicates.length,
    paidTwice: twice.length,
    ordersPlaced: market.sellers.reduce((total, { shop }) => total + shop.orders.size, 0),
    microDollars: Number(sum(settledRows, 'amount')),
    feeMicroAlgos: Number(sum(settledRows, 'fee_micro_algos')),
    usage: usage.counts,
  }
  return { counts, problems }
}

function sum(rows: readonly Row[], column: 'amount' | 'fee_micro_algos'): bigint {
  return rows.reduce((total, row) => total + BigInt(row[column]), 0n)
}

/** Claims of old payments are deleted, so there may be fewer claims than payments. */
function claimProblems(claims: readonly Claim[], { payments }: Ledger): string[] {
  return claims.flatMap(({ transaction_id, state }) => {
    if (state === 'serving') return [`still being served: ${transaction_id}`]
    // An authorization may be charged nothing.
    const isFree = transaction_id.startsWith('upto-')
    const isUnpaid = state === 'served' && !isFree && !payments.has(transaction_id)
    return isUnpaid ? [`served and not settled: ${transaction_id}`] : []
  })
}

function paidTwice(settled: readonly Entry[]): Purchase[] {
  const seen = new Set<Purchase>()
  return settled.flatMap(({ purchase }) => {
    if (purchase === undefined || !seen.has(purchase)) {
      if (purchase !== undefined) seen.add(purchase)
      return []
    }
    return [purchase]
  })
}

/** A payment may be answered again, but only with the same answer. */
function doubleAnswers(purchases: readonly Purchase[]): string[] {
  const answers = new Map<string, Set<string>>()
  for (const { transactionId, answer } of purchases.flatMap(({ deliveries }) => deliveries)) {
    answers.set(transactionId, (answers.get(transactionId) ?? new Set()).add(answer))
  }
  const several = [...answers].filter(([, own]) => own.size > 1)
  return several.map(([transactionId, own]) => `duplicate: ${transactionId} opened ${own.size} answers`)
}

/** An order is placed once for each settled payment of its purchase, and never without one. */
function doubleOrders({ sellers }: Market, settled: readonly Entry[]): string[] {
  const paid = new Map<string, number>()
  for (const { purchase } of settled) if (purchase) paid.set(purchase.id, (paid.get(purchase.id) ?? 0) + 1)
  return sellers.flatMap(({ name, shop }) =>
    [...shop.orders].flatMap(([id, times]) => {
      const payments = paid.get(id) ?? 0
      if (times === payments) return []
      const kind = payments === 0 ? 'unpaid order' : 'duplicate order'
      return [`${kind}: ${id} at ${name} was placed ${times} times for ${payments} payments`]
    }),
  )
}

/** Nothing was given away: every delivery names a payment on the ledger, for that purchase. */
function unpaidProblems({ shoppers }: Market, delivered: ReadonlySet<string>, settled: readonly Entry[]): string[] {
  const purchaseOf = new Map(settled.map(({ transactionId, purchase }) => [transactionId, purchase]))
  const free = new Set(
    shoppers
      .flatMap(({ purchases }) => purchases.flatMap(({ deliveries }) => deliveries))
      .flatMap((one) => (one.usage?.charge === '0' ? one.transactionId : [])),
  )
  const unpaid = [...delivered]
    .filter((transactionId) => !free.has(transactionId))
    .filter((transactionId) => !purchaseOf.has(transactionId))
  const others = shoppers
    .flatMap(({ purchases }) => purchases)
    .flatMap((purchase) => purchase.deliveries.map(({ transactionId }) => ({ transactionId, purchase })))
    .filter(({ transactionId, purchase }) => (purchaseOf.get(transactionId) ?? purchase) !== purchase)
  return [
    ...unpaid.map((transactionId) => `delivered and not settled: ${transactionId}`),
    ...others.map(({ transactionId, purchase }) => `${transactionId} opened something else: ${describe(purchase)}`),
  ]
}

/** The facilitator's settlements are those on the ledger, and each belongs to a buyer and has a fee payment. */
function ledgerProblems(rows: readonly Row[], ledger: Ledger, settled: readonly Entry[]): string[] {
  const { payments, lines } = ledger
  const recorded = new Set(rows.map(({ transaction_id }) => transaction_id))
  const known = new Set(settled.map(({ transactionId }) => transactionId))
  const wrong = rows.filter(({ transaction_id, amount, payer, pay_to }) => {
    const paid = payments.get(transaction_id)
    return paid !== undefined && (paid.amount !== amount || paid.sender !== payer || paid.receiver !== pay_to)
  })
  return [
    ...[...payments.keys()]
      .filter((id) => !recorded.has(id))
      .map((id) => `on the ledger, and not settled in the store: ${id}`),
    ...[...recorded]
      .filter((id) => !payments.has(id))
      .map((id) => `settled in the store, and not on the ledger: ${id}`),
    ...[...payments.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `on the ledger, and in no log of a buyer: ${id}`),
    ...wrong.map(({ transaction_id }) => `other in the store than on the ledger: ${transaction_id}`),
    ...(lines.length === 2 * known.size
      ? []
      : [`${lines.length} transactions on the ledger for ${known.size} payments`]),
  ]
}

async function balanceProblems(market: Market, rows: readonly Row[]): Promise<string[]> {
  const { chain, before, sponsor, sellers, shoppers } = market
  const problems: string[] = []
  const compare = (what: string, actual: bigint, expected: bigint): void => {
    if (actual !== expected) problems.push(`${what}: ${actual} on the ledger, ${expected} in the settlements`)
  }
  const change = async (address: string): Promise<bigint> =>
    (await chain.algod.holding(address, dollar))!.amount - before.microDollars.get(address)!
  for (const { name, payTo } of sellers) {
    const own = rows.filter(({ pay_to }) => pay_to === payTo)
    compare(`income of ${name}`, await change(payTo), sum(own, 'amount'))
  }
  for (const { name, address } of shoppers) {
    const own = rows.filter(({ payer }) => payer === address)
    compare(`spending of ${name}`, -(await change(address)), sum(own, 'amount'))
  }
  const fees = before.sponsorMicroAlgos - (await microAlgosOf(chain, sponsor))
  compare('fees', fees, sum(rows, 'fee_micro_algos'))
  return problems
}

/** Compares a buyer's records, and its lookups of open payments, with the ledger. */
async function logProblems({ shoppers }: Market, { payments }: Ledger): Promise<string[]> {
  const problems: string[] = []
  for (const { buyer, name } of shoppers.filter((one) => one instanceof LatchkeyShopper)) {
    const left = { settled: maxChargeLookups, expired: maxExpiredLookups }
    for (const { transactionId, state } of buyer.payments.all()) {
      const paid = payments.get(transactionId)
      const kind = paid === undefined ? 'expired' : 'settled'
      // The charge of a stream is searched in many blocks.
      const isFast = kind === 'settled' && !transactionId.startsWith('upto-')
      const isLookedUp = state === 'open' && (isFast || left[kind]-- > 0)
      const known = isLookedUp ? await buyer.lookUp(transactionId) : state
      if (known === 'open' ? isLookedUp : known !== kind) {
        problems.push(`${name} holds ${transactionId} for ${known}, the ledger has ${paid ? 'it' : 'it not'}`)
      }
      const charge = buyer.payments.get(transactionId)?.charge
      if (charge !== undefined && charge.amount !== paid?.amount) {
        problems.push(`${name} was charged ${charge.amount} by ${transactionId}, the ledger has ${paid?.amount}`)
      }
    }
    const counted = buyer.payments.all().filter(({ state }) => state !== 'expired')
    const total = counted.reduce((spent, { amount, charge }) => spent + BigInt(charge?.amount ?? amount), 0n)
    const { microDollars } = buyer.payments.spent()
    if (microDollars !== total) problems.push(`${name} counts ${microDollars}, its payments amount to ${total}`)
  }
  return problems
}
