/** One member of a JSON document that nobody has judged yet, and where it stands: whatever is wrong is said by name. */
import { Address, Hash } from '@latchkey/algorand'
import * as Consensus from '../../ledger/Consensus.js'
import * as Key from '../../ledger/Key.js'

const unsignedText = /^(?:0|[1-9][0-9]{0,19})$/
const signedText = /^(?:0|-?[1-9][0-9]{0,19})$/
const keyBytes = 32

export class Member {
  readonly #value: unknown
  /** Put together only when somebody is told: a document has millions of members. */
  readonly #place: () => string

  constructor(value: unknown, place: () => string = () => 'document') {
    this.#value = value
    this.#place = place
  }

  /** An object with all of the required members, any of the optional ones and no others. */
  object<Required extends string, Optional extends string = never>(
    required: readonly Required[],
    optional: readonly Optional[] = [],
  ): Members<Required, Optional> {
    const value = this.#value
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.refuse('is not an object')
    let found = 0
    const member = (name: string): Member | undefined => {
      if (!Object.hasOwn(value, name)) return undefined
      found++
      return new Member((value as Record<string, unknown>)[name], () => this.#inside(`.${name}`))
    }
    const members: Record<string, Member | undefined> = {}
    for (const name of required) members[name] = member(name) ?? this.refuse(`has no ${name}`)
    for (const name of optional) members[name] = member(name)
    const names = Object.keys(value)
    if (names.length !== found) {
      const unknown = names.find((name) => members[name] === undefined)!
      this.refuse(`has a member that is not known: ${JSON.stringify(unknown.slice(0, 32))}`)
    }
    return members as Members<Required, Optional>
  }

  list(): Member[] {
    const value = this.#value
    if (!Array.isArray(value)) return this.refuse('is not a list')
    return value.map((one, index) => new Member(one, () => this.#inside(`[${index}]`)))
  }

  text(): string {
    return typeof this.#value === 'string' ? this.#value : this.refuse('is not text')
  }

  oneOf<Word extends string>(words: readonly Word[]): Word {
    return words.find((word) => word === this.#value) ?? this.refuse(`is none of ${words.join(', ')}`)
  }

  boolean(): boolean {
    return typeof this.#value === 'boolean' ? this.#value : this.refuse('is neither true nor false')
  }

  unsigned(max: bigint = Consensus.maxUint64): bigint {
    const text = this.text()
    if (!unsignedText.test(text)) return this.refuse('is not an unsigned integer written as text')
    const value = BigInt(text)
    return value <= max ? value : this.refuse(`is more than ${max}`)
  }

  signed(): bigint {
    const text = this.text()
    if (!signedText.test(text)) return this.refuse('is not an integer written as text')
    const value = BigInt(text)
    return -Consensus.maxUint64 <= value && value <= Consensus.maxUint64 ? value : this.refuse('is out of range')
  }

  address(): Key.Key {
    const text = this.text()
    try {
      return Key.fromAddress(text)
    } catch (error) {
      if (error instanceof Address.AddressError) return this.refuse(`is not an address: ${error.message}`)
      throw error
    }
  }

  transactionId(): Key.Key {
    const digest = Hash.fromText(this.text())
    return digest === undefined ? this.refuse('is not the id of a transaction') : Key.of(digest)
  }

  /** Bytes in their one spelling in base64. */
  bytes(): Uint8Array {
    const text = this.text()
    const bytes = Buffer.from(text, 'base64')
    if (bytes.toString('base64') !== text) return this.refuse('is not base64')
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  bytesOf(length: number): Uint8Array {
    const bytes = this.bytes()
    return bytes.length === length ? bytes : this.refuse(`has ${bytes.length} bytes, not ${length}`)
  }

  bytesUpTo(max: number): Uint8Array {
    const bytes = this.bytes()
    return bytes.length <= max ? bytes : this.refuse(`has ${bytes.length} bytes, more than ${max}`)
  }

  key(): Key.Key {
    return Key.of(this.bytesOf(keyBytes))
  }

  refuse(reason: string): never {
    throw new DumpError(this.#place(), reason)
  }

  #inside(name: string): string {
    return `${this.#place()}${name}`
  }
}

type Members<Required extends string, Optional extends string> = { readonly [name in Required]: Member } & {
  readonly [name in Optional]?: Member
}

/** What `bytes` reads. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Adds what must not be there yet. */
export function addOnce<K, V>(map: Map<K, V>, key: K, value: V, member: Member): void {
  if (map.has(key)) member.refuse('is there twice')
  map.set(key, value)
}

export class DumpError extends Error {
  override name = 'DumpError'
  /** What is wrong, by its name in the document: `document.accounts[3].microAlgos`. */
  readonly member: string

  constructor(member: string, reason: string) {
    super(`${member} ${reason}`)
    this.member = member
  }
}
