/** Reads the records of all parties at the end of a soak. */
import { type LedgerLine, readLedger } from '../faults/history.test.helper.js'
import { until } from '../process/commands.test.helper.js'
import { type Market, openGate, post } from './soakMarket.test.helper.js'
import type { Purchase } from './soakPurchases.test.helper.js'
import { allSales } from './soakStores.test.helper.js'
import { idsIn, linesOf } from './soakTimeline.test.helper.js'

/** A settlement of the facilitator. */
export type Row = {
  readonly transaction_id: string
  readonly state: string
  readonly payer: string
  readonly pay_to: string
  readonly amount: string
  readonly fee_micro_algos: string
}

/** The claim of a seller. */
export type Claim = { readonly transaction_id: string; readonly state: string }

/** A payment that a buyer signed, with its state in the ledger. */
export type Entry = {
  readonly transactionId: string
  readonly purchase: Purchase | undefined
  readonly isSettled: boolean
  /** Whether the seller recorded that it has sent the answer. */
  readonly isServed: boolean
  readonly hasSecret: boolean
}

export type Ledger = {
  readonly lines: readonly LedgerLine[]
  /** All transfers to sellers, by the id of the payment. */
  readonly payments: ReadonlyMap<string, LedgerLine>
}

/** After its last valid round, a payment that is not on the ledger never will be. */
const roundsToExpire = 600
/** Longer than a gate waits until it looks up a payment that it has not recorded. */
const laterMs = 600_000
const patienceMs = 60_000

/** Waits until every party has decided everything, and no signed payment can still be settled. */
export async function closeBooks(market: Market): Promise<void> {
  const isDecided = async (): Promise<boolean> => (await settlements(market)).every(({ state }) => state !== 'pending')
  await until('no settlement is pending', isDecided)
  await chargeStreams(market)
  await until('no settlement is pending', isDecided)
  await post(market.nodeUrl, '/devnet/mine', { rounds: roundsToExpire })
  await until('no settlement is pending', isDecided)
  await recover(market)
  await endRequests(market)
}

/** Waits for gates that repeat the settlement of a stream, which another gate has charged meanwhile. */
async function endRequests(market: Market): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
  for (const { database } of market.sellers) {
    const isServing = async (): Promise<boolean> =>
      (await database.rows<{ state: string }>('claims')).some(({ state }) => state === 'serving')
    while ((await isServing()) && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/**
 * Lets another gate of each seller charge the streams whose settlement is undecided, as after 90 seconds. They could not
 * be charged after the last valid round.
 */
async function chargeStreams(market: Market): Promise<void> {
  for (const seller of market.sellers) {
    const isDone = async (): Promise<boolean> => (await seller.database.rows('metered_work')).length === 0
    if (await isDone()) continue
    market.work.add('sellers with open streams in the end')
    await seller.database.abandonWork()
    const gate = await openGate(market, seller, await seller.database.open())
    const giveUpAt = performance.now() + patienceMs
    while (!(await isDone()) && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 100))
    await gate.close()
  }
}

/** Lets another gate of each seller take over what the first has not recorded, as after minutes. */
async function recover(market: Market): Promise<void> {
  for (const seller of market.sellers) {
    await seller.database.abandonWork()
    const claims = await seller.database.open()
    const sales = Object.assign(Object.create(claims.sales) as typeof claims.sales, {
      open: (...[which, beforeMs, ...rest]: Parameters<typeof claims.sales.open>) =>
        claims.sales.open(which, beforeMs + laterMs, ...rest),
    })
    const isDone = async (): Promise<boolean> => {
      const undecided = await sales.open('undecided', Date.now(), 1)
      return undecided.length === 0 && (await seller.database.rows('metered_work')).length === 0
    }
    if (await isDone()) continue
    market.work.add('sellers with open work in the end')
    const later = new Proxy(claims, {
      get: (target, name) => {
        if (name === 'sales') return sales
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const gate = await openGate(market, seller, later)
    const giveUpAt = performance.now() + patienceMs
    // What is left then is reported.
    while (!(await isDone()) && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 100))
    await gate.close()
  }
}

export function settlements({ stores }: Market): Promise<Row[]> {
  return stores.settlements.rows<Row>('settlements')
}

/** Reads every transaction on the ledger, block by block. */
export async function ledgerOf({ nodeUrl, sponsor }: Market): Promise<Ledger> {
  const lines = await readLedger(nodeUrl, 0)
  const transfers = lines.filter(({ sender }) => sender !== sponsor)
  return { lines, payments: new Map(transfers.map((line) => [line.paymentId, line])) }
}

export async function claimsOf({ sellers }: Market): Promise<Claim[]> {
  return (await Promise.all(sellers.map(({ database }) => database.rows<Claim>('claims')))).flat()
}

/** Records which answers sellers have sent, because they delete claims of old payments. */
export async function noteServed(market: Market): Promise<void> {
  const { served } = market
  for (const { transaction_id, state } of await claimsOf(market)) {
    if (state === 'served') served.add(transaction_id)
    else served.delete(transaction_id)
  }
}

export async function entriesOf(market: Market, { payments }: Ledger): Promise<Entry[]> {
  const { shoppers, served } = market
  await noteServed(market)
  return shoppers.flatMap((shopper) => {
    const byId = new Map(shopper.purchases.map((one) => [one.id, one]))
    return shopper.payments().map(({ transactionId, purchase }) => ({
      transactionId,
      purchase: byId.get(purchase),
      isSettled: payments.has(transactionId),
      isServed: served.has(transactionId),
      hasSecret: shopper.hasSecret,
    }))
  })
}

export async function salesOf({ sellers }: Market) {
  return Promise.all(sellers.map(async (seller) => ({ seller, sales: await allSales(seller.database.claims.sales) })))
}

/** Returns, for each payment that the problems name, its records and what happened while it was valid. */
export async function historiesOf(market: Market, problems: readonly string[]): Promise<string[]> {
  const ids = new Set(problems.flatMap(idsIn))
  const rows = await settlements(market)
  const sales = (await salesOf(market)).flatMap((one) => one.sales)
  return [...ids].flatMap((id) => [
    `${id}:`,
    `  settlement: ${JSON.stringify(rows.find(({ transaction_id }) => transaction_id === id))}`,
    `  sale: ${JSON.stringify(sales.find(({ transactionId }) => transactionId === id))}`,
    ...linesOf(id).map((line) => `  ${line}`),
  ])
}

export function describe(purchase: Purchase | undefined): string {
  if (purchase === undefined) return 'an unknown purchase'
  const { id, buyer, seller, good, attempts, state, history } = purchase
  return `${id}: ${good} at ${seller.name} for ${buyer}, ${state} after ${attempts} attempts; ${history.join(' | ')}`
}
