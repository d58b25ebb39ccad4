/**
 * Checks the `info` of a seller's description against its schema, as published facilitators do. Both come from
 * strangers, so the check has limits on size, depth and steps, resolves references within the schema only, and runs no
 * regular expression of the schema.
 */
import { Json } from '@latchkey/algorand'

const maxDepth = 32
const maxParts = 4_000
/** Comparisons of a value with a schema. References could multiply them without bound. */
const maxSteps = 10_000

/** Whether a value can be walked recursively. Does not recurse itself. */
export function isBounded(value: unknown): boolean {
  const open: (readonly [value: unknown, depth: number])[] = [[value, 1]]
  let parts = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [one, depth] = next
    if (++parts > maxParts) return false
    if (typeof one !== 'object' || one === null) continue
    if (depth > maxDepth) return false
    for (const member of Object.values(one)) open.push([member, depth + 1])
    if (open.length > maxParts) return false
  }
  return true
}

/**
 * Whether `info` follows the schema. Keywords that only annotate, formats and patterns are not evaluated. False for a
 * schema that takes too many steps.
 */
export function isValidInfo(info: unknown, schema: unknown): boolean {
  if (!isBounded(info) || !isBounded(schema)) return false
  const check = new Check(schema)
  return check.matches(info, schema, 0) && !check.isExhausted
}

class Check {
  readonly #root: unknown
  #steps = 0
  /** Whether the check was given up, so that its result says nothing. */
  isExhausted = false

  constructor(root: unknown) {
    this.#root = root
  }

  matches(value: unknown, schema: unknown, depth: number): boolean {
    if (++this.#steps > maxSteps || depth > maxDepth * 2) this.isExhausted = true
    if (this.isExhausted) return false
    if (typeof schema === 'boolean') return schema
    if (!Json.isObject(schema)) return false
    const all = (schemas: unknown): readonly unknown[] => (Array.isArray(schemas) ? schemas : [])
    const fits = (one: unknown): boolean => this.matches(value, one, depth + 1)
    const { $ref, allOf, anyOf, oneOf, not } = schema
    if (typeof $ref === 'string' && !fits(this.#resolve($ref))) return false
    if (!isOfType(value, schema['type']) || !isAmong(value, schema)) return false
    if (!all(allOf).every(fits)) return false
    if (Array.isArray(anyOf) && !anyOf.some(fits)) return false
    if (Array.isArray(oneOf) && oneOf.filter(fits).length !== 1) return false
    if (not !== undefined && fits(not)) return false
    if (schema['if'] !== undefined && !fits((fits(schema['if']) ? schema['then'] : schema['else']) ?? true))
      return false
    if (typeof value === 'string') return isWithin([...value].length, schema['minLength'], schema['maxLength'])
    if (typeof value === 'number') return isNumber(value, schema)
    if (Array.isArray(value)) return this.#isList(value, schema, depth)
    return Json.isObject(value) ? this.#isObject(value, schema, depth) : true
  }

  #isList(value: readonly unknown[], schema: Json.Members, depth: number): boolean {
    if (!isWithin(value.length, schema['minItems'], schema['maxItems'])) return false
    const first: readonly unknown[] = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : []
    const { items } = schema
    return value.every((one, index) => this.matches(one, first[index] ?? items ?? true, depth + 1))
  }

  #isObject(value: Json.Members, schema: Json.Members, depth: number): boolean {
    const names = Object.keys(value)
    if (!isWithin(names.length, schema['minProperties'], schema['maxProperties'])) return false
    const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
    if (!required.every((name) => typeof name === 'string' && Object.hasOwn(value, name))) return false
    const properties = Json.isObject(schema['properties']) ? schema['properties'] : {}
    // A pattern that is not evaluated may allow any other member.
    const others = schema['patternProperties'] === undefined ? (schema['additionalProperties'] ?? true) : true
    return names.every((name) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : others
      return this.matches(value[name], own, depth + 1)
    })
  }

  /** A reference to another document matches nothing. */
  #resolve(reference: string): unknown {
    if (reference === '#') return this.#root
    if (!reference.startsWith('#/')) return false
    let current: unknown = this.#root
    for (const part of reference.slice(2).split('/')) {
      const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
      const isMember = typeof current === 'object' && current !== null && Object.hasOwn(current, name)
      if (!isMember) return false
      current = (current as Json.Members)[name]
    }
    return current
  }
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === undefined) return true
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  return types.some((one) => {
    if (one === 'null') return value === null
    if (one === 'array') return Array.isArray(value)
    if (one === 'object') return Json.isObject(value)
    if (one === 'integer') return Number.isInteger(value)
    return typeof value === one
  })
}

function isAmong(value: unknown, schema: Json.Members): boolean {
  const isSame = (one: unknown): boolean => JSON.stringify(one) === JSON.stringify(value)
  if (Object.hasOwn(schema, 'const') && !isSame(schema['const'])) return false
  return !Array.isArray(schema['enum']) || schema['enum'].some(isSame)
}

function isNumber(value: number, schema: Json.Members): boolean {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum } = schema
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false
  return isWithin(value, minimum, maximum)
}

function isWithin(value: number, min: unknown, max: unknown): boolean {
  return !(typeof min === 'number' && value < min) && !(typeof max === 'number' && value > max)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
