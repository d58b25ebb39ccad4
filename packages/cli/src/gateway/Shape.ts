/**
 * Reads values of a JSON file strictly: every member has a type and a range, unknown members are refused, and messages
 * name the path of the member.
 */
import { Json } from '@latchkey/algorand'
import { CommandError } from '../errors.js'
import { quoted } from '../format.js'

/** Reads a value at a path of the file, or throws. */
export type Shape<T> = (value: unknown, path: string) => T
/** Members of an object. An optional one is marked by {@link optional}. */
type Shapes = { readonly [name: string]: Shape<unknown> }
type Read<S extends Shapes> = { readonly [name in keyof S]: ReturnType<S[name]> }

const maxTextLength = 10_000
const maxListLength = 1_000

export function invalid(path: string, problem: string): CommandError {
  const subject = path === '' ? 'the file' : path
  return new CommandError('invalid_file', `${subject} ${problem}`, { hint: 'see docs/gateway.md for its members' })
}

/** The path of a member. */
export function memberPath(path: string, name: string): string {
  if (!/^\w+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

/** A text, of at least one character by default. */
export function text(
  isValid: (value: string) => boolean = (value) => value !== '',
  expected = `a text of 1 to ${maxTextLength} characters`,
): Shape<string> {
  return (value, path) => {
    if (typeof value === 'string' && value.length <= maxTextLength && isValid(value)) return value
    throw invalid(path, `is not ${expected}`)
  }
}

export const anyText = text(() => true, `a text of at most ${maxTextLength} characters`)

export function number(min: number, max: number): Shape<number> {
  return (value, path) => {
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw invalid(path, `is not a number from ${min} to ${max}`)
  }
}

export function integer(min: number, max: number): Shape<number> {
  return (value, path) => {
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
    throw invalid(path, `is not an integer from ${min} to ${max}`)
  }
}

/** One of some values. */
export function oneOf<const T extends string | boolean>(...values: readonly T[]): Shape<T> {
  return (value, path) => {
    if (values.includes(value as T)) return value as T
    throw invalid(path, `is not ${values.map((one) => JSON.stringify(one)).join(' or ')}`)
  }
}

export function list<T>(item: Shape<T>, min = 0): Shape<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length < min || value.length > maxListLength) {
      throw invalid(path, `is not a list of ${min === 0 ? 'at most' : `${min} to`} ${maxListLength}`)
    }
    return value.map((one, index) => item(one, `${path}[${index}]`))
  }
}

/** An object whose members are not read further, such as a JSON Schema. */
export const anyObject: Shape<Json.Members> = (value, path) => {
  if (Json.isObject(value)) return value
  throw invalid(path, 'is not an object')
}

export const anything: Shape<unknown> = (value) => value

/** An object with members of any names. */
export function record<T>(member: Shape<T>): Shape<{ readonly [name: string]: T }> {
  return (value, path) => {
    const entries = Object.entries(anyObject(value, path))
    return Object.fromEntries(entries.map(([name, one]) => [name, member(one, memberPath(path, name))]))
  }
}

/** An object with these members alone. */
export function object<const S extends Shapes>(shapes: S): Shape<Read<S>> {
  return (value, path) => {
    const members = anyObject(value, path)
    const unknown = Object.keys(members).find((name) => !Object.hasOwn(shapes, name))
    if (unknown !== undefined) throw invalid(path, `has the unknown member ${quoted(unknown)}`)
    const read = Object.entries(shapes).map(([name, shape]) => {
      const place = memberPath(path, name)
      if (Object.hasOwn(members, name)) return [name, shape(members[name], place)]
      if (!optionals.has(shape)) throw invalid(place, 'is missing')
      return [name, undefined]
    })
    return Object.fromEntries(read.filter(([, one]) => one !== undefined)) as Read<S>
  }
}

const optionals = new WeakSet<Shape<unknown>>()

/** A member that may be left out. Null is not the same. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  const own: Shape<T> = (value, path) => shape(value, path)
  optionals.add(own)
  return own
}

/** The path of a member that a JSON text has twice; undefined if there is none. `JSON.parse` would take the last one. */
export function repeatedMember(json: string): string | undefined {
  const open: { readonly path: string; readonly names: Set<string> | undefined; index: number; name: string }[] = []
  const pathIn = (one: (typeof open)[number] | undefined): string => {
    if (one === undefined) return ''
    return one.names === undefined ? `${one.path}[${one.index}]` : memberPath(one.path, one.name)
  }
  // The text is JSON, so these are all of its tokens that matter.
  for (const [token, string, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\],]/g)) {
    const last = open.at(-1)
    if (string !== undefined && colon !== undefined && last?.names !== undefined) {
      last.name = JSON.parse(string) as string
      if (last.names.has(last.name)) return pathIn(last)
      last.names.add(last.name)
    } else if (token === '{' || token === '[') {
      open.push({ path: pathIn(last), names: token === '{' ? new Set() : undefined, index: 0, name: '' })
    } else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && last !== undefined) last.index++
  }
  return undefined
}
