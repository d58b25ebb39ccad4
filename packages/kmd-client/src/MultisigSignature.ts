/** A multisig signature under way, as objects and as the msgpack that daemons answer with. */
import type { Members } from './Body.js'
import { base64 } from './Body.js'
import * as PublicKey from './PublicKey.js'

export type MultisigSignature = {
  version: number
  threshold: number
  /** One for each member, in the order that the address stands for. */
  subsigs: readonly { publicKey: PublicKey.PublicKey; signature?: Uint8Array }[]
}

export type DecodedMultisigSignature = {
  version: number
  threshold: number
  subsigs: { publicKey: Uint8Array; signature?: Uint8Array }[]
}

const signatureLength = 64
const publicKeyLength = 32

/** The form that every daemon reads; undefined where it is none. */
export function write(signature: MultisigSignature): Members | undefined {
  const subsig: Members[] = []
  for (const { publicKey, signature: s } of signature.subsigs) {
    const pk = PublicKey.bytes(publicKey)
    if (pk === undefined || (s !== undefined && s.length !== signatureLength)) return undefined
    subsig.push(s === undefined ? { pk: base64(pk) } : { pk: base64(pk), s: base64(s) })
  }
  return { subsig, thr: signature.threshold, v: signature.version }
}

/** Reads what signing answered with; undefined where it is something else. */
export function decode(msgpack: Uint8Array): DecodedMultisigSignature | undefined {
  const reader = new Reader(msgpack)
  try {
    const decoded = readSignature(reader)
    return reader.isAtEnd ? decoded : undefined
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

function readSignature(reader: Reader): DecodedMultisigSignature {
  const signature: DecodedMultisigSignature = { version: 0, threshold: 0, subsigs: [] }
  for (let left = reader.map(); left > 0; left--) {
    const name = reader.text()
    if (name === 'v') signature.version = reader.uint()
    else if (name === 'thr') signature.threshold = reader.uint()
    else if (name === 'subsig') {
      for (let slots = reader.list(); slots > 0; slots--) signature.subsigs.push(readSlot(reader))
    } else throw new Unreadable()
  }
  return signature
}

function readSlot(reader: Reader) {
  const slot: { publicKey: Uint8Array; signature?: Uint8Array } = { publicKey: new Uint8Array() }
  for (let left = reader.map(); left > 0; left--) {
    const name = reader.text()
    if (name === 'pk') slot.publicKey = reader.bytes(publicKeyLength)
    else if (name === 's') slot.signature = reader.bytes(signatureLength)
    else throw new Unreadable()
  }
  if (slot.publicKey.length === 0) throw new Unreadable()
  return slot
}

/** As much of msgpack as there is in a multisig signature. */
class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    // A plain copy: slices of a Buffer would share its memory.
    this.#bytes = new Uint8Array(bytes)
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  map(): number {
    const tag = this.#next()
    if (tag >> 4 === 0x8) return tag & 15
    throw new Unreadable()
  }

  list(): number {
    const tag = this.#next()
    if (tag >> 4 === 0x9) return tag & 15
    if (tag === 0xdc) return this.#next() * 256 + this.#next()
    throw new Unreadable()
  }

  text(): string {
    const tag = this.#next()
    if (tag >> 5 !== 0x5) throw new Unreadable()
    return Buffer.from(this.#take(tag & 31)).toString('latin1')
  }

  uint(): number {
    const tag = this.#next()
    if (tag < 0x80) return tag
    if (tag === 0xcc) return this.#next()
    throw new Unreadable()
  }

  bytes(length: number): Uint8Array {
    if (this.#next() !== 0xc4 || this.#next() !== length) throw new Unreadable()
    return this.#take(length)
  }

  #next(): number {
    return this.#take(1)[0]!
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new Unreadable()
    const taken = this.#bytes.slice(this.#at, end)
    this.#at = end
    return taken
  }
}

class Unreadable extends Error {}
