/** Whom a facilitator works for, and how much it spends on them. Everything is off until it is set. */
import { timingSafeEqual } from 'node:crypto'
import type { PaymentRequirements } from '../wire/types.js'
import { codes, PaymentError } from './PaymentError.js'
import type { VerifiedPayment } from './verifyPayment.js'

export type PolicyOptions = {
  /** Sellers it settles for, by the address that is paid; all of them if it is not set. */
  payTo?: readonly string[] | undefined
  /** Assets it settles in, by number; all of them if it is not set. */
  assets?: readonly string[] | undefined
  /** Keys that callers must give, as `Authorization: Bearer ...` or `X-API-Key`. */
  apiKeys?: readonly string[] | undefined
  /** Requests a minute for each payTo. */
  requestsPerMinute?: number | undefined
  /** Fees paid a day for each payTo, in microAlgos. */
  feeMicroAlgosPerDay?: bigint | undefined
  /** Fees paid a day for everybody together, in microAlgos: what holds where anybody may name a payTo. */
  totalFeeMicroAlgosPerDay?: bigint | undefined
}

/** Who asks. */
export type Caller = { readonly apiKey?: string | undefined }

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const maxTracked = 10_000

type Window = { since: number; requests: number; feeSince: number; feeMicroAlgos: bigint }

export class Policy {
  readonly #options: PolicyOptions
  readonly #keys: readonly Buffer[]
  readonly #windows = new Map<string, Window>()
  readonly #nowMs: () => number
  #total = { sinceMs: 0, feeMicroAlgos: 0n }

  constructor(options: PolicyOptions = {}, nowMs: () => number = Date.now) {
    this.#options = options
    this.#keys = (options.apiKeys ?? []).map((key) => Buffer.from(key))
    this.#nowMs = nowMs
  }

  /** Comparing takes the same time wherever a guess differs. */
  isKnown({ apiKey }: Caller): boolean {
    if (this.#keys.length === 0) return true
    const given = Buffer.from(apiKey ?? '')
    return this.#keys.map((key) => key.length === given.length && timingSafeEqual(key, given)).some(Boolean)
  }

  /** Throws a Refusal. */
  check(caller: Caller, { payTo, asset }: PaymentRequirements, checked: VerifiedPayment): void {
    const { payTo: sellers, assets, requestsPerMinute } = this.#options
    if (!this.isKnown(caller)) refuse('an API key is needed here')
    if (sellers !== undefined && !sellers.includes(payTo)) refuse(`payments to ${payTo} are not settled here`)
    if (assets !== undefined && !assets.includes(asset)) refuse(`payments in asset ${asset} are not settled here`)
    const window = this.#windowOf(payTo)
    if (requestsPerMinute !== undefined && ++window.requests > requestsPerMinute) {
      refuse(`more than ${requestsPerMinute} requests a minute for ${payTo}`)
    }
    this.#checkBudget(payTo, checked.feeMicroAlgos)
  }

  /**
   * What is about to be spent on fees counts from before it is, so that many at once cannot pass the limit together.
   * Gives back a function for what was not spent after all. Throws a Refusal.
   */
  spend({ payTo }: PaymentRequirements, feeMicroAlgos: bigint): () => void {
    const window = this.#checkBudget(payTo, feeMicroAlgos)
    const total = this.#total
    window.feeMicroAlgos += feeMicroAlgos
    total.feeMicroAlgos += feeMicroAlgos
    return () => {
      window.feeMicroAlgos -= feeMicroAlgos
      total.feeMicroAlgos -= feeMicroAlgos
    }
  }

  #checkBudget(payTo: string, feeMicroAlgos: bigint): Window {
    const { feeMicroAlgosPerDay: each, totalFeeMicroAlgosPerDay: all } = this.#options
    const window = this.#windowOf(payTo)
    const now = this.#nowMs()
    if (now - this.#total.sinceMs >= dayMs) this.#total = { sinceMs: now, feeMicroAlgos: 0n }
    if (feeMicroAlgos === 0n) return window
    if (each !== undefined && window.feeMicroAlgos + feeMicroAlgos > each) {
      refuse(`the fees paid today for ${payTo} have reached their limit; buyers can pay their own`)
    }
    if (all !== undefined && this.#total.feeMicroAlgos + feeMicroAlgos > all) {
      refuse('the fees paid today have reached their limit; buyers can pay their own')
    }
    return window
  }

  #windowOf(payTo: string): Window {
    const now = this.#nowMs()
    const window = this.#windows.get(payTo) ?? { since: now, requests: 0, feeSince: now, feeMicroAlgos: 0n }
    if (now - window.since >= minuteMs) Object.assign(window, { since: now, requests: 0 })
    if (now - window.feeSince >= dayMs) Object.assign(window, { feeSince: now, feeMicroAlgos: 0n })
    this.#windows.delete(payTo)
    this.#windows.set(payTo, window)
    // The one that was asked for longest ago goes.
    if (this.#windows.size > maxTracked) this.#windows.delete(this.#windows.keys().next().value!)
    return window
  }
}

function refuse(message: string): never {
  throw new PaymentError(codes.policy, message)
}
