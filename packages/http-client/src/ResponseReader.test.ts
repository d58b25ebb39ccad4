import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ResponseHead, ResponseReader } from './ResponseReader.js'

type Reading = { head: ResponseHead | undefined; body: string; isComplete: boolean; isPersistent: boolean }

/** Reads a response in pieces of the given size, and then the end of the connection if it was closed. */
function read(text: string, { method = 'GET', pieceBytes = text.length, isClosed = false } = {}): Reading {
  let head: ResponseHead | undefined
  let body = ''
  const handler = {
    onHead: (one: ResponseHead) => {
      head = one
    },
    onData: (piece: Buffer) => {
      body += piece.toString('latin1')
    },
  }
  const reader = new ResponseReader()
  reader.start(handler, method)
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.read(bytes.subarray(at, at + pieceBytes))
  if (isClosed) reader.close()
  const { isComplete, isPersistent } = reader
  return { head, body, isComplete, isPersistent }
}

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

test('reads bodies by length, in chunks and to the end of the connection, in pieces of any size', () => {
  const cases = [
    { text: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny', isPersistent: true },
    { text: `${chunked}2\r\nsu\r\n3;a="b"\r\nnny\r\n0\r\nX-A: b\r\n\r\n`, isPersistent: true },
    { text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny', isPersistent: true },
    { text: 'HTTP/1.0 200\r\nConnection: Keep-Alive\r\nContent-Length:5\r\n\r\nsunny', isPersistent: true },
    { text: 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nsunny', isPersistent: false },
    { text: 'HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 5\r\n\r\nsunny', isPersistent: false },
    { text: 'HTTP/1.1 200 OK\r\n\r\nsunny', isPersistent: false },
  ]
  for (const { text, isPersistent } of cases) {
    for (const pieceBytes of [1, 2, 3, 7, text.length]) {
      const reading = read(text, { pieceBytes, isClosed: !isPersistent })
      assert.deepEqual(
        [reading.head?.status, reading.body, reading.isComplete, reading.isPersistent],
        [200, 'sunny', true, isPersistent],
        text,
      )
    }
  }
})

test('a response without a body ends with its head', () => {
  for (const status of ['204 No Content', '304 Not Modified']) {
    const reading = read(`HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\n`)
    assert.deepEqual([reading.isComplete, reading.isPersistent], [true, true])
  }
  assert.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', { method: 'HEAD' }).isComplete, true)
})

test('headers keep their order and lose the space around their values', () => {
  const { head } = read('HTTP/1.1 402 Pay\r\nX-A: \t1 \r\nx-b:\r\nX-A: 2\u00e4\r\nContent-Length: 0\r\n\r\n')
  assert.deepEqual(head, {
    status: 402,
    statusText: 'Pay',
    headers: ['X-A', '1', 'x-b', '', 'X-A', '2\u00e4', 'Content-Length', '0'],
  })
})

test('bytes after the end make a connection unusable, and a body that breaks off is not complete', () => {
  assert.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n').isPersistent, false)
  assert.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsunny', { isClosed: true }).isComplete, false)
  assert.equal(read(`${chunked}5\r\nsunny\r\n`, { isClosed: true }).isComplete, false)
})

test('a response of HTTP/1.0 in chunks ends its connection', () => {
  // RFC 9112, 6.1: the framing is faulty.
  const { body, isPersistent } = read(
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsunny\r\n0\r\n\r\n',
  )
  assert.deepEqual([body, isPersistent], ['sunny', false])
})

test('rejects responses that two parsers could read differently', () => {
  const heads = [
    'HTTP/2.0 200 OK\r\n\r\n',
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
    'ICY 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-A : 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-A: 1\nX-B: 2\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-A: 1\rX-B: 2\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-A\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
    `${chunked}5 \r\nsunny\r\n`,
    `${chunked}5\nsunny\r\n`,
    `${chunked}-1\r\n`,
    `${chunked}5\r\nsunnyX\r\n`,
    `${chunked}0\r\nX-A\r\n\r\n`,
    `HTTP/1.1 103 Early Hints\r\n\r\n`.repeat(17),
  ]
  for (const text of heads) assert.throws(() => read(text), { code: 'HPE_INVALID_RESPONSE' }, JSON.stringify(text))
})

test('limits heads, chunk lines and trailers', () => {
  const long = 'x'.repeat(17_000)
  for (const pieceBytes of [1_000, 20_000]) {
    const head = `HTTP/1.1 200 OK\r\nX-A: ${long}`
    assert.throws(() => read(head, { pieceBytes }), { code: 'HPE_HEADER_OVERFLOW' })
    assert.throws(() => read(`${chunked}1;${long}`, { pieceBytes }), { code: 'HPE_INVALID_RESPONSE' })
    assert.throws(() => read(`${chunked}0\r\n${`X-A: ${'x'.repeat(1_000)}\r\n`.repeat(17)}`, { pieceBytes }), {
      code: 'HPE_INVALID_RESPONSE',
    })
  }
  assert.equal(read(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: ${long.slice(0, 16_000)}\r\n\r\n`).isComplete, true)
})
