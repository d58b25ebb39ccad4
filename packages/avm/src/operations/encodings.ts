/** Operations that decode base64 and JSON. */
import { Bytes } from '@latchkey/algorand'
import * as Base64 from '../encoding/Base64.js'
import * as JsonObject from '../encoding/JsonObject.js'
import * as Utf8 from '../encoding/Utf8.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Value } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import { maxUint64 } from '../opcodes/StackType.js'
import { type Operations, pure, withoutLast } from './Operation.js'

const [newline, carriageReturn, equalsSign] = [10, 13, 61]

/** Decoders. */
export const encodings: Operations = {
  base64_decode: (machine) => {
    const byte = machine.immediate(1)
    const encoding = Fields.withByte('base64Encoding', byte)
    if (encoding === undefined) throw new EvaluationError(`invalid base64_decode encoding Base64Encoding(${byte})`)
    pure((text: Uint8Array) => decodeBase64(text, encoding.name === 'URLEncoding'))(machine)
  },
  json_ref: (machine) => {
    const byte = machine.immediate(1)
    pure((text: Uint8Array, key: Uint8Array) => {
      const type = Fields.withByte('jsonType', byte)
      const member = memberOf(text, key)
      if (type === undefined) throw new EvaluationError(`invalid json_ref type JSONRefType(${byte})`)
      return readMember(member, type.name)
    }, withoutLast)(machine)
  },
}

/** Padding is required if the text ends with it, and invalid otherwise. */
function decodeBase64(text: Uint8Array, isUrl: boolean): Uint8Array {
  const last = text.findLast((byte) => byte !== newline && byte !== carriageReturn)
  const isPadded = last === equalsSign
  const decoded = Base64.decode(text, { isUrl, isPadded, isStrict: true })
  if (typeof decoded === 'number') throw new EvaluationError(`illegal base64 data at input byte ${decoded}`)
  return decoded
}

function memberOf(text: Uint8Array, key: Uint8Array): string {
  const members = JsonObject.members(text)
  if (typeof members === 'string') throw new EvaluationError(members)
  const name = Utf8.decode(key)
  const member = members.get(name)
  if (member === undefined) throw new EvaluationError(`key ${name} not found in JSON text`)
  return Utf8.decode(member)
}

const goTypes: { readonly [type: string]: string } = {
  JSONString: 'string',
  JSONUint64: 'uint64',
  JSONObject: 'map[string]json.RawMessage',
}

function readMember(member: string, type: string): Value {
  // The recorded behaviour reads null as no text at all.
  if (member === 'null') throw new EvaluationError('unexpected end of JSON input')
  const kind = kindOf(member)
  const problem = kind === 'number' ? problemWithNumber(member) : problemWithValue(member)
  if (problem !== undefined) throw new EvaluationError(problem)
  if (kind === 'string' && type === 'JSONString') return Bytes.fromUtf8(JSON.parse(member) as string)
  if (kind === 'object' && type === 'JSONObject') return Bytes.fromUtf8(member)
  if (kind !== 'number' || type !== 'JSONUint64') throw cannotRead(kind, type)
  if (!/^\d+$/.test(member) || BigInt(member) > maxUint64) throw cannotRead(`number ${member}`, type)
  return BigInt(member)
}

function cannotRead(value: string, type: string): EvaluationError {
  return new EvaluationError(`json: cannot unmarshal ${value} into Go value of type ${goTypes[type]}`)
}

function kindOf(member: string): 'string' | 'object' | 'array' | 'bool' | 'number' {
  switch (member[0]) {
    case '"':
      return 'string'
    case '{':
      return 'object'
    case '[':
      return 'array'
    case 't':
    case 'f':
      return 'bool'
    default:
      return 'number'
  }
}

function problemWithValue(member: string): string | undefined {
  try {
    JSON.parse(member)
    return undefined
  } catch {
    return 'invalid character in JSON value'
  }
}

/** The first character that the grammar of numbers does not permit, with the place where the grammar is then. */
function problemWithNumber(text: string): string | undefined {
  const [valid] = /^-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE](?:[-+]?\d*)?)?)?|[eE](?:[-+]?\d*)?)?)?/.exec(text)!
  const next = text[valid.length]
  const isComplete = /\d$/.test(valid)
  if (next === undefined) return isComplete ? undefined : 'unexpected end of JSON input'
  return `invalid character '${next}' ${isComplete ? 'after top-level value' : placeAfter(valid)}`
}

function placeAfter(valid: string): string {
  if (valid === '') return 'looking for beginning of value'
  if (valid.endsWith('.')) return 'after decimal point in numeric literal'
  return valid === '-' ? 'in numeric literal' : 'in exponent of numeric literal'
}
