/** Which sellers and callers a facilitator serves, and how much it spends on fees. */
import { Bytes, Hash } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import { OptionsError } from '../../errors.js'
import { PaymentError } from '../PaymentError.js'
import type { SettlementLimits } from '../store/Settlement.js'

/** Which sellers and callers a facilitator serves, and how much it spends. Every option is off by default. */
export type PolicyOptions = {
  /**
   * The `payTo` addresses of sellers to settle for.
   *
   * @default all
   */
  payTo?: readonly string[] | undefined
  /**
   * The ids of assets to settle in.
   *
   * @default all
   */
  assets?: readonly string[] | undefined
  /**
   * The smallest payment whose fee is paid for the buyer, in base units of its asset. Without a limit, a stranger can
   * spend a seller's fees on payments of one unit. For the scheme `upto`, the maximum is compared when it is verified,
   * and the charge may then be smaller. Without a verification by the same claimant, the charge is compared.
   *
   * @default 1n
   */
  minSponsoredAmount?: bigint | undefined
  /**
   * API keys. Callers must send one of them, as `Authorization: Bearer ...` or `X-API-Key`.
   *
   * @default no key is needed
   */
  apiKeys?: readonly string[] | undefined
  /**
   * Payments per minute for each `payTo`. Counted when a verified payment is submitted, so that invalid payments do not
   * use up a seller's share. Counted when it is verified for the scheme `upto`, because its seller works before it is
   * paid: no limit refuses the settlement.
   *
   * @default no limit
   */
  requestsPerMinute?: number | undefined
  /**
   * Payments per minute for each payer, counted in the same way.
   *
   * @default half of `requestsPerMinute`, so that one payer cannot use up a seller's share
   */
  payerRequestsPerMinute?: number | undefined
  /**
   * Requests per minute for each caller, with any content. Callers are counted by API key, otherwise by network
   * address. Callers without either are not limited.
   *
   * @default no limit
   */
  callerRequestsPerMinute?: number | undefined
  /**
   * Fees per day for each `payTo`, in microAlgos. The fee of a verified payment is reserved until the payment is settled
   * or no longer held, so that its settlement is not refused.
   *
   * @default no limit
   */
  feeMicroAlgosPerDay?: bigint | undefined
  /**
   * Fees per day for all sellers together, in microAlgos. Also applies if any `payTo` is accepted.
   *
   * @default no limit
   */
  totalFeeMicroAlgosPerDay?: bigint | undefined
}

/** The client that sent a request. */
export type Caller = {
  /** The API key in the request. */
  readonly apiKey?: string | undefined
  /**
   * The network address of the caller. Only the first half of an IPv6 address counts, because a client has the whole
   * second half.
   */
  readonly address?: string | undefined
  /**
   * The gate and resource that the payment is for. The first claimant of a payment keeps it. Others get
   * `payment_already_claimed`.
   *
   * @default none, which is a claimant too
   */
  readonly claimant?: string | undefined
  /** The id of the gate's request, for logs and traces. */
  readonly requestId?: string | undefined
  /** Reads a header of the request, to find its trace. */
  readonly header?: ((name: string) => string | null) | undefined
  /** Called with the transaction id when it becomes known, for the log. */
  readonly onPayment?: ((transactionId: string) => void) | undefined
}

/** The properties of a payment that a policy depends on. */
export type PolicyPayment = { readonly feeMicroAlgos: bigint; readonly amount: bigint }

const minuteMs = 60_000
const maxTracked = 10_000
const maxKeyLength = 1_000

/**
 * Checks that a header can carry the keys. An empty list would admit every caller, and an empty key a caller without a
 * key.
 */
function checkKeys(keys: readonly string[] | undefined): readonly string[] {
  if (keys === undefined) return []
  const isKey = (key: unknown): boolean =>
    typeof key === 'string' && /^[!-~](?:[ -~]*[!-~])?$/.test(key) && key.length <= maxKeyLength
  if (Array.isArray(keys) && keys.length > 0 && keys.every(isKey)) return keys
  const hint = 'List keys of visible ASCII characters, or leave `apiKeys` out to serve every caller.'
  throw new OptionsError('apiKeys is empty, or contains a value that is not a key', hint)
}

export class Policy {
  readonly #options: PolicyOptions
  readonly #keys: readonly Uint8Array[]
  readonly #callers: RateCounter

  constructor(options: PolicyOptions = {}, nowMs: () => number = Date.now) {
    this.#options = options
    this.#keys = checkKeys(options.apiKeys ?? undefined).map((key) => new Uint8Array(Bytes.fromUtf8(key)))
    this.#callers = new RateCounter({ maxKeys: maxTracked, periodMs: minuteMs, nowMs })
  }

  /** The limits that the store counts, over all replicas. */
  get limits(): SettlementLimits {
    const { requestsPerMinute, payerRequestsPerMinute, feeMicroAlgosPerDay, totalFeeMicroAlgosPerDay } = this.#options
    const half = requestsPerMinute === undefined ? undefined : Math.ceil(requestsPerMinute / 2)
    return {
      payToPerMinute: requestsPerMinute,
      payerPerMinute: payerRequestsPerMinute ?? half,
      feesPerPayTo: feeMicroAlgosPerDay,
      feesInAll: totalFeeMicroAlgosPerDay,
    }
  }

  /** Whether callers need an API key. */
  get requiresKey(): boolean {
    return this.#keys.length > 0
  }

  /** Compares in constant time. */
  isAuthorized({ apiKey }: Caller): boolean {
    if (!this.requiresKey) return true
    const given = Bytes.fromUtf8(apiKey ?? '')
    return this.#keys.map((key) => Bytes.equalConstantTime(key, given)).some(Boolean)
  }

  /**
   * Counts a request, and returns whether the caller is within its limit for this minute. Cheap, so it runs before all
   * other checks.
   */
  admitCaller(caller: Caller): boolean {
    const limit = this.#options.callerRequestsPerMinute
    const name = limit === undefined ? undefined : this.#callerName(caller)
    return name === undefined || this.#callers.add(name) <= limit!
  }

  /**
   * The name under which a caller's requests are counted over all replicas; undefined if they are not limited. The name
   * is a hash, because an API key is a secret and a network address is personal.
   */
  sharedName(caller: Caller): string | undefined {
    const name = this.#options.callerRequestsPerMinute === undefined ? undefined : this.#callerName(caller)
    return name === undefined ? undefined : Bytes.toBase64(Hash.sha256(Bytes.fromUtf8(name)))
  }

  /** Whether the caller is within its limit, given the count of all replicas for this minute. */
  admitCount(caller: Caller, count: number): boolean {
    const name = this.#callerName(caller)
    if (name !== undefined) this.#callers.raise(name, count)
    return count <= this.#options.callerRequestsPerMinute!
  }

  /** Whether the caller has requests left in this minute. Counts nothing. */
  hasRequests(caller: Caller): boolean {
    const limit = this.#options.callerRequestsPerMinute
    const name = limit === undefined ? undefined : this.#callerName(caller)
    return name === undefined || this.#callers.get(name) < limit!
  }

  /**
   * Checks that the caller, the seller and the payment are accepted. The store checks rates and budgets.
   *
   * @throws PaymentError
   */
  check(caller: Caller, { payTo, asset }: PaymentRequirements, { feeMicroAlgos, amount }: PolicyPayment): void {
    const { payTo: sellers, assets, minSponsoredAmount = 1n } = this.#options
    if (!this.isAuthorized(caller)) refuse('an API key is required')
    if (sellers !== undefined && !sellers.includes(payTo)) refuse(`payments to ${payTo} are not settled here`)
    if (assets !== undefined && !assets.includes(asset)) refuse(`payments in asset ${asset} are not settled here`)
    if (feeMicroAlgos > 0n && amount < minSponsoredAmount) {
      refuse(
        `this facilitator pays fees only for payments of ${minSponsoredAmount} base units or more; buyers can pay their own`,
      )
    }
  }

  /** Undefined if nothing distinguishes the caller from others. */
  #callerName({ apiKey, address }: Caller): string | undefined {
    if (this.#keys.length > 0) return `key ${apiKey}`
    return address === undefined ? undefined : `address ${networkOf(address)}`
  }
}

/** Reduces an IPv6 address to its 64-bit network, because a client can use every address in it. */
function networkOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [before = '', after] = address.split('::', 2)
  const head = before === '' ? [] : before.split(':')
  const tail = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? [] : Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':').toLowerCase()
}

function refuse(message: string): never {
  throw new PaymentError('facilitator_policy_refused', message)
}

/**
 * Counts how often each key occurred in the current period. The map is bounded, and eviction never lowers a count. When
 * the map is full, the keys with the lowest count are removed, and every new key then starts with that count. With this
 * method of Misra and Gries, a count may be too high, by at most the number of all occurrences divided by the limit,
 * but never too low.
 */
export class RateCounter {
  readonly #counts = new Map<string, number>()
  readonly #maxKeys: number
  readonly #periodMs: number
  readonly #nowMs: () => number
  #sinceMs: number
  /** The highest count that a key outside the map may have had. */
  #floor = 0

  constructor({ maxKeys, periodMs, nowMs }: { maxKeys: number; periodMs: number; nowMs: () => number }) {
    this.#maxKeys = maxKeys
    this.#periodMs = periodMs
    this.#nowMs = nowMs
    this.#sinceMs = nowMs()
  }

  /** How often the key occurred so far. */
  get(key: string): number {
    this.#renew()
    return this.#counts.get(key) ?? this.#floor
  }

  /** Counts the key, and returns its count including this time. */
  add(key: string): number {
    const count = this.get(key) + 1
    if (this.#counts.size >= this.#maxKeys && !this.#counts.has(key)) this.#evictLowest()
    this.#counts.set(key, count)
    return count
  }

  /** Raises the count of a key to that of another counter. */
  raise(key: string, count: number): void {
    if (this.#counts.has(key) && this.get(key) < count) this.#counts.set(key, count)
  }

  #renew(): void {
    const now = this.#nowMs()
    // A clock that was set back also starts a new period.
    if (now >= this.#sinceMs && now - this.#sinceMs < this.#periodMs) return
    this.#sinceMs = now
    this.#floor = 0
    this.#counts.clear()
  }

  #evictLowest(): void {
    let lowest = Number.POSITIVE_INFINITY
    for (const count of this.#counts.values()) lowest = Math.min(lowest, count)
    this.#floor = Math.max(this.#floor, lowest)
    for (const [key, count] of this.#counts) if (count <= lowest) this.#counts.delete(key)
  }
}
