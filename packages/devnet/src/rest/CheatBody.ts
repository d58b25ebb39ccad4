/** The JSON that cheats are asked with. Small, flat, and every member is known. */
import { Address } from '@latchkey/algorand'
import * as Consensus from '../ledger/Consensus.js'
import * as Key from '../ledger/Key.js'
import { baseUnits } from './Amounts.js'
import * as BigJson from './BigJson.js'
import type { Call } from './Route.js'
import * as Answer from './responses.js'

const maxBytes = 10_000

export class CheatBody {
  readonly #members: { readonly [name: string]: unknown }

  private constructor(members: { readonly [name: string]: unknown }) {
    this.#members = members
  }

  /** `known` are all the names there are; a misspelt one must not pass for one left out. */
  static async read({ request }: Call, known: readonly string[]): Promise<CheatBody> {
    const bytes = await request.body()
    if (bytes.length > maxBytes) throw new Answer.ApiError(413, `a body has at most ${maxBytes} bytes`)
    return refusing(() => {
      const value = bytes.length === 0 ? {} : BigJson.parse(bytes.toString('utf8'))
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw new SyntaxError('expected an object')
      const stranger = Object.keys(value).find((name) => !known.includes(name))
      if (stranger !== undefined) {
        throw new SyntaxError(
          `there is no ${JSON.stringify(stranger.slice(0, 50))}; there are ${known.join(', ') || 'none'}`,
        )
      }
      return new CheatBody(value as { [name: string]: unknown })
    })
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined
  }

  address(name: string): Key.Key {
    const text = this.#members[name]
    if (typeof text === 'string' && Address.isValid(text)) return Key.fromAddress(text)
    throw new Answer.ApiError(400, `${name} is an Algorand address of 58 characters`)
  }

  /** In base units of something with so many decimals; none if it was left out. */
  amount(name: string, decimals: number): bigint {
    return refusing(() => {
      const amount = this.has(name) ? baseUnits(name, this.#members[name], decimals) : 0n
      if (amount > Consensus.maxUint64) throw new SyntaxError(`${name} is too large`)
      return amount
    })
  }

  uint(name: string, { min = 0n, max = Consensus.maxUint64, otherwise }: UintOptions = {}): bigint {
    if (!this.has(name) && otherwise !== undefined) return otherwise
    const given = this.#members[name]
    const text = typeof given === 'number' || typeof given === 'bigint' ? given.toString() : given
    const value = typeof text === 'string' && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined
    if (value === undefined || value < min || value > max) {
      throw new Answer.ApiError(400, `${name} is a whole number from ${min} to ${max}`)
    }
    return value
  }

  text(name: string, otherwise: string): string {
    const text = this.#members[name] ?? otherwise
    if (typeof text === 'string' && text.length <= 1_000) return text
    throw new Answer.ApiError(400, `${name} is a text of at most 1000 characters`)
  }

  oneOf<const T extends string>(name: string, words: readonly T[]): T {
    const word = words.find((one) => one === this.#members[name])
    if (word === undefined) throw new Answer.ApiError(400, `${name} is one of ${words.join(', ')}`)
    return word
  }
}

type UintOptions = { min?: bigint; max?: bigint; otherwise?: bigint }

function refusing<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) throw new Answer.ApiError(400, error.message)
    throw error
  }
}
