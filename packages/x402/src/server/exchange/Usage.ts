/**
 * The amount that a handler charges of an authorized maximum, for the scheme `upto`: by `payment.charge`, or by the
 * response header `Settlement-Overrides` of the published packages.
 */
import { Amount, Json } from '@latchkey/algorand'
import { type Price, Prices, parseJson } from '@latchkey/x402-wire'
import { PartyError } from '../../errors.js'
import type { HeldAnswer } from '../store/Claims.js'

/** The response header with which a handler sets the amount. It is removed before the response is sent. */
export const overridesHeader = 'Settlement-Overrides'
const maxHeaderLength = 1_000
/** The response to a request whose handler set a charge that cannot be made. */
export const invalidCharge = { error: 'the handler set an invalid charge; nothing was charged' }

export type UsageOptions = {
  /** The id of the asset. */
  readonly asset: string
  /** The decimals of the asset; undefined if no node has reported them. */
  readonly decimals: number | undefined
  /** The authorized maximum in base units. */
  readonly maxAmount: bigint
  /** The charge if the handler sets none. */
  readonly whenUnset: 'nothing' | 'maximum'
  /** Whether the response is sent while the handler produces it. */
  readonly isStreamed: boolean
}

export class Usage {
  readonly maxAmount: bigint
  readonly isStreamed: boolean
  /** Called when the charge has changed. */
  onChange: () => void = () => {}
  readonly #options: UsageOptions
  #charge: bigint | undefined
  #override: string | undefined
  #isBegun = false
  #isExceeded = false

  constructor(options: UsageOptions) {
    this.maxAmount = options.maxAmount
    this.isStreamed = options.isStreamed
    this.#options = options
  }

  /**
   * Sets the total charge. A later call replaces it. Fractions of a base unit are not charged.
   *
   * @throws UsageError for a price that cannot be parsed, or above the maximum; the earlier charge stays
   */
  charge(price: Price): void {
    const units = this.#unitsOf(price)
    this.#isExceeded ||= this.#isBegun && units > this.maxAmount
    this.#charge = this.#checked(units)
    this.onChange()
  }

  /**
   * Whether a handler that fails is charged for what was sent: it used more than the maximum, which a buyer can bring
   * about by asking for much.
   */
  get isExceeded(): boolean {
    return this.#isExceeded && this.soFar() > 0n
  }

  /**
   * Notes the headers of a response that begins to be streamed.
   *
   * @throws UsageError for a charge that cannot be made; the response must then not be sent
   */
  begin(headers: HeldAnswer['headers']): void {
    this.noteHeaders(headers)
    this.total()
    this.#isBegun = true
    this.onChange()
  }

  /** Notes the handler's header, which counts instead of {@link charge}. Read at the end. */
  noteHeaders(headers: HeldAnswer['headers']): void {
    const found = headers.find(isOverride)
    if (found !== undefined) this.#override = found[1]
  }

  /**
   * The charge in base units.
   *
   * @throws UsageError for a header that cannot be parsed, or an amount above the maximum
   */
  total(): bigint {
    const override = this.#override === undefined ? undefined : this.#overrideUnits(this.#override)
    if (override !== undefined) return this.#checked(override)
    return this.#charge ?? (this.#options.whenUnset === 'maximum' ? this.maxAmount : 0n)
  }

  /** The charge so far, for a handler that runs. A header that cannot be parsed charges nothing. */
  soFar(): bigint {
    try {
      return this.total()
    } catch (error) {
      if (error instanceof UsageError) return 0n
      throw error
    }
  }

  /**
   * The charge of a handler that has ended.
   *
   * @throws UsageError
   */
  chargeOf(answer: HeldAnswer | undefined): bigint {
    if (answer !== undefined) this.noteHeaders(answer.headers)
    return this.total()
  }

  /** The members of an admission that is charged by usage. */
  get admissionMembers(): { readonly isMetered: true; readonly noteHeaders: (headers: HeldAnswer['headers']) => void } {
    return { isMetered: true, noteHeaders: (headers) => this.begin(headers) }
  }

  /** Undefined for an override without an amount. */
  #overrideUnits(header: string): bigint | undefined {
    const value = header.length <= maxHeaderLength ? parseJson(header) : undefined
    const amount = Json.isObject(value) ? value['amount'] : undefined
    if (amount === undefined && Json.isObject(value)) return undefined
    if (typeof amount !== 'string') throw invalid(`${overridesHeader} has no amount`)
    const [, percent, fraction = ''] = /^([0-9]{1,3})(?:\.([0-9]{1,2}))?%$/.exec(amount) ?? []
    if (percent !== undefined) return (this.maxAmount * BigInt(percent + fraction.padEnd(2, '0'))) / 10_000n
    if (/^[0-9]{1,20}$/.test(amount)) return BigInt(amount)
    if (amount.startsWith('$')) return this.#unitsOf(amount)
    throw invalid(`${overridesHeader} has the amount ${JSON.stringify(amount.slice(0, 40))}`)
  }

  #unitsOf(price: Price): bigint {
    const { asset, decimals } = this.#options
    if (typeof price === 'object' && price !== null) {
      if (price.asset !== asset || !/^[0-9]{1,20}$/.test(String(price.amount))) {
        throw invalid(`the charge is not in base units of asset ${asset}`)
      }
      return BigInt(price.amount)
    }
    if (typeof price !== 'string' && typeof price !== 'number') throw invalid(`${price} is not a price`)
    if (decimals === undefined) {
      throw invalid(`the decimals of asset ${asset} are not known; charge { asset, amount } in base units`)
    }
    const { whole, fraction } = parsed(price)
    // Rounded down: the buyer is never charged for more than was used.
    return (
      Amount.parse(`${whole}.${fraction.slice(0, decimals).padEnd(1, '0')}`, Math.max(decimals, 1))! / scale(decimals)
    )
  }

  #checked(units: bigint): bigint {
    if (units <= this.maxAmount) return units
    const message = `the charge of ${units} base units is above the authorized maximum of ${this.maxAmount}`
    throw new UsageError('invalid_charge', message)
  }
}

function parsed(price: string | number): ReturnType<typeof Prices.parse> {
  try {
    return Prices.parse(price)
  } catch (error) {
    if (error instanceof Prices.PriceError) throw invalid(error.message)
    throw error
  }
}

/** An asset without decimals is parsed with one. */
function scale(decimals: number): bigint {
  return decimals === 0 ? 10n : 1n
}

function invalid(message: string): UsageError {
  return new UsageError('invalid_charge', message)
}

/**
 * An answer with its charge, which is stored with it, so that it is settled with the same amount after a restart. An
 * answer for a fixed price has none.
 */
export function withCharge(answer: HeldAnswer, charge: bigint | undefined): HeldAnswer {
  if (charge === undefined) return answer
  const overrides: [string, string] = [overridesHeader, JSON.stringify({ amount: charge.toString() })]
  return { ...answer, headers: [...withoutCharge(answer).headers, overrides] }
}

/** An answer without its charge, as its buyer gets it. */
export function withoutCharge(answer: HeldAnswer): HeldAnswer {
  return { ...answer, headers: answer.headers.filter((header) => !isOverride(header)) }
}

/** Trailers or early hints without a charge. Only the header sets one. */
export function withoutOverrides<T extends object>(headers: T): T {
  if (Array.isArray(headers)) return headers.filter((header) => !isOverride(header)) as unknown as T
  return Object.fromEntries(Object.entries(headers).filter((header) => !isOverride(header))) as T
}

function isOverride([name]: readonly [string, string]): boolean {
  return name.toLowerCase() === overridesHeader.toLowerCase()
}

/** The charge that is stored with an answer. An answer that was lost is not charged, because its charge was lost too. */
export function storedCharge(answer: HeldAnswer | undefined): bigint {
  const [, text = ''] = answer?.headers.find(isOverride) ?? []
  const { amount } = Json.parseObject(text) ?? {}
  return typeof amount === 'string' && /^[0-9]{1,20}$/.test(amount) ? BigInt(amount) : 0n
}

/** A charge that a handler cannot make. Nothing is charged then. */
export class UsageError extends PartyError<'invalid_charge'> {
  override name = 'UsageError'
}
