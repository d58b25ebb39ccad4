/**
 * Reads the rows of a table in the bytes of an SQLite database. Participation keys come in this format, from anybody
 * who may use the node. Only rows are read, so views, triggers and indexes of the file have no effect.
 */
import { LatchkeyError } from '@latchkey/algorand'

export type Column = null | bigint | string | Uint8Array

const magic = 'SQLite format 3\0'
const headerBytes = 100
const leafTable = 0x0d
const interiorTable = 0x05
const maxColumns = 100
/** The maximum depth of a tree, more than the largest table has. */
const maxDepth = 20
/** The maximum number of tables and indexes, more than the database of a participation key has. */
const maxTables = 100

export class SqliteFile {
  readonly #bytes: Buffer
  readonly #pageBytes: number
  /** The bytes of a page without those reserved at its end. */
  readonly #usableBytes: number
  /**
   * The number of pages that may still be read. A tree contains each once, so a file with a cycle of pages ends here.
   */
  #pagesLeft: number

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (this.#bytes.length < headerBytes || this.#bytes.toString('latin1', 0, magic.length) !== magic) {
      throw new ParticipationError('file is not a database')
    }
    const size = this.#bytes.readUInt16BE(16)
    this.#pageBytes = size === 1 ? 65_536 : size
    this.#usableBytes = this.#pageBytes - this.#bytes[20]!
    // Once for the list of tables, and once for the table.
    this.#pagesLeft = 2 * (this.#bytes.length / this.#pageBytes)
    if (this.#pageBytes < 512 || (this.#pageBytes & (this.#pageBytes - 1)) !== 0 || this.#usableBytes < 480)
      throw damaged()
  }

  /**
   * Yields the rows of a table in the order of their ids, or returns undefined if the table does not exist. Each row is
   * read on demand: a page can refer to the same long row tens of thousands of times, which together would far exceed
   * the file size.
   */
  rows(table: string): Generator<Column[]> | undefined {
    let tables = 0
    for (const [type, name, , root] of this.#rows(1, 0)) {
      if (type === 'table' && name === table && typeof root === 'bigint') return this.#rows(Number(root), 0)
      tables++
      if (tables > maxTables) throw damaged()
    }
    return undefined
  }

  *#rows(page: number, depth: number): Generator<Column[]> {
    if (depth > maxDepth) throw damaged()
    const bytes = this.#page(page)
    const start = page === 1 ? headerBytes : 0
    const type = bytes[start]
    if (type !== leafTable && type !== interiorTable) throw damaged()
    const pointers = start + (type === leafTable ? 8 : 12)
    const cells = at(bytes, start + 3, 2)
    for (let cell = 0; cell < cells; cell++) {
      const position = at(bytes, pointers + 2 * cell, 2)
      if (type === interiorTable) yield* this.#rows(at(bytes, position, 4), depth + 1)
      else yield recordOf(this.#payload(bytes, position))
    }
    if (type === interiorTable) yield* this.#rows(at(bytes, start + 8, 4), depth + 1)
  }

  #page(number: number): Buffer {
    const start = (number - 1) * this.#pageBytes
    this.#pagesLeft--
    if (number < 1 || start + this.#pageBytes > this.#bytes.length || this.#pagesLeft < 0) throw damaged()
    return this.#bytes.subarray(start, start + this.#usableBytes)
  }

  /** Returns the content of a cell. The part that does not fit the page is in a chain of further pages. */
  #payload(page: Buffer, position: number): Buffer {
    const cursor = new Cursor(page, position)
    const length = Number(cursor.varint())
    cursor.varint()
    if (length > this.#bytes.length) throw damaged()
    const local = localBytes(length, this.#usableBytes)
    const parts = [cursor.take(local)]
    let next = local === length ? 0 : Number(cursor.uint(4))
    for (let left = length - local; left > 0; ) {
      const overflow = this.#page(next)
      const part = overflow.subarray(4, Math.min(4 + left, overflow.length))
      parts.push(part)
      left -= part.length
      next = at(overflow, 0, 4)
    }
    return Buffer.concat(parts)
  }
}

/** How much of a row is in its own page, according to the file format. */
function localBytes(length: number, usable: number): number {
  const most = usable - 35
  if (length <= most) return length
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const wanted = least + ((length - least) % (usable - 4))
  return wanted <= most ? wanted : least
}

function recordOf(payload: Buffer): Column[] {
  const header = new Cursor(payload, 0)
  const headerEnd = Number(header.varint())
  const values = new Cursor(payload, headerEnd)
  const columns: Column[] = []
  while (header.position < headerEnd) {
    columns.push(columnOf(Number(header.varint()), values))
    if (columns.length > maxColumns) throw damaged()
  }
  return columns
}

const integerBytes = [0, 1, 2, 3, 4, 6, 8]

function columnOf(type: number, values: Cursor): Column {
  if (type === 0) return null
  if (type <= 6) return BigInt.asIntN(8 * integerBytes[type]!, values.uint(integerBytes[type]!))
  if (type === 7) return realOf(values.take(8).readDoubleBE())
  if (type === 8 || type === 9) return BigInt(type - 8)
  if (type < 12) throw damaged()
  const bytes = values.take(Math.floor((type - 12) / 2))
  return type % 2 === 0 ? new Uint8Array(bytes) : bytes.toString('utf8')
}

function realOf(value: number): bigint {
  if (!Number.isFinite(value)) throw damaged()
  return BigInt(Math.trunc(value))
}

class Cursor {
  readonly #bytes: Buffer
  position: number

  constructor(bytes: Buffer, position: number) {
    this.#bytes = bytes
    this.position = position
  }

  take(length: number): Buffer {
    const end = this.position + length
    if (!(length >= 0) || end > this.#bytes.length) throw damaged()
    const part = this.#bytes.subarray(this.position, end)
    this.position = end
    return part
  }

  uint(length: number): bigint {
    return this.take(length).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  }

  /** Seven bits in each byte, and all eight in the ninth. */
  varint(): bigint {
    let value = 0n
    for (let index = 0; index < 9; index++) {
      const [byte] = this.take(1)
      if (index === 8) return (value << 8n) | BigInt(byte!)
      value = (value << 7n) | BigInt(byte! & 0x7f)
      if (byte! < 0x80) return value
    }
    return value
  }
}

function at(bytes: Buffer, position: number, length: number): number {
  if (position + length > bytes.length) throw damaged()
  return bytes.readUIntBE(position, length)
}

/** The error text of SQLite. */
function damaged(): ParticipationError {
  return new ParticipationError('database disk image is malformed')
}

/** A participation key that the node rejects. This error never leaves the package. */
export class ParticipationError extends LatchkeyError<'request_rejected'> {
  override name = 'ParticipationError'

  constructor(message: string) {
    super('request_rejected', message, { hint: 'use a file created by goal or algokey' })
  }
}
