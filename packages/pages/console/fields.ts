/**
 * Reads members of the daemon's responses. The `reference` wire leaves out empty values, so a missing member reads as
 * an empty string, zero, false or an empty list.
 */
import { Bytes, Json } from '@latchkey/algorand'

export type JsonObject = Json.Members

export function string(response: JsonObject, name: string): string {
  const value = response[name]
  return typeof value === 'string' ? value : ''
}

export function number(response: JsonObject, name: string): number {
  const value = response[name]
  return typeof value === 'number' ? value : 0
}

export function boolean(response: JsonObject, name: string): boolean {
  return response[name] === true
}

export function object(response: JsonObject, name: string): JsonObject {
  const value = response[name]
  return Json.isObject(value) ? value : {}
}

export function array(response: JsonObject, name: string): readonly unknown[] {
  const value = response[name]
  return Array.isArray(value) ? value : []
}

export function objects(response: JsonObject, name: string): JsonObject[] {
  return array(response, name).filter(Json.isObject)
}

export function strings(response: JsonObject, name: string): string[] {
  return array(response, name).filter((element) => typeof element === 'string')
}

/** An unsigned integer as decimal digits: amounts can exceed 2^53, so the daemon sends them as strings. */
export function digits(response: JsonObject, name: string): string {
  const value = string(response, name)
  return /^\d{1,20}$/.test(value) ? value : '0'
}

/** Bytes: base64 on the `reference` wire, an array of integers on the `documented` one. */
export function bytes(value: unknown): Uint8Array {
  if (typeof value === 'string') return Bytes.fromBase64(value) ?? new Uint8Array()
  return Array.isArray(value) ? Uint8Array.from(value as number[]) : new Uint8Array()
}
