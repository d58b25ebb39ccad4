/**
 * The addresses in one table of a wallet file, as text in byte order. Encoding an address costs a hash, so the list is
 * cached: the daemon's own changes update it in place, and it is read again only after another program wrote to the
 * file. Reading goes page by page, so that the daemon can serve other requests in between.
 */
import { Address } from '@latchkey/algorand'
import { KmdError } from '../errors.js'

export type AddressSource = {
  /** Stays the same while no other program changes the file. */
  foreignVersion(): string
  /** Returns up to `limit` addresses after the given one, in byte order. */
  page(after: Uint8Array | undefined, limit: number): Uint8Array[]
  /** Runs `work` on a consistent state of the file, regardless of other programs. */
  snapshot(work: () => void): void
}

/** A page takes a few milliseconds. */
const pageLength = 1_000
/** Limits restarts, so that programs that write continuously cannot keep a list from being completed. */
const maxRestarts = 3

export class AddressList {
  readonly #source: AddressSource
  #version: string | undefined
  #texts: string[] = []
  #last: Uint8Array | undefined
  #isComplete = false
  #restarts = 0
  #list: readonly string[] | undefined

  constructor(source: AddressSource) {
    this.#source = source
  }

  /**
   * Reads the next missing page. Returns the list once it is complete. If nothing changed, the list is the same object
   * as before.
   */
  read(): readonly string[] | undefined {
    this.#restartIfChanged()
    if (this.#restarts > maxRestarts) this.#source.snapshot(() => this.#readAll())
    else if (!this.#isComplete) {
      this.#readPage()
      // A page read after a change does not belong to the same state as earlier pages.
      if (this.#isComplete) this.#restartIfChanged()
    }
    if (!this.#isComplete) return undefined
    this.#restarts = 0
    this.#list ??= Object.freeze([...this.#texts])
    return this.#list
  }

  /** Adds an address stored by the daemon. Addresses beyond the pages read so far arrive with a later page. */
  insert(address: Uint8Array): void {
    if (!this.#covers(address)) return
    const text = Address.encode(address)
    const at = this.#position(text)
    if (this.#texts[at] === text) return
    this.#texts.splice(at, 0, text)
    this.#list = undefined
  }

  /** Removes an address deleted by the daemon. */
  remove(address: Uint8Array): void {
    if (!this.#covers(address)) return
    const text = Address.encode(address)
    const at = this.#position(text)
    if (this.#texts[at] !== text) return
    this.#texts.splice(at, 1)
    this.#list = undefined
  }

  #covers(address: Uint8Array): boolean {
    if (address.length !== addressLength || this.#version === undefined) return false
    return this.#isComplete || (this.#last !== undefined && Buffer.compare(address, this.#last) <= 0)
  }

  #restartIfChanged(): void {
    const version = this.#source.foreignVersion()
    if (version === this.#version) return
    if (this.#version !== undefined) this.#restarts++
    this.#version = version
    this.#texts = []
    this.#last = undefined
    this.#isComplete = false
    this.#list = undefined
  }

  #readAll(): void {
    this.#restartIfChanged()
    while (!this.#isComplete) this.#readPage()
  }

  #readPage(): void {
    const page = this.#source.page(this.#last, pageLength)
    for (const address of page) {
      // A damaged index can return earlier rows again, endlessly.
      if (this.#last !== undefined && Buffer.compare(address, this.#last) <= 0) throw new KmdError('damaged_blob')
      this.#texts.push(Address.encode(address))
      this.#last = address
    }
    this.#isComplete = page.length < pageLength
  }

  /** The index of the address, or its insertion point. */
  #position(text: string): number {
    let [low, high] = [0, this.#texts.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(this.#texts[middle]!, text)) low = middle + 1
      else high = middle
    }
    return low
  }
}

const addressLength = 32

/** Compares bytes, not characters: base32 sorts the digits 2 to 7 after the letters. */
function isBefore(a: string, b: string): boolean {
  for (let i = 0; i < a.length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference < 0
  }
  return false
}

const rank = (code: number): number => (code < 0x40 ? code + 0x40 : code)
