/** Sells the goods of a soak, and records what was done for each payment. */
import { randomUUID } from 'node:crypto'
import type { Payment, Route } from '@latchkey/x402/server'
import type { Counter, Random } from './soakRandom.test.helper.js'
import { note } from './soakTimeline.test.helper.js'

/**
 * Goods with a fixed price: a report, which is settled after it was made; a dossier, which is settled first because of
 * its price; an order, which is settled first because of its effect; and a stream, which is settled first and sent while
 * it is made.
 */
export const fixedGoods = ['report', 'dossier', 'order', 'stream'] as const
/** Goods sold by usage: an answer, an order, and a stream that is charged after it was sent. */
export const usageGoods = ['query', 'job', 'tail'] as const
export const goods = [...fixedGoods, ...usageGoods] as const
export type Good = (typeof goods)[number]

export const methods = {
  report: 'GET',
  dossier: 'GET',
  order: 'POST',
  stream: 'GET',
  query: 'GET',
  job: 'POST',
  tail: 'GET',
} as const satisfies { [good in Good]: string }

const prices = { report: '$0.001', dossier: '$0.002', order: '$0.003', stream: '$0.004' } as const
export const maxUsage = 5_000n
const upTo = '$0.005'

export const isUsageGood = (good: Good): boolean => (usageGoods as readonly Good[]).includes(good)

export function routesFor(network: string, payTo: string): { [key: string]: Route } {
  const accepts = (price: string) => ({ network, payTo, price, maxTimeoutSeconds })
  const metered = (isStream: boolean) => ({
    network,
    payTo,
    price: { upTo, stream: isStream },
    maxTimeoutSeconds: maxUsageSeconds,
  })
  return {
    'GET /report': { accepts: accepts(prices.report) },
    'GET /dossier': { accepts: accepts(prices.dossier), settleFirstAbove: prices.report },
    'GET /stream': { accepts: { ...accepts(prices.stream), paymentFlow: 'upfront' } },
    'POST /order': { accepts: accepts(prices.order) },
    'GET /query': { accepts: metered(false) },
    'POST /job': { accepts: metered(false) },
    'GET /tail': { accepts: metered(true) },
  }
}

/** Payments expire within a minute or two, because the devnet makes blocks faster than the public network. */
const maxTimeoutSeconds = 300

/**
 * Longer, because a stream whose facilitator is down for half a minute is charged again after 90 seconds, and its
 * authorization must be valid then. It is valid for 448 blocks, which take 224 seconds.
 */
const maxUsageSeconds = 1_000

/** The content of every answer: its purchase, and the handler run that made it. */
export type Answer = {
  readonly purchase: string
  readonly answer: string
  readonly good: Good
  readonly filler: string
  /** Only for goods sold by usage: the charge in base units, and the authorization. */
  readonly usage?: { readonly charge: string; readonly authorization: string } | undefined
}

/** What a handler did for an authorization. */
export type Use = {
  readonly authorization: string
  readonly purchase: string
  readonly answer: string
  readonly good: Good
  /** The totals that were charged, one after the other. */
  readonly charges: bigint[]
  /** `left`: the client of a stream left. `failed`: nothing may be charged. */
  end: 'running' | 'ended' | 'left' | 'failed'
}

/** How a handler sets the charge of a buffered answer. */
type Charging = 'charge' | 'header' | 'both' | 'none'

/** An answer of a handler, and the header that sets its charge. */
export type Served = { readonly answer: Answer; readonly overrides?: string | undefined }

const failureRate = 0.02
const breakRate = 0.03
const wrongChargeRate = 0.02
const maxFiller = 20_000
const maxParts = 12

/** The handlers of a seller, and what they did. */
export class Shop {
  readonly name: string
  readonly #random: Random
  readonly #counts: Counter
  /** How often each order was placed, by purchase. */
  readonly orders = new Map<string, number>()
  /** What was done by usage, by authorization. */
  readonly uses = new Map<string, Use[]>()

  constructor(name: string, random: Random, counts: Counter) {
    this.name = name
    this.#random = random
    this.#counts = counts
  }

  /** Returns undefined if the handler fails before it had an effect. */
  async serve(good: Good, purchase: string, payment: Payment | undefined): Promise<Served | undefined> {
    await this.#random.pause(0, this.#random.chance(0.1) ? 800 : 60)
    if (this.#random.chance(failureRate)) {
      this.#counts.add('handler failures')
      return undefined
    }
    this.#counts.add('handler runs')
    if (good === 'order') this.orders.set(purchase, (this.orders.get(purchase) ?? 0) + 1)
    const filler = 'x'.repeat(this.#random.chance(0.3) ? this.#random.between(0, maxFiller) : 10)
    const answer: Answer = { purchase, answer: randomUUID(), good, filler }
    return isUsageGood(good) ? this.#charge(answer, payment!) : { answer }
  }

  /** Charges a random amount, in each of the ways in which a handler can. */
  #charge(answer: Answer, payment: Payment): Served {
    const use = this.#begin(answer, payment)
    use.end = 'ended'
    if (this.#random.chance(wrongChargeRate)) {
      this.#counts.add('charges above the maximum')
      use.end = 'failed'
      return { answer, overrides: JSON.stringify({ amount: String(maxUsage + 1n) }) }
    }
    const charging = this.#random.pick<Charging>(['charge', 'charge', 'header', 'header', 'both', 'none'])
    const charge = charging === 'none' ? 0n : this.#amount()
    this.#counts.add(`charged by ${charging}`)
    if (charging === 'charge') payment.charge!({ asset: payment.asset, amount: String(charge) })
    // The header counts.
    if (charging === 'both') payment.charge!({ asset: payment.asset, amount: String(this.#amount()) })
    use.charges.push(charge)
    const metered = { ...answer, usage: { charge: String(charge), authorization: payment.transactionId } }
    const isInHeader = charging === 'header' || charging === 'both'
    return { answer: metered, ...(isInHeader ? { overrides: JSON.stringify({ amount: String(charge) }) } : {}) }
  }

  #amount(): bigint {
    const kind = this.#random.next()
    if (kind < 0.15) return 0n
    if (kind < 0.3) return maxUsage
    return BigInt(this.#random.between(1, Number(maxUsage)))
  }

  #begin({ purchase, answer, good }: Answer, { transactionId }: Payment): Use {
    note(`${transactionId}: ${good} begins at ${this.name}`)
    const use: Use = { authorization: transactionId, purchase, answer, good, charges: [], end: 'running' }
    this.uses.set(transactionId, [...(this.uses.get(transactionId) ?? []), use])
    return use
  }

  /**
   * Makes the lines of a metered stream. Each has the charge up to it, which is set before the line is made; the last
   * line is the answer. Throws if the handler breaks the stream off.
   */
  async *stream(purchase: string, payment: Payment): AsyncGenerator<string> {
    const answer: Answer = { purchase, answer: randomUUID(), good: 'tail', filler: '' }
    const use = this.#begin(answer, payment)
    this.#counts.add('streams')
    const total = this.#random.chance(0.1) ? 0n : BigInt(this.#random.between(1, Number(maxUsage)))
    const parts = this.#random.between(1, maxParts)
    const breaksAt = this.#random.chance(breakRate) ? this.#random.between(1, parts) : undefined
    const filler = 'x'.repeat(this.#random.between(0, 3_000))
    try {
      for (let part = 1; part <= parts; part++) {
        const charge = (total * BigInt(part)) / BigInt(parts)
        use.charges.push(charge)
        payment.charge!({ asset: payment.asset, amount: String(charge) })
        const usage = { charge: String(charge), authorization: payment.transactionId }
        yield `${JSON.stringify(part < parts ? { usage, filler } : { ...answer, usage })}\n`
        if (part === breaksAt) {
          use.end = 'failed'
          this.#counts.add('streams broken off')
          throw new Error('the handler breaks off')
        }
        await this.#random.pause(0, 60)
      }
      use.end = 'ended'
    } finally {
      if (use.end === 'running') {
        use.end = 'left'
        this.#counts.add('streams left')
      }
      note(`${payment.transactionId}: the stream has ${use.end}, charges ${use.charges}`)
    }
  }
}
