/**
 * The addresses of one table of a wallet file as texts, in byte order. Encoding an address costs a hash, so the list is
 * kept: changes by the daemon are made to it in place, and it is read again only after another program wrote to the file.
 * Reading goes page by page, so that the daemon can serve others meanwhile.
 */
import { Address } from '@latchkey/algorand'
import { KmdError } from '../errors.js'

export type AddressSource = {
  /** Stays the same for as long as no other program changes the file. */
  foreignVersion(): string
  /** Up to `limit` addresses after the given one, in byte order. */
  page(after: Uint8Array | undefined, limit: number): Uint8Array[]
  /** Runs `work` on one state of the file, whatever other programs do. */
  snapshot(work: () => void): void
}

/** A page takes a few milliseconds. */
const pageLength = 1_000
/** Other programs that write all the time must not keep a list from ever being complete. */
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
   * Reads one page where pages are missing. Returns the list if it is complete then: the same as before where nothing
   * changed.
   */
  read(): readonly string[] | undefined {
    this.#restartIfChanged()
    if (this.#restarts > maxRestarts) this.#source.snapshot(() => this.#readAll())
    else if (!this.#isComplete) {
      this.#readPage()
      // A page that was read after a change is not of the same state as those before.
      if (this.#isComplete) this.#restartIfChanged()
    }
    if (!this.#isComplete) return undefined
    this.#restarts = 0
    this.#list ??= Object.freeze([...this.#texts])
    return this.#list
  }

  /** Adds what the daemon stored. Addresses behind the pages that were read come with a later page. */
  insert(address: Uint8Array): void {
    if (!this.#covers(address)) return
    const text = Address.encode(address)
    const at = this.#position(text)
    if (this.#texts[at] === text) return
    this.#texts.splice(at, 0, text)
    this.#list = undefined
  }

  /** Removes what the daemon deleted. */
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
      // A damaged index can return what it returned before, without end.
      if (this.#last !== undefined && Buffer.compare(address, this.#last) <= 0) throw new KmdError('damaged_blob')
      this.#texts.push(Address.encode(address))
      this.#last = address
    }
    this.#isComplete = page.length < pageLength
  }

  /** Where the address is, or would be. */
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

/** By the bytes, not by the characters: base32 counts the digits 2 to 7 after the letters. */
function isBefore(a: string, b: string): boolean {
  for (let i = 0; i < a.length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference < 0
  }
  return false
}

const rank = (code: number): number => (code < 0x40 ? code + 0x40 : code)
