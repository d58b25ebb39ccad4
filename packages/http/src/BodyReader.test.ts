import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BodyError, type BodyReader, ChunkedReader, ofLength } from './BodyReader.js'
import '../../../test/seed.mjs'

/** Feeds a reader like a connection: the unread rest is prepended to the next piece. */
function feed(reader: BodyReader, pieces: Uint8Array[]): { body: string; rest: string } {
  let left = Buffer.alloc(0)
  for (const piece of pieces) {
    left = Buffer.concat([left, piece])
    if (!reader.done) left = reader.push(left) as typeof left
  }
  assert.ok(reader.done, 'the body is not complete')
  return { body: reader.take().toString('latin1'), rest: left.toString('latin1') }
}

const chunked = (stream: string, limit = 1000): { body: string; rest: string } =>
  feed(new ChunkedReader(limit), [Buffer.from(stream, 'latin1')])
const isTooLarge = (error: unknown): boolean => error instanceof BodyError && error.code === 'body_too_large'
const isMalformed = (error: unknown): boolean => error instanceof BodyError && error.code === 'body_malformed'
const fuzzRuns = (usual: number): number => Number(process.env['LATCHKEY_FUZZ'] ?? usual)

test('a body of known length ends at its length', () => {
  assert.deepEqual(feed(ofLength(5, 5), [Buffer.from('helloGET /')]), { body: 'hello', rest: 'GET /' })
  assert.deepEqual(feed(ofLength(0, 5), [Buffer.from('GET /')]), { body: '', rest: 'GET /' })
  const reader = ofLength(5, 5)
  reader.push(Buffer.from('hell'))
  assert.equal(reader.done, false)
})

test('a length above the limit is rejected before anything is read', () => {
  assert.throws(() => ofLength(6, 5), isTooLarge)
})

test('a body has the memory of what arrived, and reserves it first', () => {
  const reserved: number[] = []
  const reader = ofLength(1_000_000, 1_000_000, (bytes) => void reserved.push(bytes))
  assert.equal(reserved.length, 0, 'for the announcement alone')
  const piece = Buffer.alloc(1000, 7)
  for (let sent = 0; sent < 1000; sent++) reader.push(piece)
  assert.ok(reserved[0]! <= 4096)
  const body = reader.take()
  assert.deepEqual([body.length, body.buffer.byteLength], [1_000_000, 1_000_000])
  assert.equal(
    reserved.reduce((sum, bytes) => sum + bytes),
    1_000_000,
  )
  const full = ofLength(10, 10, (): void => {
    throw new BodyError('body_no_room')
  })
  assert.throws(() => full.push(piece), { code: 'body_no_room' })
})

test('a body that is not taken is wiped, and none of its copies stays', () => {
  const reader = new ChunkedReader(100_000)
  reader.push(Buffer.from(`4\r\npass\r\n1000\r\n${'x'.repeat(4096)}\r\n`))
  const first = reader.take()
  assert.equal(first.toString('latin1', 0, 4), 'pass')
  reader.push(Buffer.from(`2000\r\n${'y'.repeat(8192)}\r\n`))
  assert.deepEqual(first, Buffer.alloc(first.length), 'the smaller buffer')
  const second = reader.take()
  reader.discard()
  assert.deepEqual(second, Buffer.alloc(second.length))
})

const stream = '5\r\nhello\r\n00006;name="a;b"\r\n world\r\n0;x\r\nX-Sum: 1\r\nOther: 2\r\n\r\nGET /'

test('chunks are joined; hex sizes in any case, extensions and trailers are accepted', () => {
  assert.deepEqual(chunked(stream), { body: 'hello world', rest: 'GET /' })
  assert.deepEqual(chunked(`A\r\n${'x'.repeat(10)}\r\nb\r\n${'y'.repeat(11)}\r\n0\r\n\r\n`).body.length, 21)
  assert.deepEqual(chunked('0\r\n\r\n'), { body: '', rest: '' })
})

test('a stream split at any byte reads the same', () => {
  const bytes = Buffer.from(stream)
  for (let at = 0; at <= bytes.length; at++) {
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)].map((piece) => Buffer.from(piece))
    assert.deepEqual(feed(new ChunkedReader(1000), pieces), { body: 'hello world', rest: 'GET /' }, `cut at ${at}`)
  }
})

const malformed: { [why: string]: string } = {
  'a size that is no number': 'x\r\n',
  'no size': '\r\nhello\r\n0\r\n\r\n',
  'a negative size': '-5\r\nhello\r\n',
  'a size with 0x': '0x5\r\nhello\r\n',
  'a size with a space before it': ' 5\r\nhello\r\n',
  'a size of more than eight digits': '000000005\r\nhello\r\n',
  'a chunk longer than its size': '4\r\nhello\r\n0\r\n\r\n',
  'a chunk ended by a line feed alone': '5\r\nhello\n0\r\n\r\n',
  'a size line ended by a line feed alone': '5\nhello\r\n0\r\n\r\n',
  'an extension with a line feed in it': '5;a\nb\r\nhello\r\n',
  'an extension without a name': '5;\r\nhello\r\n0\r\n\r\n',
  'an extension whose name is none': '5;a b\r\nhello\r\n0\r\n\r\n',
  'an extension without its value': '5;a=\r\nhello\r\n0\r\n\r\n',
  'an extension with an open quote': '5;a="b\r\nhello\r\n0\r\n\r\n',
  'an extension that ends in an escape': '5;a="b\\"\r\nhello\r\n0\r\n\r\n',
  'an extension with a control character': '5;a="\u0001"\r\nhello\r\n0\r\n\r\n',
  'white space before an extension': '5 ;a\r\nhello\r\n0\r\n\r\n',
  'white space after a size': '5 \r\nhello\r\n0\r\n\r\n',
  'a trailer without a colon': '0\r\nabc\r\n\r\n',
  'a folded trailer': '0\r\na: b\r\n c\r\n\r\n',
  'a trailer with a space in its name': '0\r\na b: c\r\n\r\n',
  'a trailer with a line feed in it': '0\r\na: b\nc: d\r\n\r\n',
  'a length as a trailer': '0\r\nContent-Length: 5\r\n\r\n',
  'a token as a trailer': '0\r\nX-KMD-API-Token: a\r\n\r\n',
  'a size line without end': `5;${'a'.repeat(256)}`,
  'a long size line': `5;${'a'.repeat(256)}\r\nhello\r\n0\r\n\r\n`,
  'trailers without end': `0\r\n${`T: ${'a'.repeat(200)}\r\n`.repeat(30)}\r\n`,
}
for (const [why, sent] of Object.entries(malformed)) {
  test(`rejects ${why}`, () => assert.throws(() => chunked(sent), isMalformed))
}

test('chunks are counted against the limit as they arrive', () => {
  assert.equal(chunked('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 5).body, 'abcde')
  assert.throws(() => chunked('3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n', 5), isTooLarge)
  assert.throws(() => chunked(`ffffffff\r\n${'x'.repeat(6)}`, 5), isTooLarge)
})

const anyStream = fc
  .tuple(
    fc.array(
      fc.record({
        data: fc.uint8Array({ minLength: 1, maxLength: 40 }),
        extension: fc.constantFrom('', ';a', ';b=c', ';b="c\\"; d"', ';x;y=z'),
      }),
      { maxLength: 5 },
    ),
    fc.array(fc.constantFrom('A: b', 'X-Checksum:x'), { maxLength: 3 }),
  )
  .map(([chunks, trailers]) => {
    const parts = chunks.map(({ data, extension }) => [
      Buffer.from(`${data.length.toString(16)}${extension}\r\n`),
      Buffer.from(data),
      Buffer.from('\r\n'),
    ])
    const end = Buffer.from(`0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`)
    const body = Buffer.concat(chunks.map(({ data }) => data)).toString('latin1')
    return { bytes: Buffer.concat([...parts.flat(), end]), body }
  })

test('a valid stream gives the same body for any split', () => {
  fc.assert(
    fc.property(anyStream, fc.array(fc.nat(), { maxLength: 12 }), ({ bytes, body }, cuts) => {
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
      const pieces = places.slice(1).map((end, i) => Buffer.from(bytes.subarray(places[i], end)))
      assert.deepEqual(feed(new ChunkedReader(1000), pieces), { body, rest: '' })
    }),
    { numRuns: fuzzRuns(3000) },
  )
})

test('damaged and random streams are either read or rejected', () => {
  const letters = fc.constantFrom(0x30, 0x31, 0x61, 0x0d, 0x0a, 0x3b, 0x20, 0xff)
  const random = fc.array(fc.oneof(letters, fc.nat({ max: 255 })), { maxLength: 60 }).map((bytes) => Buffer.from(bytes))
  const damaged = fc.tuple(anyStream, fc.nat(), fc.nat({ max: 255 })).map(([{ bytes }, at, byte]) => {
    bytes[at % bytes.length] = byte
    return bytes
  })
  fc.assert(
    fc.property(fc.oneof(random, damaged), fc.integer({ min: 1, max: 9 }), (bytes, step) => {
      const reader = new ChunkedReader(100)
      let left: Buffer = Buffer.alloc(0)
      try {
        for (let at = 0; at < bytes.length && !reader.done; at += step) {
          left = reader.push(Buffer.concat([left, bytes.subarray(at, at + step)]))
        }
      } catch (error) {
        assert.ok(isMalformed(error) || isTooLarge(error), String(error))
      }
    }),
    { numRuns: fuzzRuns(10_000) },
  )
})

test('a long trailer reads the same whether its end comes with it or later', () => {
  const trailer = `X: ${'t'.repeat(300)}`
  const whole = `0\r\n${trailer}\r\n\r\n`
  assert.equal(chunked(whole).body, '')
  const { body } = feed(new ChunkedReader(1000), [Buffer.from(whole.slice(0, -4)), Buffer.from(whole.slice(-4))])
  assert.equal(body, '')
})
