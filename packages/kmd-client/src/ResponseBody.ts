/**
 * Reads responses on either wire: bytes as base64 or integers, empty members present or absent. Checks every member,
 * because any program may listen at the address.
 */
import { Bytes, Json } from '@latchkey/algorand'
import { KmdClientError } from './KmdClientError.js'

/** A response with members of the given names. */
export class ResponseBody<Name extends string = string> {
  readonly #operation: string
  readonly #members: Json.Members

  constructor(operation: string, members: Json.Members) {
    this.#operation = operation
    this.#members = members
  }

  get members(): Json.Members {
    return this.#members
  }

  text(name: Name): string {
    const value = this.#members[name]
    return typeof value === 'string' ? value : this.#fail(name)
  }

  texts(name: Name): string[] {
    return this.#list(name, (value) => (typeof value === 'string' ? value : this.#fail(name)))
  }

  /** False if the member is absent. */
  bool(name: Name): boolean {
    const value = this.#members[name] ?? false
    return typeof value === 'boolean' ? value : this.#fail(name)
  }

  /** 0 if the member is absent. */
  integer(name: Name): number {
    const value = this.#members[name] ?? 0
    return Number.isSafeInteger(value) ? (value as number) : this.#fail(name)
  }

  oneOf<T extends string>(name: Name, choices: readonly T[]): T {
    const value = this.#members[name]
    return choices.find((choice) => choice === value) ?? this.#fail(name)
  }

  /** A whole number in decimal text. */
  bigint(name: Name): bigint {
    const value = this.#members[name]
    return typeof value === 'string' && /^-?[0-9]{1,40}$/.test(value) ? BigInt(value) : this.#fail(name)
  }

  bytes(name: Name, length?: number): Uint8Array {
    return this.#readBytes(name, this.#members[name], length)
  }

  bytesList(name: Name, length: number): Uint8Array[] {
    return this.#list(name, (value) => this.#readBytes(name, value, length))
  }

  object(name: Name): ResponseBody {
    return this.#readObject(name, this.#members[name])
  }

  /** A member with a parser of its own, which throws for an invalid value. */
  parse<T>(name: Name, parse: (value: unknown, path: string) => T): T {
    try {
      return parse(this.#members[name], name)
    } catch {
      return this.#fail(name)
    }
  }

  objects(name: Name): ResponseBody[] {
    return this.#list(name, (value) => this.#readObject(name, value))
  }

  #list<T>(name: string, read: (value: unknown) => T): T[] {
    const value = this.#members[name] ?? []
    return Array.isArray(value) ? value.map(read) : this.#fail(name)
  }

  #readObject(name: string, value: unknown): ResponseBody {
    return Json.isObject(value) ? new ResponseBody(this.#operation, value) : this.#fail(name)
  }

  #readBytes(name: string, value: unknown, length: number | undefined): Uint8Array {
    const bytes =
      typeof value === 'string' ? Bytes.fromBase64(value) : Array.isArray(value) ? fromIntegers(value) : undefined
    if (bytes === undefined || (length !== undefined && bytes.length !== length)) return this.#fail(name)
    return bytes
  }

  /** The message does not quote the value, because it may be a key. */
  #fail(name: string): never {
    const message = `the response to ${this.#operation} has no valid "${name}"`
    throw new KmdClientError('invalid_response', message, { operation: this.#operation, status: 200 })
  }
}

function fromIntegers(values: readonly unknown[]): Uint8Array | undefined {
  const isByte = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256
  return values.every(isByte) ? Uint8Array.from(values as number[]) : undefined
}
