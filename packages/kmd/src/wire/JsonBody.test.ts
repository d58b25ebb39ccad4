import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address } from '@latchkey/algorand'
import type { Field, Kind } from '@latchkey/kmd-api'
import { type Wire, wires } from '@latchkey/kmd-api'
import { KmdError } from '../errors.js'
import { maxDepth, read } from './JsonBody.js'

const field = (kind: Kind, name = 'x'): Field => ({ name, kind, about: '' })
const isRejected = (error: unknown): boolean => error instanceof KmdError && error.code === 'bad_body'

/** The value of the one member `x`, with bytes as hex for readable rows. */
function value(kind: Kind, json: string | Buffer, wire: Wire): unknown {
  const prefix = Buffer.from('{"x":')
  const body = Buffer.concat([prefix, Buffer.from(json), Buffer.from('}')])
  return plain(read(body, [field(kind)], wire)['x'])
}

function plain(result: unknown): unknown {
  if (Buffer.isBuffer(result)) return result.toString('hex')
  if (Array.isArray(result)) return result.map(plain)
  if (typeof result !== 'object' || result === null) return result
  return Object.fromEntries(Object.entries(result).map(([name, member]) => [name, plain(member)]))
}

const hex = (text: string): string => Buffer.from(text).toString('hex')
const fixed = { type: 'fixed', length: 4 } as const
const listOf = (of: Kind): Kind => ({ type: 'list', of, max: 100, tooLong: 'multisig_too_large' })
const address = '7ZUECA7HFLZTXENRV24SHLU4AVPUTMTTDUFUBNBD64C73F3UHRTHAIOF6Q'
const addressKey = Buffer.from(Address.decode(address)).toString('hex')
const partial = {
  type: 'object',
  fields: [
    { ...field({ type: 'uint8' }, 'v'), wire: 'reference' },
    { ...field(listOf(fixed), 'subsig'), wire: 'reference' },
    { ...field({ type: 'uint8' }, 'Version'), wire: 'documented' },
  ],
} as const satisfies Kind
const noPartial = { v: 0, subsig: [], Version: 0 }

type Row = { kind: Kind; accepted: [json: string, value: unknown][]; rejected: string[] }

const rows: { [name: string]: Row } = {
  'a text': {
    kind: { type: 'text' },
    accepted: [
      ['"abc"', hex('abc')],
      ['""', ''],
      ['null', ''],
      ['5', hex('5')],
      ['-1.50e+3', hex('-1.50e+3')],
      ['true', hex('true')],
      ['false', hex('false')],
      ['"é😀"', hex('é😀')],
    ],
    rejected: ['{}', '[]', '["a"]', 'nul', 'truE', 'abc', "'abc'", '', '"abc', 'undefined', 'NaN'],
  },
  'an identifier': {
    kind: { type: 'ascii' },
    accepted: [
      ['"abc"', 'abc'],
      ['7', '7'],
      ['null', ''],
      ['"é"', '\u00c3\u00a9'],
    ],
    rejected: ['{}', '[]'],
  },
  'a boolean': {
    kind: { type: 'bool' },
    accepted: [
      ['true', true],
      ['false', false],
      ['null', false],
    ],
    rejected: ['"true"', '""', '0', '1', '[]', '{}', 'True', 'tru', 'truefalse'],
  },
  'a small integer': {
    kind: { type: 'uint8' },
    accepted: [
      ...['1', '"1"', '1.0', '1e0', '10e-1', '1.', '+1', '0.1e1', '100e-2', '1E0', '001', '"1.0"', ' 1 '].map(
        (json): [string, number] => [json, 1],
      ),
      ['007', 7],
      ['255', 255],
      ['2.55e2', 255],
      ['"255"', 255],
      ['0', 0],
      ['0.0', 0],
      ['0e9', 0],
      ['""', 0],
      ['null', 0],
    ],
    rejected: [
      ...[
        '-0',
        '-1',
        '1.5',
        '256',
        '2555',
        '999',
        '1e3',
        '1e99',
        '1e-1',
        '0.1',
        '" 1"',
        '"1 "',
        '0x1',
        '"0x1"',
        'true',
      ],
      ...[
        'false',
        '[]',
        '{}',
        '[1]',
        '1e',
        '1e+',
        '.',
        '+',
        'e1',
        '1_0',
        '"a"',
        '"-1"',
        '++1',
        '1.1.1',
        '1e1e1',
        '""1',
      ],
    ],
  },
  'a byte string': {
    kind: { type: 'bytes' },
    accepted: [
      ['"AQL/"', '0102ff'],
      ['"AQ\\nL\\r/"', '0102ff'],
      ['"AQ=="', '01'],
      ['[1, 2 ,255]', '0102ff'],
      ['["1",2.0,null]', '010200'],
      ['[]', ''],
      ['""', ''],
      ['null', ''],
    ],
    rejected: [
      '"AQL_"',
      '"AQ"',
      '"A Q="',
      '5',
      'true',
      '{}',
      '[256]',
      '[-1]',
      '[1,]',
      '[,1]',
      '[1 2]',
      '["a"]',
      '[[1]]',
    ],
  },
  'a key': {
    kind: fixed,
    accepted: [
      ['"AQIDBA=="', '01020304'],
      ['"AQ=="', '01'],
      ['"AQIDBAU="', '0102030405'],
      ['[1,2,3,4]', '01020304'],
      ['[1]', '01'],
      ['[]', ''],
      ['{}', ''],
      ['{ }', ''],
      ['null', ''],
      ['""', ''],
    ],
    rejected: ['[1,2,3,4,5]', '{"a":1}', '"AQIDBA"', '"AQIDB-=="', '5', 'true', '[1.5]'],
  },
  'a list of keys': {
    kind: listOf(fixed),
    accepted: [
      ['[]', []],
      ['null', []],
      ['{}', []],
      ['["AQIDBA==",[1,2,3,4],null,{}]', ['01020304', '01020304', '', '']],
    ],
    rejected: ['{"a":[]}', '""', '"AQIDBA=="', `["${address}"]`, '[1]', '[[[1]]]'],
  },
  'a nested object': {
    kind: partial,
    accepted: [
      ['{}', noPartial],
      ['null', noPartial],
      ['[]', noPartial],
      ['{"v":1,"subsig":["AQIDBA=="]}', { ...noPartial, v: 1, subsig: ['01020304'] }],
      ['[1,[[1,2,3,4]]]', { ...noPartial, v: 1, subsig: ['01020304'] }],
      ['{"Version":1}', { ...noPartial, Version: 1 }],
    ],
    rejected: [
      ...['{"v":1,"Version":1}', '{"Version":0,"subsig":[]}', '{"Version":1,"v":0}'],
      ...['{"subsig":[],"subsig":[]}', '{"subsig":null,"v":1,"subsig":["AQIDBA=="]}'],
      ...['""', '"e30="', '5', 'true', '{"V":1}', '[1,[],1]', '{"v":1,}', '{v:1}', '{"v"}', '{"v" 1}', '{1:1}'],
    ],
  },
  'a public key': {
    kind: { type: 'publicKey' },
    accepted: [
      [`"${Buffer.alloc(32, 7).toString('base64')}"`, '07'.repeat(32)],
      [`[${new Array(32).fill(7)}]`, '07'.repeat(32)],
      ...['null', '{}', '[]', '""'].map((nothing): [string, string] => [nothing, '']),
      [`"${address}"`, addressKey],
      [`"\\u0037${address.slice(1)}"`, addressKey],
      [`"${Buffer.from(address).toString('base64')}"`, addressKey],
      // Not an address: a key of a wrong length, as before.
      [`"${Buffer.from(`A${address.slice(1)}`).toString('base64')}"`, hex(`A${address.slice(1)}`)],
      ['"AQID"', '010203'],
    ],
    rejected: [
      `"A${address.slice(1)}"`,
      `"${address.toLowerCase()}"`,
      `"${address} "`,
      `"${address.slice(1)}"`,
      `[${new Array(33).fill(7)}]`,
    ],
  },
}

for (const wire of wires) {
  for (const [name, { kind, accepted, rejected }] of Object.entries(rows)) {
    test(`${name} accepts these values on the ${wire} wire`, () => {
      for (const [json, expected] of accepted) assert.deepEqual(value(kind, json, wire), expected, json)
    })
    test(`${name} rejects these values on the ${wire} wire`, () => {
      for (const json of rejected) assert.throws(() => value(kind, json, wire), isRejected, json)
    })
  }
}

const fields = [
  field({ type: 'text' }, 'name'),
  field({ type: 'uint8' }, 'count'),
  field({ type: 'bool' }, 'flag'),
] as const
const nothing = { name: '', count: 0, flag: false }
const parse = (body: string | Buffer): unknown => plain(read(Buffer.from(body), fields, 'reference'))

test('members come in any order, with white space anywhere in between; absent members have their zero', () => {
  assert.deepEqual(parse('{}'), nothing)
  assert.deepEqual(parse('null'), nothing)
  assert.deepEqual(parse(' \t\r\n{ "flag" : true ,\n"name"\t:"a" } '), { name: hex('a'), count: 0, flag: true })
})

test('an array gives the members by position, and may be short but not long', () => {
  assert.deepEqual(parse('["a",7,true]'), { name: hex('a'), count: 7, flag: true })
  assert.deepEqual(parse('["a"]'), { ...nothing, name: hex('a') })
  assert.deepEqual(parse('[]'), nothing)
  assert.throws(() => parse('["a",7,true,null]'), isRejected)
})

test('if a member is repeated, the last one counts', () => {
  assert.deepEqual(parse('{"count":1,"name":"a","count":2}'), { ...nothing, name: hex('a'), count: 2 })
  assert.throws(() => parse('{"count":-1,"count":2}'), isRejected)
})

test('unknown members and names in another case are rejected; an escaped name is the same name', () => {
  for (const name of ['nam', 'names', 'Name', 'NAME', '', ' name', '__proto__', 'constructor', 'toString']) {
    assert.throws(() => parse(`{"${name}":"a"}`), isRejected, name)
  }
  assert.deepEqual(parse('{"\\u006eame":"a"}'), { ...nothing, name: hex('a') })
})

test('text after the first value is ignored', () => {
  for (const rest of ['garbage', '{', '\0', '}', ',', '\xff'])
    assert.deepEqual(parse(`{"count":1}${rest}`), { ...nothing, count: 1 })
  assert.deepEqual(parse('nullgarbage'), nothing)
})

test('an empty body, a byte order mark and a bare scalar are rejected', () => {
  for (const body of ['', ' ', '\ufeff{}', '"{}"', '1', 'true', '\0{}', '//\n{}', '/**/{}', '\u00a0{}', '\v{}']) {
    assert.throws(() => parse(body), isRejected, JSON.stringify(body))
  }
})

const text = { type: 'text' } as const
const name = { type: 'name' } as const

test('all escapes of the reference are read, and no others', () => {
  assert.equal(value(text, '"\\"\\\\\\/\\\'\\b\\f\\n\\r\\t"', 'reference'), hex('"\\/\'\b\f\n\r\t'))
  assert.equal(value(text, '"\\u0041\\u00e9\\u20aC\\u0000"', 'reference'), hex('Aé€\0'))
  for (const sent of ['\\a', '\\v', '\\0', '\\x41', '\\U0041', '\\ ', '\\\n', '\\u', '\\u1', '\\u123']) {
    assert.throws(() => value(text, `"${sent}"`, 'reference'), isRejected, sent)
  }
})

test('invalid hex digits give the replacement character', () => {
  for (const digits of ['zzzz', '12g4', '+123', ' 123', '0x12']) {
    assert.equal(value(text, `"a\\u${digits}b"`, 'documented'), hex('a\ufffdb'), digits)
  }
})

test('raw control characters and invalid UTF-8 are kept unchanged', () => {
  assert.equal(value(text, Buffer.from('"a\n\0\x1f\tb"'), 'reference'), hex('a\n\0\x1f\tb'))
  assert.equal(value(text, Buffer.from([0x22, 0xff, 0xc3, 0x28, 0x80, 0x22]), 'reference'), 'ffc32880')
  assert.equal(value(text, Buffer.from([0x22, 0xff, 0x5c, 0x6e, 0xfe, 0x22]), 'documented'), 'ff0afe')
})

test('two escapes of a surrogate pair are one character, except in a name on the reference wire', () => {
  const pair = '"a\\ud83d\\ude00b"'
  for (const wire of wires) assert.equal(value(text, pair, wire), hex('a😀b'))
  assert.equal(value(name, pair, 'documented'), hex('a😀b'))
  assert.equal(value(name, pair, 'reference'), hex('a\ufffdb'))
  assert.equal(value(name, '"😀"', 'reference'), hex('😀'), 'raw')
})

test('a lone surrogate is the replacement character, and affects nothing else', () => {
  for (const [json, expected] of [
    ['"\\ud83d"', '\ufffd'],
    ['"\\ude00"', '\ufffd'],
    ['"\\ud83dx"', '\ufffdx'],
    ['"\\ud83d\\n"', '\ufffd\n'],
    ['"\\ude00\\ud83d"', '\ufffd\ufffd'],
    ['"\\ud83d\\u0041"', '\ufffdA'],
    ['"\\ud83d\\ud83d\\ude00"', '\ufffd😀'],
  ] as const) {
    assert.equal(value(text, json, 'documented'), hex(expected), json)
  }
})

test('for a private key in integers, only the seed is passed on, on the reference wire', () => {
  const key = { type: 'privateKey' } as const
  const integers = JSON.stringify(Array.from({ length: 64 }, (_, i) => i))
  const whole = Buffer.from(JSON.parse(integers)).toString('hex')
  assert.equal(value(key, integers, 'documented'), whole)
  assert.equal(value(key, integers, 'reference'), whole.slice(0, 64))
  const base64 = Buffer.from(whole, 'hex').toString('base64')
  for (const wire of wires) assert.equal(value(key, `"${base64}"`, wire), whole)
  assert.throws(() => value(key, JSON.stringify(new Array(65).fill(1)), 'documented'), isRejected)
})

test('a value that nests too deeply is rejected, regardless of the fields', () => {
  let kind: Kind = { type: 'uint8' }
  for (let depth = 0; depth < maxDepth + 1; depth++) kind = listOf(kind)
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  assert.ok(value(kind, nested(maxDepth - 1), 'reference'))
  assert.throws(() => value(kind, nested(maxDepth), 'reference'), isRejected)
  assert.throws(() => value(listOf({ type: 'uint8' }), nested(100_000), 'reference'), isRejected)
})

test('a text without escapes is a view of the body, so that wiping the body wipes a password', () => {
  const body = Buffer.from('{"name":"secret"}')
  const { name: password } = read(body, fields, 'reference')
  body.fill(0)
  assert.deepEqual(password, Buffer.alloc(6))
})

test('a body truncated at any byte is rejected, and never read past its end', () => {
  const everything = Object.entries(rows).map(([, { kind }], i) => field(kind, `m${i}`))
  const body = Buffer.from(
    '{"m0":"a\\u00e9\\n","m1":12,"m2":true,"m3":"1","m4":"AQL/","m5":[1,2,3],"m6":[[1],{},"AQ=="],"m7":{"v":1}}',
  )
  assert.ok(read(body, everything, 'reference'))
  for (let length = 0; length < body.length; length++) {
    // A view with the rest of the body behind it, so that a reader that leaves its view would succeed.
    assert.throws(() => read(body.subarray(0, length), everything, 'reference'), isRejected, `cut at ${length}`)
  }
})

test('an unsigned integer is decimal digits that fit into a number', () => {
  const fields = [{ name: 'n', kind: { type: 'uint' }, about: '' }] as const
  const readN = (json: string): number => read(Buffer.from(json), fields, 'reference').n
  assert.deepEqual(['{}', '{"n":null}', '{"n":0}', '{"n": 9007199254740991 }', '[7]'].map(readN), [
    ...[0, 0, 0, Number.MAX_SAFE_INTEGER, 7],
  ])
  for (const wrong of [
    '9007199254740992',
    '-1',
    '1.0',
    '1e3',
    '+1',
    '"1"',
    'true',
    '[]',
    '{}',
    '',
    '12345678901234567890',
  ]) {
    assert.throws(() => readN(`{"n":${wrong}}`), { code: 'bad_body' }, wrong)
  }
})

test('a list longer than its bound is rejected with the code of the field', () => {
  const kind = { type: 'list', of: { type: 'uint8' }, max: 3, tooLong: 'too_many_addresses' } as const
  assert.deepEqual(value(kind, '[1,2,3]', 'reference'), [1, 2, 3])
  assert.throws(() => value(kind, '[1,2,3,4]', 'reference'), { code: 'too_many_addresses' })
})

test('if a text, number or boolean is sent twice, the last one counts; other repeated members are rejected', () => {
  const twice = (kind: Kind, first: string, second: string): unknown => {
    const body = Buffer.from(`{"m":${first},"m":${second}}`)
    return plain(read(body, [field(kind, 'm')], 'reference')['m'])
  }
  assert.equal(twice({ type: 'text' }, '"a"', '"b"'), hex('b'))
  assert.equal(twice({ type: 'ascii' }, '"a"', 'null'), '')
  assert.equal(twice({ type: 'uint8' }, '1', '2'), 2)
  assert.equal(twice({ type: 'bool' }, 'true', 'false'), false)
  const kinds: Kind[] = [
    { type: 'bytes' },
    fixed,
    { type: 'publicKey' },
    { type: 'privateKey' },
    listOf(fixed),
    partial,
  ]
  for (const kind of kinds) {
    for (const second of ['null', '[]', '{}']) {
      assert.throws(() => twice(kind, '[]', second), isRejected, `${kind.type} and ${second}`)
    }
  }
  const many = Buffer.from(`{${new Array(65).fill('"m":1').join(',')}}`)
  assert.throws(() => read(many, [field({ type: 'uint8' }, 'm')], 'reference'), isRejected)
})

test('an ignored member has no position', () => {
  const fields = [{ ...field({ type: 'text' }, 'a'), ignored: true }, field({ type: 'text' }, 'b')] as const
  assert.equal(read(Buffer.from('["x"]'), fields, 'reference')['b']?.toString(), 'x')
  assert.throws(() => read(Buffer.from('["x","y"]'), fields, 'reference'), isRejected)
  assert.ok(read(Buffer.from('{"a":"x"}'), fields, 'reference'))
})
