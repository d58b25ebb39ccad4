/**
 * Reads the structure of an SQLite file without SQLite: the header, the page trees, and records. An untrusted file can
 * make SQLite work endlessly (a page with several parents, a value of a gigabyte). After this check, every page has
 * exactly one place in a tree and every value has a bounded length.
 *
 * The format and its terms are documented at https://sqlite.org/fileformat2.html.
 */
import { readSync } from 'node:fs'
import { LatchkeyError } from '@latchkey/algorand'
import { fileErrors } from '../errors.js'

/** The kind of a tree: rows by number, or keys only. */
export type Kind = 'table' | 'index'

export type Value = number | bigint | null | { type: 'text' | 'blob'; bytes: Buffer }

export type Walk = {
  root: number
  kind: Kind
  /** The limit for one row or key. */
  maxPayloadBytes: number
  /** @default limited only by the file size */
  maxRows?: number
  /** Called with each row. Without it, rows are not read. */
  onRow?: (payload: Buffer) => void
  /** Counts pages that SQLite refuses to read instead of rejecting the file, because the other pages remain usable. */
  skipsDamaged?: boolean
}

const magic = Buffer.from('SQLite format 3\0', 'latin1')
const headerLength = 100
/** SQLite's limit (BTCURSOR_MAX_DEPTH). */
const maxDepth = 20
const flags = { interiorIndex: 2, interiorTable: 5, leafIndex: 10, leafTable: 13 } as const

export class DatabaseFormat {
  readonly pageSize: number
  readonly pageCount: number
  readonly #descriptor: number
  readonly #usable: number
  readonly #maxLocal: { readonly [kind in Kind]: number }
  readonly #seen: Uint8Array
  readonly #page: Buffer
  #damagedPages = 0

  /**
   * Reads the header.
   *
   * @param descriptor stays open, and is read synchronously.
   * @throws DatabaseFormatError
   */
  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor
    const header = Buffer.alloc(headerLength)
    if (readSync(descriptor, header, 0, headerLength, 0) !== headerLength || !header.subarray(0, 16).equals(magic))
      throw new DatabaseFormatError('is not an SQLite database')
    const stored = header.readUInt16BE(16)
    this.pageSize = stored === 1 ? 65_536 : stored
    if (this.pageSize < 512 || (this.pageSize & (this.pageSize - 1)) !== 0)
      throw new DatabaseFormatError('has an invalid page size')
    if (header[18] !== 1 || header[19] !== 1) throw new DatabaseFormatError('is in WAL mode')
    this.#usable = this.pageSize - header[20]!
    if (this.#usable < 480) throw new DatabaseFormatError('reserves too much of each page')
    this.#maxLocal = { table: this.#usable - 35, index: Math.floor(((this.#usable - 12) * 64) / 255) - 23 }
    if (header.readUInt32BE(56) !== 1) throw new DatabaseFormatError('is not in UTF-8')
    this.pageCount = Math.floor(size / this.pageSize)
    this.#seen = new Uint8Array((this.pageCount >> 3) + 1)
    this.#page = Buffer.alloc(this.pageSize)
  }

  /** The number of skipped pages (`skipsDamaged`). */
  get damagedPages(): number {
    return this.#damagedPages
  }

  /**
   * Visits every page of a tree. Each page has exactly one place in one tree of the file.
   *
   * @returns the number of rows.
   * @throws DatabaseFormatError
   */
  walk(options: Walk): number {
    const waiting: { page: number; depth: number }[] = [{ page: options.root, depth: 1 }]
    let rows = 0
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { page, depth } = next
      if (depth > maxDepth) throw new DatabaseFormatError('has a tree that is too deep')
      rows += this.#visit(page, depth, options, (child) => waiting.push({ page: child, depth: depth + 1 }))
      if (rows > (options.maxRows ?? Number.POSITIVE_INFINITY)) throw new DatabaseFormatError('has too many rows')
    }
    return rows
  }

  #visit(number: number, depth: number, options: Walk, push: (child: number) => void): number {
    const isTable = options.kind === 'table'
    const { interior, leaf } = isTable
      ? { interior: flags.interiorTable, leaf: flags.leafTable }
      : { interior: flags.interiorIndex, leaf: flags.leafIndex }
    if (!this.#load(number)) return this.#damaged(options)
    const page = this.#page
    const at = number === 1 ? headerLength : 0
    const flag = page[at]!
    if (flag !== interior && flag !== leaf) return this.#damaged(options)
    const isLeaf = flag === leaf
    const cells = page.readUInt16BE(at + 3)
    // SQLite rejects such a page, too.
    if (cells === 0 && depth > 1) return this.#damaged(options)
    const pointers = at + (isLeaf ? 8 : 12)
    const content = pointers + 2 * cells
    if (content > this.#usable) throw new DatabaseFormatError(damage)
    if (!isLeaf) push(page.readUInt32BE(at + 8))
    // Reading an overflow page overwrites the current page, so long cells are read afterwards.
    const long: Cell[] = []
    for (let i = 0; i < cells; i++) {
      const start = page.readUInt16BE(pointers + 2 * i)
      // The shortest cell has four bytes. SQLite relies on this, too.
      if (start < content || start > this.#usable - 4) throw new DatabaseFormatError(damage)
      if (!isLeaf) push(page.readUInt32BE(start))
      if (isTable && !isLeaf) continue
      this.#readCell(isLeaf ? start : start + 4, options, long)
    }
    for (const cell of long) {
      const payload = this.#overflow(cell, options.onRow !== undefined)
      options.onRow?.(payload)
    }
    return isTable && !isLeaf ? 0 : cells
  }

  /** Creates no object for a cell that is only measured, because a wallet can have a million cells. */
  #readCell(start: number, { kind, maxPayloadBytes, onRow }: Walk, long: Cell[]): void {
    const page = this.#page
    const length = varint(page, start)
    if (length > maxPayloadBytes) throw new DatabaseFormatError('has a value that is too long')
    let at = start + varintLength(page, start)
    if (kind === 'table') at += varintLength(page, at)
    const local = length <= this.#maxLocal[kind] ? length : this.#localLength(length, this.#maxLocal[kind])
    if (at + local + (local < length ? 4 : 0) > this.#usable) throw new DatabaseFormatError(damage)
    if (local < length) {
      const bytes = onRow === undefined ? nothing : Buffer.from(page.subarray(at, at + local))
      long.push({ left: length - local, overflow: page.readUInt32BE(at + local), local: bytes })
    } else onRow?.(Buffer.from(page.subarray(at, at + local)))
  }

  #damaged({ skipsDamaged }: Walk): number {
    if (skipsDamaged !== true) throw new DatabaseFormatError(damage)
    this.#damagedPages++
    return 0
  }

  /** Reads a page. A page may be read only once. Returns false if the file has no such page. */
  #load(number: number): boolean {
    if (number < 1 || number > this.pageCount) return false
    const mask = 1 << (number & 7)
    if ((this.#seen[number >> 3]! & mask) !== 0) throw new DatabaseFormatError('uses a page twice')
    this.#seen[number >> 3]! |= mask
    const read = readSync(this.#descriptor, this.#page, 0, this.pageSize, (number - 1) * this.pageSize)
    return read === this.pageSize
  }

  /** The number of bytes stored in the page itself if a payload does not fit. */
  #localLength(length: number, max: number): number {
    const min = Math.floor(((this.#usable - 12) * 32) / 255) - 23
    const candidate = min + ((length - min) % (this.#usable - 4))
    return candidate <= max ? candidate : min
  }

  #overflow({ left: total, overflow, local }: Cell, reads: boolean): Buffer {
    const parts = [local]
    let next = overflow
    for (let left = total; left > 0; left -= this.#usable - 4) {
      if (!this.#load(next)) throw new DatabaseFormatError(damage)
      next = this.#page.readUInt32BE(0)
      if (reads) parts.push(Buffer.from(this.#page.subarray(4, 4 + Math.min(left, this.#usable - 4))))
    }
    return reads ? Buffer.concat(parts) : nothing
  }
}

/** A payload with `left` bytes in overflow pages. */
type Cell = { left: number; overflow: number; local: Buffer }

const damage = 'is damaged'
const nothing = Buffer.alloc(0)

/**
 * Returns the values of a row.
 *
 * @throws DatabaseFormatError
 */
export function readRecord(payload: Buffer): Value[] {
  const headerEnd = varint(payload, 0)
  if (headerEnd > payload.length) throw new DatabaseFormatError(damage)
  const values: Value[] = []
  let at = headerEnd
  for (let position = varintLength(payload, 0); position < headerEnd; position += varintLength(payload, position)) {
    const type = varint(payload, position)
    const length = lengthOf(type)
    if (at + length > payload.length) throw new DatabaseFormatError(damage)
    values.push(readValue(type, payload.subarray(at, at + length)))
    at += length
  }
  return values
}

const integerLengths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0] as const

function lengthOf(type: number): number {
  if (type === 10 || type === 11) throw new DatabaseFormatError(damage)
  return type < 10 ? integerLengths[type]! : Math.floor((type - 12) / 2)
}

function readValue(type: number, bytes: Buffer): Value {
  if (type >= 12) return { type: type % 2 === 0 ? 'blob' : 'text', bytes: Buffer.from(bytes) }
  if (type === 0) return null
  if (type === 7) return bytes.readDoubleBE()
  if (type === 8 || type === 9) return type - 8
  return type === 6 ? bytes.readBigInt64BE() : bytes.readIntBE(0, bytes.length)
}

/** Reads an integer of one to nine bytes. A nine-byte value exceeds every file size. */
function varint(bytes: Buffer, at: number): number {
  let value = 0
  for (let i = 0; i < 8; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) throw new DatabaseFormatError(damage)
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return value
  }
  return Number.MAX_SAFE_INTEGER
}

function varintLength(bytes: Buffer, at: number): number {
  for (let i = 0; i < 8; i++) if (bytes[at + i]! < 0x80) return i + 1
  return 9
}

/** Why a file is rejected. The message completes a sentence that starts with the file name. */
export class DatabaseFormatError extends LatchkeyError<'not_a_wallet'> {
  override name = 'DatabaseFormatError'

  constructor(message: string) {
    super('not_a_wallet', message, { hint: fileErrors.not_a_wallet.hint })
  }
}
