/** Differential fuzzing against llhttp, the parser of Node: request smuggling needs two parsers that differ. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { seed as givenSeed } from '../../../test/seed.mjs'
import { difference, readByNode, readByUs } from './llhttp.test.helper.js'

const runs = Number(process.env['LATCHKEY_FUZZ'] ?? 4_000)
const fixedSeed = 20_261_115
/** A slow machine runs fewer cases. */
const timeLimitMs = process.env['LATCHKEY_FUZZ'] === undefined ? 20_000 : 3_600_000

/** Mostly valid input, so that enough cases get past the first line. */
const mostly = (right: readonly string[], wrong: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 15, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: fc.constantFrom(...wrong) })

const method = mostly(['GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE', 'PUT'], ['CONNECT', 'get', 'PRI', 'M-SEARCH', 'NEW'])
const target = mostly(
  ['/', '/a?b=c', '/v1/wallets', '*', 'http://a/b', '/%00'],
  [
    '/a#b',
    'HTTP://a',
    'a',
    'a:80',
    '//a/b',
    '/\xff',
    '/a\\b',
    '/[',
    '/"<>',
    'ftp://x/',
    '*a',
    '?a',
    'http:/a',
    'http://a@b/',
    '',
  ],
)
const version = mostly(
  ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'],
  ['HTTP/0.9', 'HTTP/2.0', 'http/1.1', 'HTTP/1.2', 'HTTP/1.1 '],
)
const name = mostly(
  ['Host', 'X-A', 'x-a', 'Cookie', 'Connection', 'Expect', 'X_C', 'Keep-Alive', 'Accept'],
  ['X B', '', 'A:', 'Trailer', 'TE', 'Upgrade', 'X\xff', '(', 'X\t'],
)
const value = mostly(
  ['a', '', ' ', '\t a \t', 'a, b', 'keep-alive', '100-continue', '\xe4', '"', 'x: y'],
  ['close', 'Keep-Alive, Upgrade', 'websocket', '\x7f', 'a\x00b', 'a\rb', 'a\nb', '\x1f'],
)
const separator = mostly([': ', ':', ':\t'], [' : ', '', '::'])
const header = fc.tuple(name, separator, value).map((parts) => parts.join(''))
const framing = fc.constantFrom(
  ...['Content-Length: +3', 'Content-Length: 3, 3', 'Content-Length: 0x3', 'Content-Length:', 'Content-Length: 03'],
  ...['Content-Length: 3 ', 'Content-Length:\t3', 'Content-Length: 3\r\nContent-Length: 3', 'Content-Length : 3'],
  ...['Transfer-Encoding: identity', 'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: Chunked'],
  ...['Transfer-Encoding: chunked,', 'Transfer-Encoding:\tchunked', 'Transfer-Encoding: xchunked'],
  ...['Transfer-Encoding : chunked', 'Transfer-Encoding: chunked, chunked', 'Transfer-Encoding: "chunked"'],
  ...['Transfer-Encoding: chunked\t', 'Transfer-Encoding: chunked \t ', 'Content-Length: 3\t', 'Content-Length: 3 \t'],
)
const extension = mostly(
  ['', '', '', ';a', ';a=b', ';a="b;c"', ';a=b;c', ';a="\\""'],
  [';a="b', ';', ' ', ' ;a', ';a= b', ';a="b"c', ';a="\x01"', ';\xff', ';a="\xff"', ';a=', ';;', '\t', ';a="\\'],
)
const sizes = [
  (bytes: number): string => bytes.toString(16),
  (bytes: number): string => `0${bytes.toString(16)}`,
  (bytes: number): string => bytes.toString(16).toUpperCase(),
]
const size = fc.constantFrom(...sizes)
const content = fc.string({ maxLength: 20 })
const trailer = fc.oneof(
  { weight: 4, arbitrary: header },
  { weight: 1, arbitrary: fc.constantFrom('Content-Length: 3', 'Transfer-Encoding: chunked', ' a: b', 'a', 'a:b') },
)
const lineEnd = mostly(['\r\n'], ['\n', '\r', '\r\r\n', '\n\r'])

const chunk = fc.tuple(
  content.filter((text) => text !== ''),
  ...([extension, size, lineEnd] as const),
)
const chunks = fc
  .tuple(fc.array(chunk, { maxLength: 3 }), extension, fc.array(trailer, { maxLength: 2 }))
  .map(([parts, last, trailers]) => {
    const written = parts.map(([text, more, write, end]) => `${write(text.length)}${more}${end}${text}\r\n`)
    return `${written.join('')}0${last}\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`
  })

/** How the end of the body is announced, and the body. */
const body: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(['', '']) },
  { weight: 4, arbitrary: content.map((text) => [`Content-Length: ${text.length}`, text]) },
  { weight: 6, arbitrary: chunks.map((text) => ['Transfer-Encoding: chunked', text]) },
  { weight: 1, arbitrary: fc.tuple(framing, fc.oneof(content, chunks)) },
  { weight: 1, arbitrary: fc.tuple(framing, framing, content).map(([a, b, text]) => [`${a}\r\n${b}`, text]) },
)

const before = mostly([''], ['\r\n', '\r\n\r\n', ' ', '\n'])
const request = fc
  .tuple(method, target, version, fc.array(header, { maxLength: 3 }), body, lineEnd, before)
  .map(([verb, path, protocol, headers, [announced = '', text = ''], end, ahead]) => {
    const lines = [...headers, ...(announced === '' ? [] : [announced])].map((line) => `${line}\r\n`)
    return `${ahead}${verb} ${path} ${protocol}${end}${lines.join('')}\r\n${text}`
  })

type Mutation = [kind: 'replace' | 'insert' | 'delete' | 'repeat', at: number, byte: string, length: number]
const mutation: fc.Arbitrary<Mutation> = fc.tuple(
  fc.constantFrom('replace' as const, 'insert' as const, 'delete' as const, 'repeat' as const),
  fc.nat({ max: 400 }),
  fc.oneof(
    fc.constantFrom('\r', '\n', '\r\n', ' ', '\t', ':', ';', ',', '"', '\\', '\0', '\x7f', '\x80', '\xff', '0', 'a'),
    fc.nat({ max: 255 }).map((byte) => String.fromCharCode(byte)),
  ),
  fc.integer({ min: 1, max: 12 }),
)

function mutate(text: string, [kind, place, byte, length]: Mutation): string {
  const at = place % (text.length + 1)
  const rest = text.slice(at)
  if (kind === 'insert') return text.slice(0, at) + byte + rest
  if (kind === 'delete') return text.slice(0, at) + rest.slice(length)
  if (kind === 'repeat') return text.slice(0, at) + rest.slice(0, length) + rest
  return text.slice(0, at) + byte + rest.slice(1)
}

const valid = 'GET /end HTTP/1.1\r\nHost: a\r\n\r\n'
const stream = fc
  .tuple(fc.array(request, { minLength: 1, maxLength: 3 }), fc.array(mutation, { maxLength: 3 }), fc.boolean())
  .map(([requests, mutations, isMutated]) => (isMutated ? mutations : []).reduce(mutate, requests.join('')) + valid)
const cuts = fc.oneof(
  fc.constant<number[]>([]),
  fc.array(fc.nat({ max: 400 }), { maxLength: 6 }),
  fc.constant('bytes' as const),
)

function split(text: string, places: number[] | 'bytes'): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  const ends = places === 'bytes' ? [...bytes.keys()] : places.map((place) => place % (bytes.length + 1))
  const sorted = [0, ...ends.sort((a, b) => a - b), bytes.length]
  return sorted
    .slice(1)
    .map((end, at) => bytes.subarray(sorted[at], end))
    .filter(({ length }) => length > 0)
}

async function fuzz(t: TestContext, seed: number): Promise<void> {
  let accepted = 0
  let count = 0
  const property = fc.asyncProperty(stream, cuts, async (text, places) => {
    const pieces = split(text, places)
    const [ours, theirs] = await Promise.all([readByUs(pieces), readByNode(pieces)])
    count++
    accepted += ours.requests.length
    assert.equal(difference(ours, theirs), undefined, JSON.stringify(text))
  })
  await fc.assert(property, { seed, numRuns: runs, interruptAfterTimeLimit: timeLimitMs })
  t.diagnostic(`seed ${seed}: ${count} streams, ${accepted} requests accepted`)
  assert.ok(accepted > 0)
}

test('llhttp understands all accepted input the same way: fixed seed', (t) => fuzz(t, fixedSeed))

test('llhttp understands all accepted input the same way: another seed', (t) => fuzz(t, givenSeed))
