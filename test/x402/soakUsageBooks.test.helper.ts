/** Compares what was used, charged, delivered and recorded for goods that are sold by usage, and the sales of all goods. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Signer } from '@latchkey/x402/client'
import { httpFacilitator } from '@latchkey/x402/server'
import { UptoPayment } from '@latchkey/x402-wire'
import type { LedgerLine } from '../faults/history.test.helper.js'
import { LatchkeyShopper } from './soakBuyers.test.helper.js'
import { dollar, type Market } from './soakMarket.test.helper.js'
import type { Delivery, Purchase } from './soakPurchases.test.helper.js'
import { describe, type Entry, type Ledger, type Row, salesOf } from './soakRecords.test.helper.js'
import { isUsageGood, maxUsage, type Use } from './soakShop.test.helper.js'

/** An authorization that a buyer signed, with everything that is known about it. */
type Authorization = {
  readonly id: string
  readonly purchase: Purchase
  readonly charged: LedgerLine | undefined
  /** The runs of handlers that did not fail. */
  readonly uses: readonly Use[]
  readonly deliveries: readonly Delivery[]
  readonly settlement: Row | undefined
}

export type UsageBooks = { readonly counts: { [name: string]: number }; readonly problems: string[] }

export async function compareUsage(
  market: Market,
  books: { ledger: Ledger; entries: readonly Entry[]; rows: readonly Row[] },
): Promise<UsageBooks> {
  const all = authorizationsOf(market, books)
  const charged = all.filter((one) => one.charged !== undefined)
  const used = all.filter(({ uses }) => uses.length > 0)
  const problems = [
    ...all.flatMap((one) => problemsOf(one).map((text) => `usage: ${one.id} ${text}; ${describe(one.purchase)}`)),
    ...(await salesProblems(market, books.ledger)),
    ...(await workProblems(market)),
    ...(await holdProblems(market)),
  ]
  const counts = {
    authorizations: all.length,
    used: used.length,
    charged: charged.length,
    chargedNothing: used.length - charged.length,
    chargedMaximum: charged.filter((one) => BigInt(one.charged!.amount) === maxUsage).length,
    streamsCut: used.filter(({ purchase }) => purchase.state === 'lost').length,
  }
  return { counts, problems }
}

function authorizationsOf(
  { sellers }: Market,
  { ledger, entries, rows }: { ledger: Ledger; entries: readonly Entry[]; rows: readonly Row[] },
): Authorization[] {
  const settlementOf = new Map(rows.map((row) => [row.transaction_id, row]))
  const uses = new Map(sellers.flatMap(({ shop }) => [...shop.uses]))
  return entries.flatMap(({ transactionId: id, purchase }) => {
    if (purchase === undefined || !isUsageGood(purchase.good)) return []
    return {
      id,
      purchase,
      charged: ledger.payments.get(id),
      uses: (uses.get(id) ?? []).filter(({ end }) => end !== 'failed'),
      deliveries: purchase.deliveries.filter(({ transactionId }) => transactionId === id),
      settlement: settlementOf.get(id),
    }
  })
}

function problemsOf(one: Authorization): string[] {
  return [...recordProblems(one), ...(one.purchase.good === 'tail' ? streamProblems(one) : bufferedProblems(one))]
}

/** The facilitator has recorded what the ledger has, and the receipts say the same. */
function recordProblems({ charged, settlement, uses, deliveries }: Authorization): string[] {
  const amount = charged?.amount ?? '0'
  const problems: string[] = []
  if (charged !== undefined && BigInt(amount) > maxUsage) problems.push(`was charged ${amount}, above its maximum`)
  if (charged !== undefined && amount === '0') problems.push('has a transfer of nothing')
  if (charged !== undefined && uses.length === 0) problems.push(`was charged ${amount}, and nothing was done for it`)
  const recorded = settlement?.state === 'settled' ? settlement.amount : undefined
  if (charged !== undefined && recorded !== amount)
    problems.push(`was charged ${amount}, the facilitator has ${recorded}`)
  if (charged === undefined && (recorded ?? '0') !== '0')
    problems.push(`was not charged, the facilitator has ${recorded}`)
  for (const { usage } of deliveries) {
    const receipt = usage?.receipt
    if (receipt === undefined) continue
    const [expected, found] = [
      `${amount} by ${charged?.transactionId ?? ''}`,
      `${receipt.amount} by ${receipt.transaction}`,
    ]
    if (expected !== found) problems.push(`was charged ${expected}, and its receipt says ${found}`)
  }
  return problems
}

/** A buffered answer is sent only after exactly its charge was settled. What was not sent is not charged. */
function bufferedProblems({ charged, uses, deliveries, purchase }: Authorization): string[] {
  const amount = charged?.amount ?? '0'
  const problems: string[] = []
  for (const { answer, usage } of deliveries) {
    const use = uses.find((one) => one.answer === answer)
    if (use === undefined) problems.push(`opened the answer ${answer}, which no handler made for it`)
    else if (String(use.charges.at(-1)) !== amount)
      problems.push(`was charged ${amount} for a use of ${use.charges.at(-1)}`)
    if (usage?.charge !== amount) problems.push(`was charged ${amount}, and its answer says ${usage?.charge}`)
  }
  if (charged !== undefined && deliveries.length === 0) problems.push(`was charged ${amount}, and not delivered`)
  if (purchase.good === 'job' && uses.length > 1) problems.push(`had its order done ${uses.length} times`)
  return problems
}

/** A metered stream is sent once, and charged what was used until its end or until its client left. */
function streamProblems({ id, charged, uses, deliveries, purchase }: Authorization): string[] {
  const amount = BigInt(charged?.amount ?? 0n)
  if (uses.length > 1) return [`was streamed ${uses.length} times`]
  const [use] = uses
  if (use === undefined) return []
  const received = purchase.received.get(id) ?? 0n
  const problems: string[] = []
  if (use.end === 'running') problems.push('has a stream that never ended')
  if (amount !== 0n && !use.charges.includes(amount))
    problems.push(`was charged ${amount}, which is none of ${use.charges}`)
  if (amount < received) problems.push(`was charged ${amount}, and its buyer received ${received}`)
  const isComplete = deliveries.length > 0
  if (isComplete && amount !== use.charges.at(-1))
    problems.push(`was charged ${amount} for a use of ${use.charges.at(-1)}`)
  return problems
}

/** Every transfer on the ledger is a settled sale of that amount at its seller, and every settled sale is on the ledger. */
async function salesProblems(market: Market, { payments }: Ledger): Promise<string[]> {
  const problems: string[] = []
  for (const { seller, sales } of await salesOf(market)) {
    const byId = new Map(sales.map((sale) => [sale.transactionId, sale]))
    const paid = [...payments.values()].filter(({ receiver }) => receiver === seller.payTo)
    for (const { paymentId, amount, sender, round } of paid) {
      const sale = byId.get(paymentId)
      const found = `${sale?.outcome} ${sale?.amount} of ${sale?.payer} in round ${sale?.round ?? round}`
      const expected = `settled ${amount} of ${sender} in round ${round}`
      if (found !== expected)
        problems.push(`sale at ${seller.name}: ${paymentId} is ${found}, the ledger has ${expected}`)
    }
    for (const { transactionId, outcome, amount, code } of sales) {
      const isUnpaid = !payments.has(transactionId)
      if (outcome === 'settled' && isUnpaid && amount !== '0') {
        problems.push(`sale at ${seller.name}: ${transactionId} is settled for ${amount}, and not on the ledger`)
      }
      if (outcome === 'verified' || outcome === 'pending') {
        problems.push(`sale at ${seller.name}: ${transactionId} is ${outcome} ${code} in the end`)
      }
      if (outcome === 'unknown' && isUnpaid)
        problems.push(`sale at ${seller.name}: ${transactionId} is unknown: ${code}`)
    }
    const revenue = (await seller.database.claims.sales.revenue({})).reduce((sum, one) => sum + BigInt(one.amount), 0n)
    const income = paid.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
    if (revenue !== income) problems.push(`revenue of ${seller.name}: ${revenue}, the ledger has ${income}`)
  }
  return problems
}

/** No work is left to be charged, and no buyer is refused for work that it did not pay: all of them can pay. */
async function workProblems({ sellers }: Market): Promise<string[]> {
  const problems = await Promise.all(
    sellers.map(async ({ name, database }) => {
      const work = await database.rows<{ transaction_id: string; charge: unknown }>('metered_work')
      const unpaid = await database.rows<{ payer: string }>('unpaid_payers')
      return [
        ...work.map((one) => `work left at ${name}: ${one.transaction_id} for ${one.charge}`),
        ...unpaid.map(({ payer }) => `${name} refuses ${payer} for unpaid work`),
      ]
    }),
  )
  return problems.flat()
}

const holdRounds = 100n

/** How long an authorization of the soak can reserve money: as long as it is valid, and some time until that is seen. */
const holdMs = 300_000

/** In the end nothing is reserved: the facilitator verifies an authorization of each buyer for its whole balance. */
async function holdProblems(market: Market): Promise<string[]> {
  const endMs = performance.now() + holdMs
  const problems: string[] = []
  for (const shopper of market.shoppers.filter((one) => one instanceof LatchkeyShopper)) {
    let problem = await holdProblem(market, shopper)
    while (problem !== undefined && performance.now() < endMs) {
      await sleep(5_000)
      problem = await holdProblem(market, shopper)
    }
    if (problem !== undefined) problems.push(`hold left for ${shopper.name}: ${problem}`)
  }
  return problems
}

async function holdProblem(market: Market, shopper: LatchkeyShopper): Promise<string | undefined> {
  const { chain, facilitatorUrl, sponsor, sellers } = market
  const { lastRound, genesisHash } = await chain.algod.parameters()
  const maxAmount = (await chain.algod.holding(shopper.address, dollar))!.amount
  const payTo = sellers[0]!.payTo
  const common = { payer: shopper.address, payTo, assetId: dollar, maxAmount, facilitator: sponsor }
  const terms = { ...common, genesisHash, lastRound, isPublicNetwork: true, maxTimeoutSeconds: Number(holdRounds) }
  const payload = await Signer.signAuthorization(shopper.signer, UptoPayment.buildAuthorization(terms))
  const accepted = {
    scheme: 'upto',
    network: chain.caip2,
    amount: String(maxAmount),
    asset: String(dollar),
    payTo,
    maxTimeoutSeconds: Number(holdRounds),
    extra: { feePayer: sponsor },
  }
  const order = [{ x402Version: 2, accepted, payload }, accepted] as Parameters<
    ReturnType<typeof httpFacilitator>['verify']
  >
  const { isValid, invalidReason, invalidMessage } = await httpFacilitator({ url: facilitatorUrl }).verify(...order)
  return isValid ? undefined : `${invalidReason} ${invalidMessage}`
}
