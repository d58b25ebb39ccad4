import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/anyCharacter.mjs'
import { numRuns, uint64 } from './fuzz.test.helper.js'
import { DecodeError, EncodeError, Reader, Writer } from './Msgpack.js'
import '../../../test/seed.mjs'

test('integers take their shortest form', () => {
  const forms: [bigint, string][] = [
    [0n, '00'],
    [127n, '7f'],
    [128n, 'cc80'],
    [255n, 'ccff'],
    [256n, 'cd0100'],
    [65535n, 'cdffff'],
    [65536n, 'ce00010000'],
    [2n ** 32n - 1n, 'ceffffffff'],
    [2n ** 32n, 'cf0000000100000000'],
    [2n ** 64n - 1n, 'cfffffffffffffffff'],
  ]
  for (const [value, form] of forms) {
    assert.equal(hex(new Writer().uint(value).bytes()), form)
    if (value <= Number.MAX_SAFE_INTEGER) assert.equal(hex(new Writer().uint(Number(value)).bytes()), form)
    assert.equal(new Reader(bytes(form)).uint(), value)
  }
})

test('headers take their shortest form', () => {
  const forms: [number, string, string, string, string][] = [
    [0, 'c400', 'a0', '80', '90'],
    [15, 'c40f', 'af', '8f', '9f'],
    [16, 'c410', 'b0', 'de0010', 'dc0010'],
    [32, 'c420', 'd920', 'de0020', 'dc0020'],
    [256, 'c50100', 'da0100', 'de0100', 'dc0100'],
    [65536, 'c600010000', 'db00010000', 'df00010000', 'dd00010000'],
  ]
  for (const [length, bin, str, map, array] of forms) {
    const content = new Uint8Array(length)
    assert.equal(hex(new Writer().bin(content).bytes()), bin + hex(content))
    assert.equal(hex(new Writer().strBytes(content).bytes()), str + hex(content))
    assert.equal(hex(new Writer().mapHeader(length).bytes()), map)
    assert.equal(hex(new Writer().arrayHeader(length).bytes()), array)
  }
})

test('encoded values are decoded back', () => {
  fc.assert(
    fc.property(
      uint64,
      fc.string({ unit: anyCharacter, maxLength: 300 }),
      fc.uint8Array({ maxLength: 300 }),
      (n, text, data) => {
        const writer = new Writer().arrayHeader(6).uint(n).str(text).bin(data).bool(true).bool(false).nil()
        const reader = new Reader(writer.bytes())
        assert.equal(reader.arrayHeader(), 6)
        assert.equal(reader.uint(), n)
        assert.equal(reader.str(), text)
        assert.deepEqual(reader.bin(), data)
        assert.deepEqual([reader.bool(), reader.bool()], [true, false])
        reader.nil()
        assert.equal(reader.remaining, 0)
        const skipper = new Reader(writer.bytes())
        skipper.skip()
        assert.equal(skipper.remaining, 0)
      },
    ),
    { numRuns },
  )
})

test('signed formats are read unless negative, other types are not integers', () => {
  for (const form of ['d005', 'd10005', 'd200000005', 'd30000000000000005', 'cf0000000000000005']) {
    assert.equal(new Reader(bytes(form)).uint(), 5n)
    assert.equal(new Reader(bytes(form)).smallUint(5), 5)
    assert.throws(() => new Reader(bytes(form)).smallUint(4), DecodeError)
  }
  for (const form of [
    'ff',
    'e0',
    'd0ff',
    'd1ffff',
    'd2ffffffff',
    'd3ffffffffffffffff',
    'c3',
    'c0',
    'a135',
    'ca40a00000',
    'c1',
  ]) {
    assert.throws(() => new Reader(bytes(form)).uint(), DecodeError, form)
  }
  assert.throws(() => new Reader(bytes('cf0000000100000000')).smallUint(0xffffffff), DecodeError)
})

test('rejects a count or length beyond the input before allocating', () => {
  for (const form of ['dfffffffff', 'de0001', '81', '8101']) {
    assert.throws(() => new Reader(bytes(form)).mapHeader(), DecodeError, form)
  }
  for (const form of ['ddffffffff', 'dc0001', '91']) {
    assert.throws(() => new Reader(bytes(form)).arrayHeader(), DecodeError, form)
  }
  for (const form of ['c6ffffffff', 'dbffffffff', 'c5', 'c401', 'a1', '']) {
    assert.throws(() => new Reader(bytes(form)).bin(), DecodeError, form)
  }
})

test('text that is not UTF-8 is rejected as text and readable as bytes', () => {
  assert.throws(() => new Reader(bytes('a1ff')).str(), DecodeError)
  assert.deepEqual(new Reader(bytes('a1ff')).bin(), Uint8Array.of(0xff))
  assert.equal(new Reader(bytes('a3efbbbf')).str(), '\ufeff')
})

test('values read from a Buffer are plain copies; views share its memory', () => {
  const source = Buffer.from('c40101', 'hex')
  const copy = new Reader(source).bin()
  const view = new Reader(source).view()
  source[2] = 9
  assert.equal(copy.constructor, Uint8Array)
  assert.deepEqual([copy[0], view[0]], [1, 9])
})

test('skip skips every type', () => {
  const forms = [
    '00',
    'ff',
    'c0',
    'c2',
    'ca00000000',
    'cb0000000000000000',
    'cc00',
    'cf0000000000000000',
    'd000',
    'd3ffffffffffffffff',
    'd40100',
    `d801${'00'.repeat(16)}`,
    'c70101ff',
    'c8000101ff',
    'c90000000101ff',
    'a161',
    'd90161',
    'c40100',
    '9201a0',
    '8101c0',
    '919190',
    'dc000101',
    'de00010101',
  ]
  for (const form of forms) {
    const reader = new Reader(bytes(`${form}2a`))
    reader.skip()
    assert.equal(reader.uint(), 42n, form)
    assert.throws(() => new Reader(bytes(form.slice(0, -2))).skip(), DecodeError, form)
  }
  assert.throws(() => new Reader(bytes('c1')).skip(), DecodeError)
})

test('limits nesting, without recursion', () => {
  const nested = (depth: number) => new Reader(Uint8Array.of(...new Array(depth).fill(0x91), 0x01))
  nested(32).skip()
  assert.throws(() => nested(33).skip(), /too deeply/)
  nested(100_000).skip(100_000)
})

test('a writer with a target stays inside it', () => {
  const target = new Uint8Array(4)
  assert.throws(() => new Writer(target).bin(Uint8Array.of(1, 2, 3)), EncodeError)
  const written = new Writer(target).bin(Uint8Array.of(1, 2)).bytes()
  assert.equal(written.buffer, target.buffer)
  assert.equal(hex(written), 'c4020102')
})

test('numbers that are not unsigned integers are rejected', () => {
  for (const value of [-1, 0.5, Number.NaN, 2 ** 53, -1n, 2n ** 64n]) {
    assert.throws(() => new Writer().uint(value), EncodeError, String(value))
  }
})

function bytes(form: string): Uint8Array {
  return new Uint8Array(Buffer.from(form, 'hex'))
}

function hex(data: Uint8Array): string {
  return Buffer.from(data).toString('hex')
}
