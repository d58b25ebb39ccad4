/** A value in a JSON document that is validated while it is read, with its path for error messages. */
import { Address, Hash, Json } from '@latchkey/algorand'
import { DumpError } from '../../errors.js'
import * as Consensus from '../../ledger/Consensus.js'
import * as MapKey from '../../ledger/MapKey.js'

const unsignedText = /^(?:0|[1-9][0-9]{0,19})$/
const signedText = /^(?:0|-?[1-9][0-9]{0,19})$/
const keyBytes = 32

export class JsonCursor {
  readonly #value: unknown
  /** Computed only for an error, because a document has millions of members. */
  readonly #path: () => string

  constructor(value: unknown, path: () => string = () => 'document') {
    this.#value = value
    this.#path = path
  }

  /** An object with all required members, any of the optional ones, and no others. */
  object<Required extends string, Optional extends string = never>(
    required: readonly Required[],
    optional: readonly Optional[] = [],
  ): Members<Required, Optional> {
    const value = this.#value
    if (!Json.isObject(value)) return this.fail('is not an object')
    let found = 0
    const member = (name: string): JsonCursor | undefined => {
      if (!Object.hasOwn(value, name)) return undefined
      found++
      return new JsonCursor(value[name], () => this.#inside(`.${name}`))
    }
    const members: Record<string, JsonCursor | undefined> = {}
    for (const name of required) members[name] = member(name) ?? this.fail(`has no ${name}`)
    for (const name of optional) members[name] = member(name)
    const names = Object.keys(value)
    if (names.length !== found) {
      const unknown = names.find((name) => members[name] === undefined)!
      this.fail(`has an unknown member: ${JSON.stringify(unknown.slice(0, 32))}`)
    }
    return members as Members<Required, Optional>
  }

  list(): JsonCursor[] {
    const value = this.#value
    if (!Array.isArray(value)) return this.fail('is not a list')
    return value.map((one, index) => new JsonCursor(one, () => this.#inside(`[${index}]`)))
  }

  text(): string {
    return typeof this.#value === 'string' ? this.#value : this.fail('is not a string')
  }

  oneOf<Word extends string>(words: readonly Word[]): Word {
    return words.find((word) => word === this.#value) ?? this.fail(`is not one of ${words.join(', ')}`)
  }

  boolean(): boolean {
    return typeof this.#value === 'boolean' ? this.#value : this.fail('is neither true nor false')
  }

  unsigned(max: bigint = Consensus.maxUint64): bigint {
    const text = this.text()
    if (!unsignedText.test(text)) return this.fail('is not an unsigned integer in a string')
    const value = BigInt(text)
    return value <= max ? value : this.fail(`is more than ${max}`)
  }

  signed(): bigint {
    const text = this.text()
    if (!signedText.test(text)) return this.fail('is not an integer in a string')
    const value = BigInt(text)
    return -Consensus.maxUint64 <= value && value <= Consensus.maxUint64 ? value : this.fail('is out of range')
  }

  address(): MapKey.MapKey {
    const text = this.text()
    try {
      return MapKey.fromAddress(text)
    } catch (error) {
      if (error instanceof Address.AddressError) return this.fail(`is not an address: ${error.message}`)
      throw error
    }
  }

  transactionId(): MapKey.MapKey {
    const digest = Hash.fromText(this.text())
    return digest === undefined ? this.fail('is not the id of a transaction') : MapKey.of(digest)
  }

  /** Bytes in canonical base64. */
  bytes(): Uint8Array {
    const text = this.text()
    const bytes = Buffer.from(text, 'base64')
    if (bytes.toString('base64') !== text) return this.fail('is not base64')
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  bytesOf(length: number): Uint8Array {
    const bytes = this.bytes()
    return bytes.length === length ? bytes : this.fail(`has ${bytes.length} bytes, not ${length}`)
  }

  bytesUpTo(max: number): Uint8Array {
    const bytes = this.bytes()
    return bytes.length <= max ? bytes : this.fail(`has ${bytes.length} bytes, more than ${max}`)
  }

  key(): MapKey.MapKey {
    return MapKey.of(this.bytesOf(keyBytes))
  }

  fail(reason: string): never {
    const member = this.#path()
    throw new DumpError('invalid_dump', `${member} ${reason}`, { member })
  }

  #inside(name: string): string {
    return `${this.#path()}${name}`
  }
}

type Members<Required extends string, Optional extends string> = { readonly [name in Required]: JsonCursor } & {
  readonly [name in Optional]?: JsonCursor
}

/** The text that `bytes` reads. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Adds an entry whose key must be new. */
export function addOnce<K, V>(map: Map<K, V>, key: K, value: V, member: JsonCursor): void {
  if (map.has(key)) member.fail('is a duplicate')
  map.set(key, value)
}
