/** Names of boxes and arguments as text: an encoding, a colon and a value. */
import { Address, Bytes } from '@latchkey/algorand'
import { problemOfUint } from './Route.js'

export type Decoded = { readonly bytes: Uint8Array } | { readonly problem: string }

/** Decodes a text such as `str:name` or `b64:bmFtZQ==`. */
export function decode(text: string): Decoded {
  const [, encoding, value] = /^([^:]*):(.*)$/s.exec(text) ?? []
  if (encoding === undefined || value === undefined) {
    return { problem: "all arguments and box names should be of the form 'encoding:value'" }
  }
  switch (encoding) {
    case 'str':
    case 'string':
      return { bytes: Buffer.from(value) }
    case 'abi':
      return ofAbi(value)
    case 'int':
    case 'integer': {
      const problem = problemOfUint(value)
      if (problem !== undefined) return { problem: `Could not parse uint64 from string (${value}): ${problem}` }
      return { bytes: integerBytes(BigInt(value), 8) }
    }
    case 'addr':
    case 'address':
      return Address.isValid(value)
        ? { bytes: Address.decode(value) }
        : { problem: `Could not unmarshal checksummed address from string (${value})` }
    case 'b32':
    case 'base32':
    case 'byte base32': {
      const bytes = value.length % 8 === 0 ? Bytes.fromBase32(value.replace(/={1,6}$/, '')) : undefined
      return bytes === undefined ? { problem: `Could not decode base32-encoded string (${value})` } : { bytes }
    }
    case 'b64':
    case 'base64':
    case 'byte base64':
      return value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
        ? { bytes: Buffer.from(value, 'base64') }
        : { problem: `Could not decode base64-encoded string (${value})` }
    default:
      return { problem: `Unknown encoding: ${encoding}` }
  }
}

/** Integers, addresses, booleans and strings of the ABI; other types are not supported. */
function ofAbi(text: string): Decoded {
  const [, type, value] = /^([^:]*):(.*)$/s.exec(text) ?? []
  if (type === undefined || value === undefined) {
    return { problem: `Could not decode abi string (${text}): should split abi-type and abi-value with colon` }
  }
  const bits = /^uint([0-9]{1,3})$/.exec(type)?.[1]
  if (bits !== undefined && /^[0-9]{1,155}$/.test(value) && BigInt(value) < 1n << BigInt(bits)) {
    return { bytes: integerBytes(BigInt(value), Number(bits) / 8) }
  }
  const quoted = /^"(.*)"$/s.exec(value)?.[1]
  if (type === 'string' && quoted !== undefined) {
    const bytes = Buffer.from(quoted)
    return { bytes: Buffer.concat([integerBytes(BigInt(bytes.length), 2), bytes]) }
  }
  if (type === 'address' && quoted !== undefined && Address.isValid(quoted)) return { bytes: Address.decode(quoted) }
  if (type === 'bool' && /^(true|false)$/.test(value)) return { bytes: Uint8Array.of(value === 'true' ? 0x80 : 0) }
  return { problem: `Could not decode abi value (${value}) of type ${type}` }
}

function integerBytes(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => Number((value >> BigInt(8 * (length - 1 - index))) & 0xffn))
}
