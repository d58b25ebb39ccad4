/** Operations that decode base64 and JSON. */
import { Bytes } from '@latchkey/algorand'
import * as Base64 from '../encoding/Base64.js'
import * as JsonObject from '../encoding/JsonObject.js'
import * as JsonSyntax from '../encoding/JsonSyntax.js'
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
    if (encoding === undefined) {
      throw new EvaluationError(`invalid base64_decode encoding ${Fields.nameOf('base64Encoding', byte)}`)
    }
    pure((text: Uint8Array) => decodeBase64(text, encoding.name === 'URLEncoding'))(machine)
  },
  json_ref: (machine) => {
    const byte = machine.immediate(1)
    pure((text: Uint8Array, key: Uint8Array) => {
      const type = Fields.withByte('jsonType', byte)
      if (type === undefined) throw new EvaluationError(`invalid json_ref type ${Fields.nameOf('jsonType', byte)}`)
      return readMember(memberOf(text, key), type.name)
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

function memberOf(text: Uint8Array, key: Uint8Array): Uint8Array {
  const members = JsonObject.members(text)
  if (typeof members === 'string') throw new EvaluationError(members)
  const member = members.get(byteText(key))
  if (member === undefined) throw new EvaluationError(`key ${Utf8.decode(key)} not found in JSON text`)
  return member
}

/** A text whose characters are the bytes. */
function byteText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
}

const goTypes: { readonly [type: string]: string } = {
  JSONString: 'string',
  JSONUint64: 'uint64',
  JSONObject: 'map[string]json.RawMessage',
}

function readMember(bytes: Uint8Array, type: string): Value {
  const member = Utf8.decode(bytes)
  // The recorded behaviour reads null as no text at all.
  if (member === 'null') throw new EvaluationError('unexpected end of JSON input')
  const problem = JsonSyntax.problemWith(byteText(bytes))
  if (problem !== undefined) throw new EvaluationError(problem)
  const kind = kindOf(member)
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
