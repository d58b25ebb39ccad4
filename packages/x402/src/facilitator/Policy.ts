/** For which sellers and callers a facilitator works, and how much it spends on fees. */
import { BoundedMap, Bytes } from '@latchkey/algorand'
import type { PaymentRequirements } from '../wire/types.js'
import { PaymentError } from './PaymentError.js'

/** For whom a facilitator works, and how much it spends. Every option is off by default. */
export type PolicyOptions = {
  /**
   * Sellers to settle for, by the address that is paid.
   *
   * @default all
   */
  payTo?: readonly string[] | undefined
  /**
   * Assets to settle in, by id.
   *
   * @default all
   */
  assets?: readonly string[] | undefined
  /**
   * Keys of which callers must send one, as `Authorization: Bearer ...` or `X-API-Key`.
   *
   * @default no key is needed
   */
  apiKeys?: readonly string[] | undefined
  /**
   * Requests per minute for each `payTo`.
   *
   * @default no limit
   */
  requestsPerMinute?: number | undefined
  /**
   * Fees per day for each `payTo`, in microAlgos.
   *
   * @default no limit
   */
  feeMicroAlgosPerDay?: bigint | undefined
  /**
   * Fees per day for all sellers together, in microAlgos. Holds where any `payTo` is accepted.
   *
   * @default no limit
   */
  totalFeeMicroAlgosPerDay?: bigint | undefined
}

/** The client that sent a request. */
export type Caller = {
  /** The API key that it sent. */
  readonly apiKey?: string | undefined
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const maxTracked = 10_000

type Window = { since: number; requests: number; feeSince: number; feeMicroAlgos: bigint }

export class Policy {
  readonly #options: PolicyOptions
  readonly #keys: readonly Uint8Array[]
  /** By payTo; the one that was used least recently is evicted. */
  readonly #windows = new BoundedMap<string, Window>(maxTracked)
  readonly #nowMs: () => number
  #total = { sinceMs: 0, feeMicroAlgos: 0n }

  constructor(options: PolicyOptions = {}, nowMs: () => number = Date.now) {
    this.#options = options
    this.#keys = (options.apiKeys ?? []).map((key) => new Uint8Array(Bytes.fromUtf8(key)))
    this.#nowMs = nowMs
  }

  /** Compares in constant time. */
  isAuthorized({ apiKey }: Caller): boolean {
    if (this.#keys.length === 0) return true
    const given = Bytes.fromUtf8(apiKey ?? '')
    return this.#keys.map((key) => Bytes.equalConstantTime(key, given)).some(Boolean)
  }

  /** @throws PaymentError */
  check(caller: Caller, { payTo, asset }: PaymentRequirements, { feeMicroAlgos }: { feeMicroAlgos: bigint }): void {
    const { payTo: sellers, assets, requestsPerMinute } = this.#options
    if (!this.isAuthorized(caller)) refuse('an API key is required')
    if (sellers !== undefined && !sellers.includes(payTo)) refuse(`payments to ${payTo} are not settled here`)
    if (assets !== undefined && !assets.includes(asset)) refuse(`payments in asset ${asset} are not settled here`)
    const window = this.#windowOf(payTo)
    if (requestsPerMinute !== undefined && ++window.requests > requestsPerMinute) {
      refuse(`more than ${requestsPerMinute} requests per minute for ${payTo}`)
    }
    this.#checkBudget(payTo, feeMicroAlgos)
  }

  /**
   * Reserves fees before they are spent, so that concurrent settlements cannot exceed a limit together. Returns a function
   * that releases what was not spent.
   *
   * @throws PaymentError
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
    // Deleted first, so that it becomes the newest.
    this.#windows.delete(payTo)
    this.#windows.set(payTo, window)
    return window
  }
}

function refuse(message: string): never {
  throw new PaymentError('facilitator_policy_refused', message)
}
