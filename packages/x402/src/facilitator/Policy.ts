/** For which sellers and callers a facilitator works, and how much it spends on fees. */
import { Bytes, Hash } from '@latchkey/algorand'
import { OptionsError } from '../errors.js'
import type { SettlementLimits } from '../store/SettlementLimits.js'
import type { PaymentRequirements } from '../wire/types.js'
import { PaymentError } from './PaymentError.js'
import { RateCounter } from './RateCounter.js'

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
   * The smallest payment whose fee is paid for the buyer, in base units of its asset: without a limit a stranger can spend a
   * seller's fees on payments of one unit.
   *
   * @default 1n
   */
  minSponsoredAmount?: bigint | undefined
  /**
   * Keys of which callers must send one, as `Authorization: Bearer ...` or `X-API-Key`.
   *
   * @default no key is needed
   */
  apiKeys?: readonly string[] | undefined
  /**
   * Payments per minute for each `payTo`. Counted when a payment that was verified is submitted: what does not verify uses up
   * nothing of a seller's share.
   *
   * @default no limit
   */
  requestsPerMinute?: number | undefined
  /**
   * Payments per minute for each payer, counted like those of a `payTo`.
   *
   * @default half of `requestsPerMinute`, so that one payer cannot use up a seller's share
   */
  payerRequestsPerMinute?: number | undefined
  /**
   * Requests per minute for each caller, whatever is in them: by API key, otherwise by network address. Callers without
   * either are not limited.
   *
   * @default no limit
   */
  callerRequestsPerMinute?: number | undefined
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
  /** Its network address; of IPv6 the first half counts, because a client has all of the second. */
  readonly address?: string | undefined
  /**
   * The gate and resource that the payment is for. The first claimant of a payment keeps it; others get
   * `payment_already_claimed`.
   *
   * @default none, which is a claimant too
   */
  readonly claimant?: string | undefined
  /** The id of the gate's request, for logs and traces. */
  readonly requestId?: string | undefined
  /** A header of the request, by which its trace is found. */
  readonly header?: ((name: string) => string | null) | undefined
  /** Called with the transaction id as soon as it is known, for the log. */
  readonly onPayment?: ((transactionId: string) => void) | undefined
}

/** What a policy needs to know about a payment. */
export type PolicyPayment = { readonly feeMicroAlgos: bigint; readonly amount: bigint }

const minuteMs = 60_000
const maxTracked = 10_000
const maxKeyLength = 1_000

/** Keys that a header can carry; an empty list would let every caller in, and an empty key one without any. */
function checkKeys(keys: readonly string[] | undefined): readonly string[] {
  if (keys === undefined) return []
  const isKey = (key: unknown): boolean =>
    typeof key === 'string' && /^[!-~](?:[ -~]*[!-~])?$/.test(key) && key.length <= maxKeyLength
  if (Array.isArray(keys) && keys.length > 0 && keys.every(isKey)) return keys
  const hint = 'List keys of visible ASCII characters, or leave `apiKeys` out to serve every caller.'
  throw new OptionsError('apiKeys is empty, or has something else than a key', hint)
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

  /** What the store counts, over all replicas. */
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

  /** Whether a caller has more requests in this minute, and counts this one. Costs nothing, so it comes before all else. */
  admitCaller(caller: Caller): boolean {
    const limit = this.#options.callerRequestsPerMinute
    const name = limit === undefined ? undefined : this.#callerName(caller)
    return name === undefined || this.#callers.add(name) <= limit!
  }

  /**
   * The name by which the requests of a caller are counted over all replicas; undefined if they are not limited. A hash: an
   * API key is a secret, and a network address is personal.
   */
  sharedName(caller: Caller): string | undefined {
    const name = this.#options.callerRequestsPerMinute === undefined ? undefined : this.#callerName(caller)
    return name === undefined ? undefined : Bytes.toBase64(Hash.sha256(Bytes.fromUtf8(name)))
  }

  /** Whether a caller has more requests, of which all replicas together counted so many in this minute. */
  admitCount(caller: Caller, count: number): boolean {
    const name = this.#callerName(caller)
    if (name !== undefined) this.#callers.raise(name, count)
    return count <= this.#options.callerRequestsPerMinute!
  }

  /** Whether a caller has more requests in this minute. Counts nothing. */
  hasRequests(caller: Caller): boolean {
    const limit = this.#options.callerRequestsPerMinute
    const name = limit === undefined ? undefined : this.#callerName(caller)
    return name === undefined || this.#callers.get(name) < limit!
  }

  /**
   * Whether it works for a caller, a seller and such a payment at all. Rates and budgets are checked by the store.
   *
   * @throws PaymentError
   */
  check(caller: Caller, { payTo, asset }: PaymentRequirements, { feeMicroAlgos, amount }: PolicyPayment): void {
    const { payTo: sellers, assets, minSponsoredAmount = 1n } = this.#options
    if (!this.isAuthorized(caller)) refuse('an API key is required')
    if (sellers !== undefined && !sellers.includes(payTo)) refuse(`payments to ${payTo} are not settled here`)
    if (assets !== undefined && !assets.includes(asset)) refuse(`payments in asset ${asset} are not settled here`)
    if (feeMicroAlgos > 0n && amount < minSponsoredAmount) {
      refuse(`fees are paid for payments of ${minSponsoredAmount} base units or more; buyers can pay their own`)
    }
  }

  /** Undefined if nothing tells it from others. */
  #callerName({ apiKey, address }: Caller): string | undefined {
    if (this.#keys.length > 0) return `key ${apiKey}`
    return address === undefined ? undefined : `address ${networkOf(address)}`
  }
}

/** Of IPv6 the network of 64 bits: a client can use every address of its own. */
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
