/** Path and query of a request, parsed as strictly as nodes parse them and with their error messages. */
import { Address, Hash } from '@latchkey/algorand'
import * as Consensus from '../ledger/Consensus.js'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import type { Format } from './HttpResponse.js'

export class Query {
  readonly #values: URLSearchParams

  constructor(text: string) {
    this.#values = new URLSearchParams(text)
  }

  get(name: string): string | undefined {
    const values = this.#values.getAll(name)
    if (values.length > 1) {
      const cause = `multiple values for single value parameter '${name}'`
      throw new ApiError(400, `Invalid format for parameter ${name}: ${cause}`)
    }
    return values[0]
  }

  format(): Format {
    const format = this.get('format')?.toLowerCase() ?? 'json'
    if (format === 'json') return 'json'
    if (format === 'msgpack' || format === 'msgp') return 'msgpack'
    throw new ApiError(400, 'failed to parse the format option')
  }

  uint(name: string): bigint | undefined {
    const text = this.get(name)
    return text === undefined ? undefined : uint(name, text)
  }

  flag(name: string): boolean {
    const text = this.get(name)
    if (text === undefined) return false
    if (/^(1|[tT]|true|TRUE|True)$/.test(text)) return true
    if (/^(0|[fF]|false|FALSE|False)$/.test(text)) return false
    const quoted = JSON.stringify(text)
    const cause = `error binding string parameter: strconv.ParseBool: parsing ${quoted}: invalid syntax`
    throw new ApiError(400, `Invalid format for parameter ${name}: ${cause}`)
  }
}

export function uint(name: string, text: string): bigint {
  return parseUint(text, `Invalid format for parameter ${name}: error binding string parameter: `)
}

/** @param prefix precedes the reason in the error message. */
export function parseUint(text: string, prefix: string): bigint {
  const fail = (reason: string): never => {
    throw new ApiError(400, `${prefix}strconv.ParseUint: parsing ${JSON.stringify(text)}: ${reason}`)
  }
  if (!/^[0-9]+$/.test(text)) fail('invalid syntax')
  const digits = text.replace(/^0+(?=[0-9])/, '')
  const value = digits.length > 20 ? undefined : BigInt(digits)
  return value === undefined || value > Consensus.maxUint64 ? fail('value out of range') : value
}

export function address(text: string): MapKey.MapKey {
  try {
    return MapKey.fromAddress(text)
  } catch (error) {
    if (!(error instanceof Address.AddressError)) throw error
    const cause = `error unmarshaling '${text}' text as *basics.Address: ${error.message}`
    throw new ApiError(400, `Invalid format for parameter address: ${cause}`)
  }
}

export function transactionId(text: string): MapKey.MapKey {
  const digest = Hash.fromText(text)
  if (digest === undefined) throw new ApiError(400, 'no valid transaction ID was specified')
  return MapKey.of(digest)
}
