/**
 * A msgpack reader that preserves the encoding: text or binary, and the length of each header. The reader supports only
 * the types used in wallet files and signatures, and refuses every header that is longer than necessary.
 */
import assert from 'node:assert/strict'

export type Node =
  | { type: 'map'; entries: [name: string, value: Node][] }
  | { type: 'array'; items: Node[] }
  | { type: 'bin'; bytes: Buffer }
  | { type: 'str'; text: string }
  | { type: 'uint'; value: bigint }
  | { type: 'bool'; value: boolean }

/** Parses one value that fills all of the bytes. */
export function parse(bytes: Uint8Array): Node {
  const reader = new Reader(Buffer.from(bytes))
  const node = reader.node()
  assert.equal(reader.at, bytes.length, 'bytes after the msgpack value')
  return node
}

export function parseMap(bytes: Uint8Array): { names: string[]; members: Map<string, Node> } {
  const node = parse(bytes)
  assert.ok(node.type === 'map', `a map was expected, not ${node.type}`)
  return { names: node.entries.map(([name]) => name), members: new Map(node.entries) }
}

export function bin(node: Node | undefined): Buffer {
  assert.ok(node?.type === 'bin', `binary was expected, not ${node?.type}`)
  return node.bytes
}

export function str(node: Node | undefined): string {
  assert.ok(node?.type === 'str', `text was expected, not ${node?.type}`)
  return node.text
}

export function uint(node: Node | undefined): number {
  assert.ok(node?.type === 'uint', `an unsigned integer was expected, not ${node?.type}`)
  return Number(node.value)
}

export function bool(node: Node | undefined): boolean {
  assert.ok(node?.type === 'bool', `true or false was expected, not ${node?.type}`)
  return node.value
}

export function items(node: Node | undefined): Node[] {
  assert.ok(node?.type === 'array', `an array was expected, not ${node?.type}`)
  return node.items
}

class Reader {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  node(): Node {
    const first = this.#uint(1)
    if (first < 0x80) return { type: 'uint', value: BigInt(first) }
    if (first < 0x90) return this.#map(first & 0x0f)
    if (first < 0xa0) return this.#array(first & 0x0f)
    if (first < 0xc0) return this.#str(first & 0x1f)
    switch (first) {
      case 0xc2:
      case 0xc3:
        return { type: 'bool', value: first === 0xc3 }
      case 0xc4:
        return { type: 'bin', bytes: this.#take(this.#uint(1)) }
      case 0xc5:
        return { type: 'bin', bytes: this.#take(this.#atLeast(256, 2)) }
      case 0xcc:
        return { type: 'uint', value: BigInt(this.#atLeast(128, 1)) }
      case 0xcd:
        return { type: 'uint', value: BigInt(this.#atLeast(256, 2)) }
      case 0xce:
        return { type: 'uint', value: BigInt(this.#atLeast(65536, 4)) }
      case 0xcf:
        return { type: 'uint', value: this.#take(8).readBigUInt64BE() }
      case 0xd9:
        return this.#str(this.#atLeast(32, 1))
      case 0xdc:
        return this.#array(this.#atLeast(16, 2))
      case 0xde:
        return this.#map(this.#atLeast(16, 2))
      default:
        throw new assert.AssertionError({ message: `unexpected msgpack byte 0x${first.toString(16)}` })
    }
  }

  #map(length: number): Node {
    const entries = Array.from({ length }, (): [string, Node] => [str(this.node()), this.node()])
    return { type: 'map', entries }
  }

  #array(length: number): Node {
    return { type: 'array', items: Array.from({ length }, () => this.node()) }
  }

  #str(length: number): Node {
    return { type: 'str', text: this.#take(length).toString() }
  }

  #uint(size: number): number {
    return this.#take(size).readUIntBE(0, size)
  }

  /** A value that fits a shorter header is not in the form that the Go daemon writes. */
  #atLeast(smallest: number, size: number): number {
    const value = this.#uint(size)
    assert.ok(value >= smallest, `${value} in ${size} bytes is not the shortest form`)
    return value
  }

  #take(length: number): Buffer {
    assert.ok(this.at + length <= this.#bytes.length, 'the msgpack value is cut off')
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }
}
