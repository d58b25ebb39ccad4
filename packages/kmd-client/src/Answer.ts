/**
 * Answers of either wire: bytes as base64 or as integers, empty members there or left out, `error` and `message` there
 * or not. What is there is checked: whatever listens at the address may have sent it.
 */
import { KmdClientError } from './KmdClientError.js'

type Json = { readonly [name: string]: unknown }

export class Answer {
  readonly #operation: string
  readonly #members: Json

  constructor(operation: string, members: Json) {
    this.#operation = operation
    this.#members = members
  }

  get members(): Json {
    return this.#members
  }

  text(name: string): string {
    const value = this.#members[name]
    return typeof value === 'string' ? value : this.#refuse(name)
  }

  texts(name: string): string[] {
    return this.#list(name, (value) => (typeof value === 'string' ? value : this.#refuse(name)))
  }

  /** Left out means false, and zero. */
  bool(name: string): boolean {
    const value = this.#members[name] ?? false
    return typeof value === 'boolean' ? value : this.#refuse(name)
  }

  integer(name: string): number {
    const value = this.#members[name] ?? 0
    return Number.isSafeInteger(value) ? (value as number) : this.#refuse(name)
  }

  bytes(name: string, length?: number): Uint8Array {
    return this.#readBytes(name, this.#members[name], length)
  }

  bytesList(name: string, length: number): Uint8Array[] {
    return this.#list(name, (value) => this.#readBytes(name, value, length))
  }

  object(name: string): Answer {
    return this.#readObject(name, this.#members[name])
  }

  objects(name: string): Answer[] {
    return this.#list(name, (value) => this.#readObject(name, value))
  }

  #list<T>(name: string, read: (value: unknown) => T): T[] {
    const value = this.#members[name] ?? []
    return Array.isArray(value) ? value.map(read) : this.#refuse(name)
  }

  #readObject(name: string, value: unknown): Answer {
    return isObject(value) ? new Answer(this.#operation, value) : this.#refuse(name)
  }

  #readBytes(name: string, value: unknown, length: number | undefined): Uint8Array {
    const bytes = typeof value === 'string' ? fromBase64(value) : Array.isArray(value) ? fromIntegers(value) : undefined
    if (bytes === undefined || (length !== undefined && bytes.length !== length)) return this.#refuse(name)
    return bytes
  }

  /** Without the value: it may be a key. */
  #refuse(name: string): never {
    const message = `the answer to ${this.#operation} has no usable "${name}"; is a kmd listening at the address?`
    throw new KmdClientError(message, { operation: this.#operation, reason: 'answer', status: 200 })
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `Buffer` passes over what is not base64; what does not come out again was not. */
function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? own(bytes) : undefined
}

function fromIntegers(values: readonly unknown[]): Uint8Array | undefined {
  const isByte = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256
  return values.every(isByte) ? Uint8Array.from(values as number[]) : undefined
}

/** Memory of its own: small Buffers share theirs, and the caller may want to wipe a key. */
function own(buffer: Buffer): Uint8Array {
  const bytes = new Uint8Array(buffer)
  buffer.fill(0)
  return bytes
}
