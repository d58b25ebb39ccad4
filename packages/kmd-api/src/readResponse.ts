/** Reads responses on either wire: bytes as base64 or integers, empty members present or absent. */
import { Bytes, Json } from '@latchkey/algorand'
import type { MemberReading, Reading } from './Reading.js'

/** Called with the name of a member that is missing or has a wrong type. */
export type Reject = (name: string) => never

/**
 * Reads the members of a response and names them in camel case. Checks every member, because any program may listen at
 * the address. Ignores members that the reading does not have.
 */
export function readResponse(reading: Reading, json: Json.Members, reject: Reject): { [name: string]: unknown } {
  return Object.fromEntries(
    Object.entries(reading).map(([name, member]) => [camelCase(name), readMember(member, name, json[name], reject)]),
  )
}

function readMember(reading: MemberReading, name: string, value: unknown, reject: Reject): unknown {
  switch (reading) {
    case 'text':
      return typeof value === 'string' ? value : reject(name)
    case 'blank':
      return readMember('text', name, value ?? '', reject)
    case 'bool': {
      const flag = value ?? false
      return typeof flag === 'boolean' ? flag : reject(name)
    }
    case 'uint': {
      const count = value ?? 0
      return Number.isSafeInteger(count) ? count : reject(name)
    }
    case 'integer':
      return typeof value === 'string' && /^\d{1,40}$/.test(value) ? BigInt(value) : reject(name)
    case 'bytes':
      return readBytes(value) ?? reject(name)
    case 'json':
      return value
  }
  if (!isList(reading)) return Json.isObject(value) ? readResponse(reading, value, reject) : reject(name)
  const [inner, convert] = reading
  if (convert === undefined) {
    const list = value ?? []
    return Array.isArray(list) ? list.map((one) => readMember(inner, name, one, reject)) : reject(name)
  }
  try {
    return convert(readMember(inner, name, value, reject) as never)
  } catch {
    return reject(name)
  }
}

function isList<T>(reading: T | readonly unknown[]): reading is Extract<T, readonly unknown[]> {
  return Array.isArray(reading)
}

function readBytes(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return Bytes.fromBase64(value)
  return Array.isArray(value) && value.every(isByte) ? Uint8Array.from(value) : undefined
}

function isByte(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256
}

function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
