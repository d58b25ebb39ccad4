import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as RequestHead from './RequestHead.js'

const head = (...lines: string[]): RequestHead.RequestHead => RequestHead.parse(lines.join('\r\n'))
const post = (...headers: string[]): RequestHead.RequestHead => head('POST /v1/key HTTP/1.1', ...headers)
const rejects = (reason: RegExp, parse: () => unknown): void => {
  assert.throws(parse, (error) => error instanceof RequestHead.MalformedError && reason.test(error.message))
}

test('method, target and headers are read; names in any case, values without surrounding whitespace', () => {
  const parsed = head('DELETE /v1/key?a=b HTTP/1.1', 'Host: localhost', 'X-KMD-API-Token:\t abc \t', 'Empty:')
  assert.equal(parsed.method, 'DELETE')
  assert.equal(parsed.target, '/v1/key?a=b')
  assert.deepEqual(
    [...parsed.headers],
    [
      ['host', 'localhost'],
      ['x-kmd-api-token', 'abc'],
      ['empty', ''],
    ],
  )
  assert.deepEqual(parsed.body, { type: 'none' })
})

test('values of a header that may be a list are joined', () => {
  assert.equal(post('Accept: a', 'ACCEPT: b').headers.get('accept'), 'a, b')
})

const requestLines = [
  '',
  'GET',
  'GET /',
  'GET / HTTP/1.1 ',
  ' GET / HTTP/1.1',
  'GET  / HTTP/1.1',
  'GET /a b HTTP/1.1',
  'GET\t/ HTTP/1.1',
  'GET / HTTP/1.2',
  'GET / HTTP/2.0',
  'GET / HTTP/0.9',
  'GET / HTTP/1.10',
  'GET / http/1.1',
  'G(T / HTTP/1.1',
  'GET /\x00 HTTP/1.1',
  'GET /\x7f HTTP/1.1',
  'GET /\n HTTP/1.1',
  `${'A'.repeat(33)} / HTTP/1.1`,
  `GET /${'a'.repeat(8192)} HTTP/1.1`,
]
for (const line of requestLines) {
  test(`rejects the request line ${JSON.stringify(line).slice(0, 40)}`, () => {
    rejects(/request line/, () => head(line, 'Host: localhost'))
  })
}

test('takes a target of 8192 bytes, and a method of 32', () => {
  assert.equal(head(`GET /${'a'.repeat(8191)} HTTP/1.1`).target.length, 8192)
  assert.equal(head(`${'A'.repeat(32)} / HTTP/1.1`).method.length, 32)
})

const badHeaders: { [why: string]: string } = {
  'a folded header': ' folded',
  'a space before the colon': 'Host : localhost',
  'no colon': 'Host',
  'no name': ': value',
  'a name with a space': 'X Y: z',
  'a name with a control character': 'X\x01: z',
  'a value with a bare line feed': 'X: a\nHost: b',
  'a value with a bare carriage return': 'X: a\rHost: b',
  'a value with a zero byte': 'X: \0',
  'a name beyond ASCII': 'X\xe9: z',
}
for (const [why, header] of Object.entries(badHeaders)) {
  test(`rejects ${why}`, () => rejects(/a header is malformed/, () => post('X-First: 1', header)))
}

const tokens = ['Authorization', 'X-KMD-API-Token', 'X-Algo-API-Token']
for (const name of ['Host', 'Content-Length', 'Transfer-Encoding', ...tokens]) {
  test(`rejects a second ${name}, even with the same value`, () => {
    rejects(/more than one/, () => post(`${name}: 5`, `${name.toLowerCase()}: 5`))
  })
}

test('a body is announced by its length', () => {
  assert.deepEqual(post('Content-Length: 0').body, { type: 'length', bytes: 0 })
  assert.deepEqual(post('Content-Length: 0012').body, { type: 'length', bytes: 12 })
  for (const length of ['', '-1', '+1', '1.0', '0x10', '1e3', '1 1', '1, 1', '1;', 'ten', '9'.repeat(16)]) {
    rejects(/content-length is not a number/, () => post(`Content-Length: ${length}`))
  }
})

test('a tab in a framing header is rejected, as parsers differ on it', () => {
  for (const line of ['Transfer-Encoding: chunked\t', 'Transfer-Encoding:\tchunked', 'Content-Length: 5 \t ']) {
    rejects(/there is a tab in the (transfer-encoding|content-length) header/, () => post(line))
  }
  assert.deepEqual(post('Content-Length:  5  ', 'X-A:\tb\t').body, { type: 'length', bytes: 5 })
})

test('Transfer-Encoding is chunked and nothing else', () => {
  assert.deepEqual(post('Transfer-Encoding: Chunked').body, { type: 'chunked' })
  for (const encoding of ['gzip', 'gzip, chunked', 'chunked, chunked', 'identity', '', 'chunked;q=1', 'xchunked']) {
    rejects(/chunked is the only/, () => post(`Transfer-Encoding: ${encoding}`))
  }
})

test('Content-Length with Transfer-Encoding is rejected, in either order', () => {
  rejects(/exclude each other/, () => post('Transfer-Encoding: chunked', 'Content-Length: 5'))
  rejects(/exclude each other/, () => post('Content-Length: 5', 'Transfer-Encoding: chunked'))
})

test('up to 100 headers are read', () => {
  const headers = Array.from({ length: 101 }, (_, i) => `X-${i}: ${i}`)
  assert.equal(post(...headers.slice(0, 100)).headers.size, 100)
  rejects(/more than 100/, () => post(...headers))
})

const persistence: [version: string, connection: string | undefined, keepAlive: boolean][] = [
  ['1.1', undefined, true],
  ['1.1', 'close', false],
  ['1.1', 'Close', false],
  ['1.1', 'foo, CLOSE ,bar', false],
  ['1.1', 'closed', true],
  ['1.1', 'keep-alive', true],
  ['1.0', undefined, false],
  ['1.0', 'keep-alive', true],
  ['1.0', 'Keep-Alive, foo', true],
  ['1.0', 'close', false],
]
for (const [version, connection, keepAlive] of persistence) {
  test(`HTTP/${version} with Connection: ${connection} ${keepAlive ? 'stays open' : 'is closed'}`, () => {
    const headers = connection === undefined ? [] : [`Connection: ${connection}`]
    assert.equal(head(`GET / HTTP/${version}`, ...headers).keepAlive, keepAlive)
  })
}

test('Expect: 100-continue applies to HTTP/1.1 only', () => {
  assert.equal(post('Expect: 100-Continue').expectsContinue, true)
  assert.equal(post('Expect: other').expectsContinue, false)
  assert.equal(head('POST / HTTP/1.0', 'Expect: 100-continue').expectsContinue, false)
})

test('HTTP/1.0 with a chunked body is rejected', () => {
  rejects(/HTTP\/1\.0/, () => head('POST / HTTP/1.0', 'Transfer-Encoding: chunked'))
})

test('whitespace around a value is removed, and whitespace within it takes linear time', () => {
  assert.equal(head('GET / HTTP/1.1', 'A: \t b\t c \t').headers.get('a'), 'b\t c')
  assert.equal(head('GET / HTTP/1.1', 'A:\t \t').headers.get('a'), '')
  const before = process.cpuUsage()
  const value = `a${' '.repeat(100_000)}b`
  assert.equal(head('GET / HTTP/1.1', `A: ${value}`).headers.get('a'), value)
  assert.ok(process.cpuUsage(before).user < 5_000_000, 'takes too long')
})
