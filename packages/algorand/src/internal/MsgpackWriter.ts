import { errors } from '../errors.js'
import { LatchkeyError } from '../LatchkeyError.js'
import * as Bytes from './Bytes.js'

const maxUint64 = 2n ** 64n - 1n
const initialCapacity = 256

/**
 * Appends values in their shortest form. Without a target the memory grows as needed. With a target nothing is written
 * elsewhere: a target in protected memory holds the only copy of a secret, and running out of room is an error.
 */
export class Writer {
  #buffer: Uint8Array
  #length = 0
  readonly #fixed: boolean

  /**
   * @param target memory to write to.
   * @default target new memory that grows
   */
  constructor(target?: Uint8Array) {
    this.#fixed = target !== undefined
    this.#buffer = target ?? Bytes.allocate(initialCapacity)
  }

  /** The number of bytes written. */
  get length(): number {
    return this.#length
  }

  /** Returns a view of the bytes written so far. */
  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Writes a nil. */
  nil(): this {
    return this.#byte(0xc0)
  }

  /** Writes a boolean. */
  bool(value: boolean): this {
    return this.#byte(value ? 0xc3 : 0xc2)
  }

  /** Writes an unsigned integer of at most 64 bits. */
  uint(value: bigint | number): this {
    if (typeof value === 'number') {
      if (!Number.isSafeInteger(value) || value < 0) throw new EncodeError('not an unsigned integer')
      if (value <= 0xffffffff) return this.#uint32(value)
      return this.#uint64(Math.floor(value / 0x100000000), value >>> 0)
    }
    if (value < 0n || value > maxUint64) throw new EncodeError('not an unsigned 64-bit integer')
    if (value <= 0xffffffffn) return this.#uint32(Number(value))
    return this.#uint64(Number(value >> 32n), Number(value & 0xffffffffn))
  }

  /** Writes text. */
  str(text: string): this {
    return this.strBytes(Bytes.encodeText(text))
  }

  /** Writes bytes marked as text, for text that is not UTF-8 and so has no string form. */
  strBytes(bytes: Uint8Array): this {
    this.#strHeader(bytes.length)
    return this.raw(bytes)
  }

  /** Writes bytes. */
  bin(bytes: Uint8Array): this {
    const { length } = bytes
    if (length <= 0xff) this.#head(0xc4, 1, length)
    else if (length <= 0xffff) this.#head(0xc5, 2, length)
    else this.#head(0xc6, 4, length)
    return this.raw(bytes)
  }

  /** Writes the header of a map; the caller writes the entries, keys in order. */
  mapHeader(entries: number): this {
    if (entries < 16) return this.#byte(0x80 | entries)
    return entries <= 0xffff ? this.#head(0xde, 2, entries) : this.#head(0xdf, 4, entries)
  }

  /** Writes the header of an array; the caller writes the values. */
  arrayHeader(values: number): this {
    if (values < 16) return this.#byte(0x90 | values)
    return values <= 0xffff ? this.#head(0xdc, 2, values) : this.#head(0xdd, 4, values)
  }

  /** Writes bytes that are already msgpack. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
    return this
  }

  #strHeader(length: number): void {
    if (length < 32) this.#byte(0xa0 | length)
    else if (length <= 0xff) this.#head(0xd9, 1, length)
    else if (length <= 0xffff) this.#head(0xda, 2, length)
    else this.#head(0xdb, 4, length)
  }

  #uint32(value: number): this {
    if (value < 0x80) return this.#byte(value)
    if (value <= 0xff) return this.#head(0xcc, 1, value)
    return value <= 0xffff ? this.#head(0xcd, 2, value) : this.#head(0xce, 4, value)
  }

  #uint64(high: number, low: number): this {
    this.#head(0xcf, 4, high)
    return this.#unsigned(4, low)
  }

  #head(marker: number, width: number, value: number): this {
    this.#byte(marker)
    return this.#unsigned(width, value)
  }

  #unsigned(width: number, value: number): this {
    this.#reserve(width)
    for (let shift = (width - 1) * 8; shift >= 0; shift -= 8) this.#buffer[this.#length++] = value >>> shift
    return this
  }

  #byte(value: number): this {
    this.#reserve(1)
    this.#buffer[this.#length++] = value
    return this
  }

  #reserve(length: number): void {
    const needed = this.#length + length
    if (needed <= this.#buffer.length) return
    if (this.#fixed) throw new EncodeError('the target is too small', 'target_too_small')
    const larger = new Uint8Array(Math.max(needed, this.#buffer.length * 2))
    larger.set(this.bytes())
    this.#buffer = larger
  }
}

type EncodeErrorCode = 'invalid_value' | 'missing_field' | 'target_too_small' | 'unknown_field'

/** The value cannot be written. */
export class EncodeError extends LatchkeyError<EncodeErrorCode> {
  override name = 'EncodeError'

  /** @default code 'invalid_value' */
  constructor(message: string, code: EncodeErrorCode = 'invalid_value') {
    super(code, message, { hint: errors[code].hint })
  }
}
