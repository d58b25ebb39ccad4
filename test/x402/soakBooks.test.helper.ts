/** Compares ledger, facilitator, sellers, buyers and fees to the unit at the end of a soak. */
import { DatabaseSync } from '@photostructure/sqlite'
import { until } from '../process/commands.test.helper.js'
import { get } from '../support/devnet.test.helper.js'
import { LatchkeyShopper } from './soakBuyers.test.helper.js'
import { dollar, type Market, microAlgosOf, post } from './soakMarket.test.helper.js'
import type { Purchase } from './soakPurchases.test.helper.js'

type Row = {
  transaction_id: string
  state: string
  payer: string
  pay_to: string
  amount: string
  fee_micro_algos: string
}

/** A payment that a buyer signed, with its state in the ledger. */
type Entry = {
  transactionId: string
  purchase: Purchase | undefined
  isSettled: boolean
  /** Whether the seller recorded that it has sent the answer. */
  isServed: boolean
  hasSecret: boolean
}

export type Books = { counts: { [name: string]: unknown }; problems: string[] }

/** After its last valid round, a payment that is not on the ledger never will be. */
const roundsToExpire = 200
/** Each lookup asks for up to 1,000 blocks. */
const maxExpiredLookups = 3

/** Waits until the facilitator has decided everything, and no signed payment can still be settled. */
export async function closeBooks(market: Market): Promise<void> {
  await until('no settlement is pending', () => settlements(market).every(({ state }) => state !== 'pending'))
  await post(market.nodeUrl, '/devnet/mine', { rounds: roundsToExpire })
  await until('no settlement is pending', () => settlements(market).every(({ state }) => state !== 'pending'))
}

export async function compareBooks(market: Market): Promise<Books> {
  const settledRows = settlements(market).filter(({ state }) => state === 'settled')
  const ledger = await confirmedIds(market)
  const claims = market.sellers.flatMap(claimsOf)
  const entries = entriesOf(market, ledger)
  const settled = entries.filter(({ isSettled }) => isSettled)
  const purchases = market.shoppers.flatMap((shopper) => shopper.purchases)
  const delivered = new Set(purchases.flatMap(({ deliveries }) => deliveries.map((one) => one.transactionId)))
  const missing = settled.filter(({ transactionId }) => !delivered.has(transactionId))
  // A seller cannot distinguish such a buyer from an observer of the ledger, so it sends an answer once; this one was
  // sent.
  const sentOnce = missing.filter(({ hasSecret, isServed }) => !hasSecret && isServed)
  const undelivered = missing.filter((entry) => !sentOnce.includes(entry))
  const excused = new Set(sentOnce.map(({ purchase }) => purchase))
  const unanswered = purchases.filter((purchase) => purchase.state !== 'delivered' && !excused.has(purchase))
  const twice = paidTwice(settled)
  const duplicates = [...doubleAnswers(purchases), ...doubleOrders(market, settled)]
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
  }
  return { counts, problems }
}

function settlements({ storeFile }: Market): Row[] {
  const database = new DatabaseSync(storeFile, { readOnly: true })
  try {
    return database.prepare('SELECT * FROM settlements').all() as Row[]
  } finally {
    database.close()
  }
}

function sum(rows: readonly Row[], column: 'amount' | 'fee_micro_algos'): bigint {
  return rows.reduce((total, row) => total + BigInt(row[column]), 0n)
}

/** Returns every transaction on the ledger, block by block. */
async function confirmedIds({ nodeUrl }: Market): Promise<Set<string>> {
  const { 'last-round': last } = await get(`${nodeUrl}/v2/status`)
  const ids = new Set<string>()
  const rounds = Array.from({ length: Number(last) }, (_, index) => index + 1)
  const read = async (): Promise<void> => {
    for (let round = rounds.pop(); round !== undefined; round = rounds.pop()) {
      const { blockTxids } = await get(`${nodeUrl}/v2/blocks/${round}/txids`)
      for (const id of blockTxids as string[]) ids.add(id)
    }
  }
  await Promise.all(Array.from({ length: 8 }, read))
  return ids
}

type Claim = { transaction_id: string; state: string }

function claimsOf({ claimsFile }: { claimsFile: string }): Claim[] {
  const database = new DatabaseSync(claimsFile, { readOnly: true })
  try {
    return database.prepare('SELECT transaction_id, state FROM claims').all() as Claim[]
  } finally {
    database.close()
  }
}

/** Claims of old payments are deleted, so there may be fewer claims than payments. */
function claimProblems(claims: readonly Claim[], ledger: ReadonlySet<string>): string[] {
  return claims.flatMap(({ transaction_id, state }) => {
    if (state === 'serving') return [`still being served: ${transaction_id}`]
    return state === 'served' && !ledger.has(transaction_id) ? [`served and not settled: ${transaction_id}`] : []
  })
}

/** Records which answers sellers have sent, because they delete claims of old payments. */
export function noteServed({ sellers, served }: Market): void {
  for (const { transaction_id, state } of sellers.flatMap(claimsOf)) {
    if (state === 'served') served.add(transaction_id)
    else served.delete(transaction_id)
  }
}

function entriesOf(market: Market, ledger: ReadonlySet<string>): Entry[] {
  const { shoppers, served } = market
  noteServed(market)
  return shoppers.flatMap((shopper) => {
    const byId = new Map(shopper.purchases.map((one) => [one.id, one]))
    return shopper.payments().map(({ transactionId, purchase }) => ({
      transactionId,
      purchase: byId.get(purchase),
      isSettled: ledger.has(transactionId),
      isServed: served.has(transactionId),
      hasSecret: shopper.hasSecret,
    }))
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
  const unpaid = [...delivered].filter((transactionId) => !purchaseOf.has(transactionId))
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
function ledgerProblems(rows: readonly Row[], ledger: ReadonlySet<string>, settled: readonly Entry[]): string[] {
  const recorded = new Set(rows.map(({ transaction_id }) => transaction_id))
  const known = new Set(settled.map(({ transactionId }) => transactionId))
  return [
    ...[...known].filter((id) => !recorded.has(id)).map((id) => `on the ledger, and not settled in the store: ${id}`),
    ...[...recorded].filter((id) => !ledger.has(id)).map((id) => `settled in the store, and not on the ledger: ${id}`),
    ...[...recorded].filter((id) => !known.has(id)).map((id) => `settled, and in no log of a buyer: ${id}`),
    ...(ledger.size === 2 * known.size ? [] : [`${ledger.size} transactions on the ledger for ${known.size} payments`]),
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
async function logProblems({ shoppers }: Market, ledger: ReadonlySet<string>): Promise<string[]> {
  const problems: string[] = []
  for (const { buyer, name } of shoppers.filter((one) => one instanceof LatchkeyShopper)) {
    let expired = 0
    for (const { transactionId, state } of buyer.payments.all()) {
      const isSettled = ledger.has(transactionId)
      const isLookedUp = state === 'open' && (isSettled || expired++ < maxExpiredLookups)
      const known = isLookedUp ? await buyer.lookUp(transactionId) : state
      if (known === 'open' ? isLookedUp : (known === 'settled') !== isSettled) {
        problems.push(`${name} holds ${transactionId} for ${known}, the ledger has ${isSettled ? 'it' : 'it not'}`)
      }
    }
    const counted = buyer.payments.all().filter(({ state }) => state !== 'expired')
    const total = counted.reduce((spent, { amount }) => spent + BigInt(amount), 0n)
    const { microDollars } = buyer.payments.spent()
    if (microDollars !== total) problems.push(`${name} counts ${microDollars}, its payments amount to ${total}`)
  }
  return problems
}

function describe(purchase: Purchase | undefined): string {
  if (purchase === undefined) return 'an unknown purchase'
  const { id, buyer, seller, good, attempts, state, history } = purchase
  return `${id}: ${good} at ${seller.name} for ${buyer}, ${state} after ${attempts} attempts; ${history.join(' | ')}`
}
