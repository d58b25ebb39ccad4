/** Schemas of strangers, and values that follow them or not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Discovery } from '@latchkey/x402-wire'
import { isBounded, isValidInfo } from './checkInfo.js'

test('our own declarations are valid', () => {
  const request = { method: 'POST', routeTemplate: '/w/:city', pathParameters: { city: 'Rome' } }
  const body = { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] }
  const described = { body, example: { body: { note: 'rain' } }, output: { example: { ok: true } } }
  const tool = { toolName: 'forecast', inputSchema: body, example: { note: 'x' }, output: { example: { a: 1 } } }
  for (const extensions of [Discovery.declaration(described, request), Discovery.toolDeclaration(tool)]) {
    const { info, schema } = extensions['bazaar'] as { info: object; schema: object }
    assert.equal(isValidInfo(info, schema), true)
  }
})

const cases: [schema: unknown, valid: unknown[], invalid: unknown[]][] = [
  [true, [1, null], []],
  [false, [], [1]],
  ['junk', [], [1]],
  [{ type: 'integer', minimum: 1, exclusiveMaximum: 5 }, [1, 4], [0, 5, 1.5, '1']],
  [{ type: ['null', 'string'], minLength: 1, maxLength: 2 }, [null, 'a', '\u{1f600}\u{1f600}'], ['', 'abc', 1]],
  [{ enum: [1, { a: 1 }] }, [1, { a: 1 }], [2, { a: 2 }]],
  [{ const: null }, [null], [0]],
  [{ items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], ['a'], [1, 2, 3]]],
  [{ prefixItems: [{ type: 'string' }], items: false }, [['a'], []], [[1], ['a', 1]]],
  [{ required: ['a'], additionalProperties: false, properties: { a: true } }, [{ a: 1 }], [{}, { a: 1, b: 2 }]],
  [{ properties: { constructor: false } }, [{ a: 1 }], [{ constructor: 1 }]],
  [{ additionalProperties: false }, [{}], [{ toString: 1 }]],
  [{ patternProperties: { '^(a+)+$': false }, additionalProperties: false }, [{ a: 1 }], []],
  [{ pattern: '^(a+)+$' }, [`${'a'.repeat(100)}!`], []],
  [{ allOf: [{ type: 'object' }, { required: ['a'] }] }, [{ a: 1 }], [{}, 1]],
  [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, [1, null], ['a']],
  [{ oneOf: [{ type: 'number' }, { minimum: 5 }] }, [1], [7]],
  [{ not: { type: 'string' } }, [1], ['a']],
  [
    JSON.parse('{"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"number"}}') as object,
    ['a', 1],
    ['ab', null],
  ],
  [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, ['x'], [1]],
  [{ $ref: 'https://evil.example/schema' }, [], [1, {}]],
  [{ $ref: '#/missing' }, [], [1]],
]

for (const [schema, valid, invalid] of cases) {
  test(`values for ${JSON.stringify(schema)}`, () => {
    for (const value of valid) assert.equal(isValidInfo(value, schema), true, JSON.stringify(value))
    for (const value of invalid) assert.equal(isValidInfo(value, schema), false, JSON.stringify(value))
  })
}

test('schemas that never end or multiply are refused after a number of steps', () => {
  assert.equal(isValidInfo(1, { $ref: '#' }), false)
  assert.equal(isValidInfo(1, { not: { $ref: '#/not' } }), false)
  const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] })
  const names = Array.from({ length: 40 }, (_, index) => `d${index}`)
  const $defs = Object.fromEntries(names.map((name, index) => [name, index === 39 ? true : twice(names[index + 1]!)]))
  assert.equal(isValidInfo(1, { ...twice('d0'), $defs }), false)
})

test('deep and large values are refused without recursion', () => {
  let deep: unknown = 1
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  assert.equal(isBounded(deep), false)
  assert.equal(isValidInfo(deep, true), false)
  assert.equal(isValidInfo(1, deep), false)
  assert.equal(isBounded(Array(5_000).fill(1)), false)
  assert.equal(isBounded({ a: [{ b: 1 }] }), true)
})
