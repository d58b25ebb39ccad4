import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Field, Kind } from '@latchkey/kmd-api'
import { wires } from '@latchkey/kmd-api'
import fc from 'fast-check'
import { anyCharacter } from '../../../../test/anyCharacter.mjs'
import { operations } from '../api/Operations.js'
import { KmdError } from '../errors.js'
import { fuzzRuns } from '../testing/TestApp.test.helper.js'
import { read } from './JsonBody.js'
import '../../../../test/seed.mjs'

const numRuns = fuzzRuns(100_000)
const wire = fc.constantFrom(...wires)
/** Fields of real operations, including the deepest ones. */
const anyFields = fc.constantFrom(...operations.map(({ request }) => request).filter((fields) => fields.length > 0))

/** The value that JSON.parse reads from a body, for members that are sent as documented. */
function expected(kind: Kind, json: unknown, foldNames: boolean): unknown {
  switch (kind.type) {
    case 'text':
      return Buffer.from(json as string)
    case 'name':
      return Buffer.from(foldNames ? (json as string).replace(/[\u{10000}-\u{10ffff}]/gu, '\ufffd') : (json as string))
    case 'ascii':
      return Buffer.from(json as string).toString('latin1')
    case 'bytes':
    case 'fixed':
    case 'publicKey':
    case 'privateKey':
      return typeof json === 'string' ? Buffer.from(json, 'base64') : Buffer.from(json as number[])
    case 'list':
      return (json as unknown[]).map((element) => expected(kind.of, element, foldNames))
    case 'object':
      return expectedFields(kind.fields, json as Record<string, unknown>, foldNames)
    default:
      return json
  }
}

const zeros: { [type: string]: unknown } = { bool: false, uint: 0, uint8: 0, list: [], ascii: '' }

function expectedFields(
  fields: readonly Field[],
  json: Record<string, unknown>,
  foldNames: boolean,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    if (name in json) result[name] = expected(kind, json[name], foldNames)
    else
      result[name] =
        kind.type === 'object' ? expectedFields(kind.fields, {}, foldNames) : (zeros[kind.type] ?? Buffer.alloc(0))
  }
  return result
}

function validMember(kind: Kind): fc.Arbitrary<unknown> {
  switch (kind.type) {
    case 'text':
    case 'name':
    case 'ascii':
      return fc.oneof(
        fc.string({ unit: anyCharacter, maxLength: 20 }),
        fc.string({ unit: 'binary-ascii', maxLength: 90 }),
      )
    case 'bool':
      return fc.boolean()
    case 'uint':
      return fc.maxSafeNat()
    case 'uint8':
      return fc.nat({ max: 255 })
    case 'bytes':
    case 'fixed':
    case 'publicKey':
    case 'privateKey': {
      // Below the length that the reference wire treats specially.
      const bytes = fc.uint8Array({ maxLength: kind.type === 'bytes' ? 80 : 32 })
      return fc.oneof(
        bytes.map((b) => Buffer.from(b).toString('base64')),
        bytes.map((b) => [...b]),
      )
    }
    case 'list':
      return fc.array(validMember(kind.of), { maxLength: 3 })
    case 'object':
      return validBody(kind.fields)
  }
}

function validBody(fields: readonly Field[]): fc.Arbitrary<Record<string, unknown>> {
  return fc.constantFrom(...wires).chain((spelling) => {
    const members = fields
      .filter((field) => field.wire === undefined || field.wire === spelling)
      .map(({ name, kind }) => [name, validMember(kind)])
    return fc.record(Object.fromEntries(members), { requiredKeys: [] }).map((body) => ({ ...body }))
  })
}

const sent = anyFields.chain((fields) => fc.record({ fields: fc.constant(fields), body: validBody(fields) }))
const layout = fc.constantFrom(undefined, 1, '\t')

const escapeLetters = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

test('a valid body is read like JSON.parse reads it, with characters raw or escaped', () => {
  fc.assert(
    fc.property(sent, wire, layout, fc.boolean(), ({ fields, body }, onWire, indent, isEscaped) => {
      const text = JSON.stringify(body, null, indent)
      const bytes = Buffer.from(isEscaped ? escapeLetters(text) : text)
      const foldNames = isEscaped && onWire === 'reference'
      assert.deepEqual(read(bytes, fields, onWire), expectedFields(fields, body, foldNames))
    }),
    { numRuns },
  )
})

const interesting = fc.oneof(
  fc.constantFrom(...Buffer.from('{}[]",:\\u0123456789.eE+-ntfd \n')),
  fc.constantFrom(0x00, 0x7f, 0x80, 0xc3, 0xed, 0xff),
  fc.nat({ max: 255 }),
)
const edit = fc.record({ at: fc.nat(), how: fc.nat({ max: 3 }), byte: interesting })

const mutated = fc.tuple(sent, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([{ fields, body }, edits]) => {
  const bytes = [...Buffer.from(JSON.stringify(body))]
  for (const { at, how, byte } of edits) {
    const place = at % (bytes.length + 1)
    if (how === 0) bytes[place] = byte
    else if (how === 1) bytes.splice(place, 0, byte)
    else if (how === 2) bytes.splice(place, 1 + (byte % 4))
    else bytes.splice(place, 0, ...bytes.slice(byte % 64, place))
  }
  return { fields, bytes: Buffer.from(bytes) }
})
const random = fc.record({
  fields: anyFields,
  bytes: fc.array(interesting, { maxLength: 60 }).map((b) => Buffer.from(b)),
})

test('damaged and random bytes are either read or rejected with bad_body', () => {
  fc.assert(
    fc.property(fc.oneof(mutated, random), wire, ({ fields, bytes }, onWire) => {
      try {
        const result = read(bytes, fields, onWire)
        assert.deepEqual(
          Object.keys(result),
          fields.map(({ name }) => name),
        )
      } catch (error) {
        assert.ok(error instanceof KmdError && error.code === 'bad_body', String(error))
      }
    }),
    { numRuns },
  )
})

test('a body of the maximum size is read or rejected in linear time', () => {
  const { request } = operations.find(({ id }) => id === 'SignMultisigTransaction')!
  const parts = ['[', '{"a":', '"', '\\', '\\u0041', '1', '0', ' ', '1,', '"\\ud83d', '1e', 'A', '\n']
  const starts = ['', '{"wallet_password":"', '{"transaction":[', '{"public_key":"', '{"partial_multisig":{"thr":']
  for (const part of parts) {
    for (const start of starts) {
      const body = Buffer.alloc(1024 * 1024, part)
      body.write(start)
      const before = process.cpuUsage()
      assert.throws(() => read(body, request, 'reference'), KmdError)
      assert.ok(process.cpuUsage(before).user < 5_000_000, `${start}${part} repeated takes too long`)
    }
  }
})

/** The value of a decimal notation by exact arithmetic; undefined if it is not a byte. */
function byteOf(notation: string): number | undefined {
  const match = /^\+?([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/.exec(notation)
  const digits = (match?.[1] ?? '') + (match?.[2] ?? '')
  if (match === null || digits === '' || digits.length > 1024) return undefined
  const exponent = Number(match[3] ?? 0) - (match[2] ?? '').length
  const [value, divisor] = [
    BigInt(digits) * 10n ** BigInt(Math.max(exponent, 0)),
    10n ** BigInt(Math.max(-exponent, 0)),
  ]
  return value % divisor === 0n && value / divisor <= 255n ? Number(value / divisor) : undefined
}

test('integers in every decimal notation have their exact value, quoted or not', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'00000125'), maxLength: 6 })
  const notation = fc.oneof(
    fc
      .record({ sign: fc.constantFrom('', '', '+', '-'), whole: digits, point: fc.constantFrom('', '.'), part: digits })
      .chain(({ sign, whole, point, part }) =>
        fc
          .constantFrom('', 'e0', 'e1', 'E2', 'e-1', 'e-3', 'e+2', 'e9999', 'e-12345', 'e', 'e+')
          .map((exponent) => `${sign}${whole}${point}${part}${exponent}`),
      ),
    fc.string({ unit: fc.constantFrom(...'0125.eE+-'), maxLength: 8 }),
  )
  const fields = [{ name: 'n', kind: { type: 'uint8' }, about: '' }] as const
  fc.assert(
    fc.property(notation, fc.boolean(), fc.constantFrom('', ' '), (text, isQuoted, space) => {
      if (text === '') return
      const body = Buffer.from(`{"n":${space}${isQuoted ? `"${text}"` : text}${space}}`)
      const expected = byteOf(text)
      if (expected === undefined) assert.throws(() => read(body, fields, 'reference'), KmdError, text)
      else assert.equal(read(body, fields, 'reference').n, expected, text)
    }),
    { numRuns },
  )
})
