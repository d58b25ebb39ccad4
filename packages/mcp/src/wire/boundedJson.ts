/** Limits the size as JSON, the depth and the number of parts of values from other programs. */
import { Bytes, Hash, Json } from '@latchkey/algorand'
import { McpError } from '../errors.js'

export type Bounds = { readonly maxBytes: number; readonly maxDepth: number; readonly maxCount: number }

/** For a payment, a payment requirement or a receipt: the size that fits into the headers of the HTTP transport. */
export const messageBounds: Bounds = { maxBytes: 48 * 1024, maxDepth: 64, maxCount: 10_000 }

/**
 * Explains why a value is not valid JSON or exceeds a limit, or returns undefined if it is within the limits. Examines
 * no more of the value than the limits allow. Does not recurse: deep nesting would exhaust the stack of a program that
 * serializes it.
 */
export function boundsProblem(value: unknown, { maxBytes, maxDepth, maxCount }: Bounds): string | undefined {
  const open: (readonly [value: unknown, depth: number])[] = [[value, 1]]
  let [bytes, count] = [0, 0]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [one, depth] = next
    count++
    bytes += sizeOf(one)
    if (bytes > maxBytes) return `it is larger than ${maxBytes} bytes`
    if (count > maxCount) return `it has more than ${maxCount} parts`
    if (!isJson(one)) return 'it has a value that is not JSON'
    if (typeof one !== 'object' || one === null) continue
    if (depth > maxDepth) return `it is nested more than ${maxDepth} deep`
    const members = Array.isArray(one) ? one : Object.entries(one)
    if (count + open.length + members.length > maxCount) return `it has more than ${maxCount} parts`
    for (const member of members) {
      if (!Array.isArray(one)) bytes += sizeOf((member as [string, unknown])[0])
      open.push([Array.isArray(one) ? member : (member as [string, unknown])[1], depth + 1])
    }
  }
  return bytes > maxBytes ? `it is larger than ${maxBytes} bytes` : undefined
}

/** The approximate size as JSON. Characters outside ASCII take up to six bytes. */
function sizeOf(value: unknown): number {
  return typeof value === 'string' ? value.length + 3 : 8
}

/** JSON omits undefined members. */
function isJson(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean', 'undefined', 'object'].includes(typeof value)
}

/**
 * Returns the same text for the same JSON, in any member order. The schema of a tool may have transformed the
 * arguments, for example into a set. Different arguments still have different texts.
 *
 * @throws McpError for an object without visible content
 */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'bigint') return `${inner}n`
    if (typeof inner === 'number' && !Number.isFinite(inner)) return String(inner)
    if (inner instanceof Map || inner instanceof Set) return [inner.constructor.name, ...inner]
    if (isOpaque(inner)) {
      const message = `the arguments contain an instance of ${inner.constructor?.name}, which has no JSON form that identifies it`
      throw new McpError('invalid_tool_option', message, {
        hint: 'Give the class a toJSON method, or let the schema return plain JSON.',
      })
    }
    return Json.isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner
  })
  return text ?? 'null'
}

/** Has a class but no members. */
function isOpaque(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && prototype !== null && Object.keys(value).length === 0
}

/** Identifies the arguments of a call. */
export function digestOf(value: unknown): string {
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(canonicalJson(value))))
}

/** Encodes a protocol value as in the HTTP transport: JSON in base64. */
export function toHeader(value: unknown): string {
  return Bytes.toBase64(Bytes.fromUtf8(JSON.stringify(value)))
}

/** Decodes a header that this program wrote. */
export function fromHeader(header: string): unknown {
  return JSON.parse(new TextDecoder().decode(Bytes.fromBase64(header)!))
}
