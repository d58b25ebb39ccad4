/** As much of MessagePack as transactions have. For taking apart what was pasted; the daemon reads it properly. */
export type Value = null | boolean | bigint | string | Uint8Array | readonly Value[] | ReadonlyMap<string, Value>

const deepest = 12

/** One value, and where it ends. */
export function read(bytes: Uint8Array, at = 0): { value: Value; end: number } {
  const reader = new Reader(bytes, at)
  return { value: reader.value(0), end: reader.at }
}

class Reader {
  at: number
  readonly #bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.at = at
  }

  value(depth: number): Value {
    if (depth > deepest) throw new RangeError('too deep')
    const tag = this.#uint(1)
    if (tag <= 0x7f) return BigInt(tag)
    if (tag <= 0x8f) return this.#map(tag & 15, depth)
    if (tag <= 0x9f) return this.#list(tag & 15, depth)
    if (tag <= 0xbf) return this.#text(tag & 31)
    if (tag >= 0xe0) return BigInt(tag - 256)
    if (tag === 0xc0) return null
    if (tag === 0xc2 || tag === 0xc3) return tag === 0xc3
    if (tag >= 0xc4 && tag <= 0xc6) return this.#take(this.#uint(1 << (tag - 0xc4)))
    if (tag >= 0xcc && tag <= 0xcf) return this.#number(1 << (tag - 0xcc))
    if (tag >= 0xd9 && tag <= 0xdb) return this.#text(this.#uint(1 << (tag - 0xd9)))
    if (tag === 0xdc || tag === 0xdd) return this.#list(this.#uint(tag === 0xdc ? 2 : 4), depth)
    if (tag === 0xde || tag === 0xdf) return this.#map(this.#uint(tag === 0xde ? 2 : 4), depth)
    throw new RangeError('no such value in a transaction')
  }

  #map(count: number, depth: number): Value {
    const map = new Map<string, Value>()
    for (let i = 0; i < count; i++) {
      const key = this.value(depth + 1)
      map.set(typeof key === 'string' ? key : '', this.value(depth + 1))
    }
    return map
  }

  #list(count: number, depth: number): Value {
    const list: Value[] = []
    for (let i = 0; i < count; i++) list.push(this.value(depth + 1))
    return list
  }

  #text(length: number): string {
    return new TextDecoder().decode(this.#take(length))
  }

  #number(width: number): bigint {
    if (width < 8) return BigInt(this.#uint(width))
    const value = this.#view.getBigUint64(this.at)
    this.at += 8
    return value
  }

  #uint(width: number): number {
    const view = this.#view
    const value = width === 1 ? view.getUint8(this.at) : width === 2 ? view.getUint16(this.at) : view.getUint32(this.at)
    this.at += width
    return value
  }

  #take(length: number): Uint8Array {
    if (this.at + length > this.#bytes.length) throw new RangeError('cut short')
    const taken = this.#bytes.subarray(this.at, this.at + length)
    this.at += length
    return taken
  }
}
