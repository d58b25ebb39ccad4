/**
 * Verifies signatures of Falcon-1024 (specification of the third NIST round) in the deterministic, compressed form of
 * Algorand: instead of a random salt, the signature has the version of a fixed one.
 */
import { shake256 } from '@noble/hashes/sha3.js'
import * as Bytes from './Bytes.js'

const degree = 1024
const modulus = 12_289
/** The largest squared length of a valid signature. */
const maxSquaredNorm = 70_265_242
const publicKeyHeader = 0x0a
const signatureHeader = 0xba
const coefficientBits = 14
/** Hashed values below this multiple of the modulus are uniform. */
const hashLimit = 5 * modulus
const saltBytes = 40
const saltText = '\x0aFALCON_DET'
const maxCoefficient = 2047

/** The bytes of a public key. */
export const keyBytes = 1 + (degree * coefficientBits) / 8

/** The most bytes of a signature. */
export const maxSignatureBytes = 1423

/** Why a signature is refused: a key or a polynomial has no valid encoding, or the signature is not of the message. */
export type Failure = 'malformed' | 'mismatch'

/**
 * Verifies a signature. Returns undefined if it is valid. The key must have {@link keyBytes}.
 *
 * The order of the checks and the kind of each failure are those of the reference implementation, whose error code nodes
 * report.
 */
export function check(publicKey: Uint8Array, signature: Uint8Array, message: Uint8Array): Failure | undefined {
  const { length } = signature
  if (length < 2 || length > maxSignatureBytes || signature[0] !== signatureHeader) return 'mismatch'
  const header = publicKey[0]!
  // A key of another degree has a valid header, but the signature is not for it.
  if (header !== publicKeyHeader) return header >= 1 && header < publicKeyHeader ? 'mismatch' : 'malformed'
  const key = decodeKey(publicKey.subarray(1))
  if (key === undefined) return 'malformed'
  const second = decompress(signature.subarray(2))
  if (second === undefined) return 'malformed'
  const target = hashToPoint(saltOf(signature[1]!), message)
  const product = multiply(second, key)
  let norm = 0
  for (let index = 0; index < degree; index++) {
    const first = centered(target[index]! - product[index]!)
    norm += first * first + second[index]! * second[index]!
  }
  return norm <= maxSquaredNorm ? undefined : 'mismatch'
}

function saltOf(version: number): Uint8Array {
  const salt = new Uint8Array(saltBytes)
  salt[0] = version
  salt.set(Bytes.fromUtf8(saltText), 1)
  return salt
}

/** Coefficients of 14 bits each. Returns undefined if one is not below the modulus. */
function decodeKey(bytes: Uint8Array): Int32Array | undefined {
  const reader = new BitReader(bytes)
  const key = new Int32Array(degree)
  for (let index = 0; index < degree; index++) {
    const value = reader.read(coefficientBits)!
    if (value >= modulus) return undefined
    key[index] = value
  }
  return key
}

/** A sign, seven low bits and the high bits in unary for each coefficient. There is one encoding of each polynomial. */
function decompress(bytes: Uint8Array): Int32Array | undefined {
  const reader = new BitReader(bytes)
  const polynomial = new Int32Array(degree)
  for (let index = 0; index < degree; index++) {
    const sign = reader.read(1)
    const low = reader.read(7)
    const high = reader.readUnary(maxCoefficient >> 7)
    if (sign === undefined || low === undefined || high === undefined) return undefined
    const value = (high << 7) | low
    if (value === 0 && sign === 1) return undefined
    polynomial[index] = sign === 1 ? -value : value
  }
  return reader.isAtEnd ? polynomial : undefined
}

function hashToPoint(salt: Uint8Array, message: Uint8Array): Int32Array {
  const output = shake256.create({}).update(salt).update(message)
  const point = new Int32Array(degree)
  for (let index = 0; index < degree; ) {
    const bytes = output.xof(2 * (degree - index))
    for (let offset = 0; offset < bytes.length; offset += 2) {
      const value = (bytes[offset]! << 8) | bytes[offset + 1]!
      if (value < hashLimit) point[index++] = value % modulus
    }
  }
  return point
}

/** The product modulo x¹⁰²⁴ + 1 and the modulus. */
function multiply(a: Int32Array, b: Int32Array): Int32Array {
  const [first, second] = [transformed(a), transformed(b)]
  return restored(first.map((value, index) => (value * second[index]!) % modulus))
}

/** A root of -1 of the degree, and powers of it and of its inverse at the bit-reversed index. */
const root = /* @__PURE__ */ power(11, (modulus - 1) / (2 * degree))
const roots = /* @__PURE__ */ powersOf(root)
const inverseRoots = /* @__PURE__ */ powersOf(/* @__PURE__ */ power(root, modulus - 2))
const inverseDegree = /* @__PURE__ */ power(degree, modulus - 2)

function power(base: number, exponent: number): number {
  let result = 1
  for (let count = 0; count < exponent; count++) result = (result * base) % modulus
  return result
}

function powersOf(base: number): Int32Array {
  const powers = new Int32Array(degree)
  const bits = Math.log2(degree)
  for (let index = 0, value = 1; index < degree; index++, value = (value * base) % modulus) {
    let reversed = 0
    for (let bit = 0; bit < bits; bit++) reversed |= ((index >> bit) & 1) << (bits - 1 - bit)
    powers[reversed] = value
  }
  return powers
}

/** The values of a polynomial at the odd powers of the root: the number-theoretic transform (Longa and Naehrig, 2016). */
function transformed(polynomial: Int32Array): Int32Array {
  const values = polynomial.map((value) => (value < 0 ? value + modulus : value))
  for (let count = 1, length = degree / 2; count < degree; count *= 2, length /= 2) {
    for (let block = 0; block < count; block++) {
      const factor = roots[count + block]!
      const start = 2 * block * length
      for (let index = start; index < start + length; index++) {
        const [u, v] = [values[index]!, (values[index + length]! * factor) % modulus]
        values[index] = (u + v) % modulus
        values[index + length] = (u - v + modulus) % modulus
      }
    }
  }
  return values
}

/** The inverse of {@link transformed}. */
function restored(transform: Int32Array): Int32Array {
  const values = transform.slice()
  for (let count = degree / 2, length = 1; count >= 1; count /= 2, length *= 2) {
    for (let block = 0; block < count; block++) {
      const factor = inverseRoots[count + block]!
      const start = 2 * block * length
      for (let index = start; index < start + length; index++) {
        const [u, v] = [values[index]!, values[index + length]!]
        values[index] = (u + v) % modulus
        values[index + length] = ((u - v + modulus) * factor) % modulus
      }
    }
  }
  return values.map((value) => (value * inverseDegree) % modulus)
}

/** The representative between -modulus / 2 and modulus / 2. */
function centered(value: number): number {
  const rest = ((value % modulus) + modulus) % modulus
  return rest > modulus / 2 ? rest - modulus : rest
}

/** Reads bits, the highest first. */
class BitReader {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Whether less than a byte is left, and that is zero. */
  get isAtEnd(): boolean {
    const left = 8 * this.#bytes.length - this.#position
    return left < 8 && this.read(left) === 0
  }

  read(count: number): number | undefined {
    if (this.#position + count > 8 * this.#bytes.length) return undefined
    let value = 0
    for (let index = 0; index < count; index++) {
      value = (value << 1) | ((this.#bytes[this.#position >> 3]! >> (7 - (this.#position & 7))) & 1)
      this.#position++
    }
    return value
  }

  /** Counts zeros before a one. */
  readUnary(max: number): number | undefined {
    for (let count = 0; count <= max; count++) {
      const bit = this.read(1)
      if (bit === undefined) return undefined
      if (bit === 1) return count
    }
    return undefined
  }
}
