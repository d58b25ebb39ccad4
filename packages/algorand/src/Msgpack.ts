/** The msgpack subset that Algorand uses: read leniently and with limits, and written in its shortest form. */

import { errors } from './errors.js'
import * as Bytes from './internal/Bytes.js'
import { LatchkeyError } from './LatchkeyError.js'

/**
 * Reads one value after another. Every method throws DecodeError if the next value has another type. Lengths are
 * checked against the remaining input before anything is allocated, so a short input cannot cause a large allocation.
 * Text and bytes are interchangeable, and integers may have any width and signed formats, because encoders differ
 * there. To get the shortest form, write the value again.
 */
export class Reader {
  /** The input. */
  readonly bytes: Uint8Array
  /** Where the next value begins. */
  position: number

  constructor(bytes: Uint8Array, position = 0) {
    // `slice` of a Buffer returns a view that is a Buffer; that of a plain array returns a plain copy.
    this.bytes =
      bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.position = position
  }

  /** The number of remaining bytes. */
  get remaining(): number {
    return this.bytes.length - this.position
  }

  /** The first byte of the next value, or -1 at the end. */
  peek(): number {
    return this.position < this.bytes.length ? this.bytes[this.position]! : -1
  }

  /** Consumes a nil if one is next. */
  tryNil(): boolean {
    if (this.peek() !== 0xc0) return false
    this.position++
    return true
  }

  /** Reads a nil. */
  nil(): void {
    if (!this.tryNil()) throw new DecodeError('expected nil')
  }

  /** Reads a boolean. */
  bool(): boolean {
    const byte = this.#byte()
    if (byte === 0xc3) return true
    if (byte === 0xc2) return false
    throw new DecodeError('expected a boolean')
  }

  /** Whether the next value is an array. */
  isArray(): boolean {
    const byte = this.peek()
    return (byte & 0xf0) === 0x90 || byte === 0xdc || byte === 0xdd
  }

  /** Reads the header of a map and returns the number of entries. */
  mapHeader(): number {
    const byte = this.#byte()
    if ((byte & 0xf0) === 0x80) return this.#count(byte & 0x0f, 2)
    if (byte === 0xde) return this.#count(this.#unsigned(2), 2)
    if (byte === 0xdf) return this.#count(this.#unsigned(4), 2)
    throw new DecodeError('expected a map')
  }

  /** Reads the header of an array and returns the number of values. */
  arrayHeader(): number {
    const byte = this.#byte()
    if ((byte & 0xf0) === 0x90) return this.#count(byte & 0x0f, 1)
    if (byte === 0xdc) return this.#count(this.#unsigned(2), 1)
    if (byte === 0xdd) return this.#count(this.#unsigned(4), 1)
    throw new DecodeError('expected an array')
  }

  /**
   * Reads the header of a str or bin, and returns the length of the content at `position`, which is fully available.
   */
  blobHeader(): number {
    const byte = this.#byte()
    let length: number
    if ((byte & 0xe0) === 0xa0) length = byte & 0x1f
    else if (byte >= 0xc4 && byte <= 0xc6) length = this.#unsigned(1 << (byte - 0xc4))
    else if (byte >= 0xd9 && byte <= 0xdb) length = this.#unsigned(1 << (byte - 0xd9))
    else throw new DecodeError('expected text or bytes')
    if (length > this.remaining) throw new DecodeError('input ends too early')
    return length
  }

  /** Reads the content of a str or bin as a view of the input, for callers that copy or only compare it. */
  view(): Uint8Array {
    const length = this.blobHeader()
    const start = this.position
    this.position = start + length
    return this.bytes.subarray(start, this.position)
  }

  /** Reads a copy of the content of a str or bin. */
  bin(): Uint8Array {
    const length = this.blobHeader()
    const start = this.position
    this.position = start + length
    return this.bytes.slice(start, this.position)
  }

  /**
   * Reads the content of a str or bin as text. Rejects text that is not UTF-8, because it could not be written back.
   */
  str(): string {
    const text = Bytes.toUtf8(this.view())
    if (text === undefined) throw new DecodeError('text is not UTF-8')
    return text
  }

  /** An unsigned integer of at most 64 bits. */
  uint(): bigint {
    const byte = this.#byte()
    if (byte === 0xcf || byte === 0xd3) {
      const high = this.#unsigned(4)
      const low = this.#unsigned(4)
      if (byte === 0xd3 && high > 0x7fffffff) throw new DecodeError('expected an integer that is not negative')
      return high === 0 ? BigInt(low) : (BigInt(high) << 32n) | BigInt(low)
    }
    return BigInt(this.#uint32(byte))
  }

  /** An unsigned integer of at most `max`, which fits 32 bits. */
  smallUint(max: number): number {
    let value: number
    const byte = this.#byte()
    if (byte === 0xcf || byte === 0xd3) {
      if (this.#unsigned(4) !== 0) throw new DecodeError('integer out of range')
      value = this.#unsigned(4)
    } else {
      value = this.#uint32(byte)
    }
    if (value > max) throw new DecodeError('integer out of range')
    return value
  }

  /** Skips one value of any type. Nesting is followed without recursion, up to `maxDepth` levels. */
  skip(maxDepth = 32): void {
    const pending = [1]
    while (pending.length > 0) {
      const level = pending.length - 1
      if (pending[level] === 0) {
        pending.pop()
        continue
      }
      pending[level]!--
      const inside = this.#skipHead()
      if (inside === 0) continue
      if (pending.length > maxDepth) throw new DecodeError('nested too deeply')
      pending.push(inside)
    }
  }

  /** Skips a scalar or the header of a container, and returns the number of contained values. */
  #skipHead(): number {
    const byte = this.peek()
    if ((byte & 0xf0) === 0x80 || byte === 0xde || byte === 0xdf) return this.mapHeader() * 2
    if (this.isArray()) return this.arrayHeader()
    if ((byte & 0xe0) === 0xa0 || (byte >= 0xc4 && byte <= 0xc6) || (byte >= 0xd9 && byte <= 0xdb)) {
      const length = this.blobHeader()
      this.position += length
      return 0
    }
    this.#byte()
    if (byte >= 0xc7 && byte <= 0xc9) this.#advance(this.#unsigned(1 << (byte - 0xc7)) + 1)
    else if (byte === 0xc1) throw new DecodeError('reserved byte')
    else this.#advance(scalarLength(byte))
    return 0
  }

  #uint32(byte: number): number {
    if (byte < 0x80) return byte
    let value: number
    if (byte >= 0xcc && byte <= 0xce) return this.#unsigned(1 << (byte - 0xcc))
    if (byte === 0xd0) value = (this.#unsigned(1) << 24) >> 24
    else if (byte === 0xd1) value = (this.#unsigned(2) << 16) >> 16
    else if (byte === 0xd2) value = this.#unsigned(4) | 0
    else if (byte >= 0xe0) value = -1
    else throw new DecodeError('expected an integer')
    if (value < 0) throw new DecodeError('expected an integer that is not negative')
    return value
  }

  #count(count: number, valuesPerEntry: number): number {
    // Every value takes at least one byte, so a larger count is invalid.
    if (count * valuesPerEntry > this.remaining) throw new DecodeError('input ends too early')
    return count
  }

  #advance(length: number): void {
    if (length > this.remaining) throw new DecodeError('input ends too early')
    this.position += length
  }

  #byte(): number {
    if (this.position >= this.bytes.length) throw new DecodeError('input ends too early')
    return this.bytes[this.position++]!
  }

  #unsigned(width: number): number {
    const start = this.position
    this.#advance(width)
    const { bytes } = this
    if (width === 1) return bytes[start]!
    if (width === 2) return (bytes[start]! << 8) | bytes[start + 1]!
    return bytes[start]! * 0x1000000 + ((bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!)
  }
}

// Names are untrusted, and errors are written to logs.
const maxShownName = 32

/** The number of bytes after the first byte of a number, nil, boolean or fixed-size extension. */
function scalarLength(byte: number): number {
  if (byte === 0xca) return 4
  if (byte === 0xcb) return 8
  if (byte >= 0xcc && byte <= 0xcf) return 1 << (byte - 0xcc)
  if (byte >= 0xd0 && byte <= 0xd3) return 1 << (byte - 0xd0)
  if (byte >= 0xd4 && byte <= 0xd8) return 1 + (1 << (byte - 0xd4))
  return 0
}

type DecodeErrorCode = 'invalid_encoding' | 'missing_field' | 'unknown_field'

/** The bytes or the JSON cannot be decoded as the expected type. */
export class DecodeError extends LatchkeyError<DecodeErrorCode> {
  override name = 'DecodeError'
  /** The problem, without its location. */
  readonly reason: string
  /** The path of the invalid member: `txn.apar.an`. */
  declare member?: string
  /** The number of bytes read, if known. */
  declare position?: number

  /** @default code 'invalid_encoding' */
  constructor(reason: string, code: DecodeErrorCode = 'invalid_encoding') {
    super(code, reason, { hint: errors[code].hint })
    this.reason = reason
  }

  /** For a field that the schema does not have. */
  static unknownField(name: string): DecodeError {
    const shown = name.length <= maxShownName ? name : `${name.slice(0, maxShownName)}…`
    return new DecodeError(`unknown field ${JSON.stringify(shown)}`, 'unknown_field')
  }

  /** Adds the name of the enclosing member to the location. Callers do so as they pass the error on. */
  placeInside(name: string): void {
    this.member = this.member === undefined ? name : `${name}.${this.member}`
    this.message = `${this.member}: ${this.reason}`
  }
}

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
    return this.strBytes(Bytes.fromUtf8(text))
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
