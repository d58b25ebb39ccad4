/** The JSON body of a cheat: small, flat, and with known members only. */
import { Address, Amount, Json } from '@latchkey/algorand'
import * as Consensus from '../ledger/Consensus.js'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import type { RouteContext } from './Route.js'

const maxBytes = 10_000

export class CheatBody {
  readonly #members: Json.Members

  private constructor(members: Json.Members) {
    this.#members = members
  }

  /** Rejects names that are not `known`, because a misspelled member must not count as absent. */
  static async read({ request }: RouteContext, known: readonly string[]): Promise<CheatBody> {
    const bytes = await request.body()
    if (bytes.length > maxBytes) throw new ApiError(413, `the body must have at most ${maxBytes} bytes`)
    const value = bytes.length === 0 ? {} : parse(bytes.toString('utf8'))
    if (!Json.isObject(value)) throw new ApiError(400, 'expected an object')
    const unknown = Object.keys(value).find((name) => !known.includes(name))
    if (unknown !== undefined) {
      const name = JSON.stringify(unknown.slice(0, 50))
      throw new ApiError(400, `unknown member ${name}; known members: ${known.join(', ') || 'none'}`)
    }
    return new CheatBody(value)
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined
  }

  address(name: string): MapKey.MapKey {
    const text = this.#members[name]
    if (typeof text === 'string' && Address.isValid(text)) return MapKey.fromAddress(text)
    throw new ApiError(400, `${name} must be an Algorand address of 58 characters`)
  }

  /** A decimal such as 1.5 or "0.000001" in base units, never as a floating point number; 0 if absent. */
  amount(name: string, decimals: number): bigint {
    if (!this.has(name)) return 0n
    const text = this.#numberText(name) ?? ''
    const amount = Amount.parse(text, decimals)
    if (amount === undefined) {
      const isDecimal = Amount.parse(text, text.length) !== undefined
      throw new ApiError(
        400,
        isDecimal ? `${name} must have at most ${decimals} decimals` : `${name} must be an amount such as 1.5`,
      )
    }
    if (amount > Consensus.maxUint64) throw new ApiError(400, `${name} is too large`)
    return amount
  }

  uint(name: string, { min = 0n, max = Consensus.maxUint64, fallback }: UintOptions = {}): bigint {
    if (!this.has(name) && fallback !== undefined) return fallback
    const text = this.#numberText(name)
    const value = text !== undefined && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined
    if (value === undefined || value < min || value > max) {
      throw new ApiError(400, `${name} must be a whole number from ${min} to ${max}`)
    }
    return value
  }

  text(name: string, fallback: string): string {
    const text = this.#members[name] ?? fallback
    if (typeof text === 'string' && text.length <= 1_000) return text
    throw new ApiError(400, `${name} must be a string of at most 1000 characters`)
  }

  oneOf<const T extends string>(name: string, words: readonly T[]): T {
    const word = words.find((one) => one === this.#members[name])
    if (word === undefined) throw new ApiError(400, `${name} must be one of ${words.join(', ')}`)
    return word
  }

  /** A number as text; numbers may also be given as strings. */
  #numberText(name: string): string | undefined {
    const value = this.#members[name]
    if (typeof value === 'number' || typeof value === 'bigint') return value.toString()
    return typeof value === 'string' ? value : undefined
  }
}

type UintOptions = { min?: bigint; max?: bigint; fallback?: bigint }

function parse(text: string): unknown {
  try {
    return Json.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new ApiError(400, error.message)
    throw error
  }
}
