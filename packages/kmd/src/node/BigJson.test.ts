import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, uint64 } from './BigJson.js'

test('integers that a number holds stay numbers, longer ones become texts', () => {
  const text = '{"a":18446744073709551615,"b":[9007199254740993,12],"c":{"d":1234567890123456},"e":-12345678901234567}'
  assert.deepEqual(parse(text), {
    a: '18446744073709551615',
    b: ['9007199254740993', 12],
    c: { d: '1234567890123456' },
    e: Number('-12345678901234567'),
  })
})

test('texts are left as they are, whatever is in them', () => {
  const value = {
    note: 'x 12345678901234567890 "12345678901234567890" \\',
    '12345678901234567890': '\\"12345678901234567890,',
    blank: '',
    number: 1.5e-7,
    long: '\u2028😀 12345678901234567890',
  }
  assert.deepEqual(parse(JSON.stringify(value)), value)
  assert.deepEqual(parse('{"a":1234567890123456.5,"b":1e16,"c":12345678901234567e2}'), {
    a: 1234567890123456.5,
    b: 1e16,
    c: Number('12345678901234567e2'),
  })
})

test('what is no JSON is refused, and long texts are no trouble', () => {
  for (const text of ['', '{', '{"a":12345678901234567890', '12345678901234567890x']) {
    assert.throws(() => parse(text), SyntaxError)
  }
  const long = 'a\\'.repeat(1_000_000)
  assert.deepEqual(parse(JSON.stringify({ long, n: 1234567890123456 })), { long, n: '1234567890123456' })
})

test('an unsigned integer of 64 bits, and nothing else', () => {
  assert.deepEqual([0, 7, Number.MAX_SAFE_INTEGER].map(uint64), [0n, 7n, 9007199254740991n])
  assert.equal(uint64('18446744073709551615'), 2n ** 64n - 1n)
  for (const other of ['18446744073709551616', '7', '', 'x', -1, 1.5, 1e300, Number.NaN, null, undefined, true, [1]]) {
    assert.equal(uint64(other), undefined, String(other))
  }
})
