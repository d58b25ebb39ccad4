/** Compares the reader with llhttp, Node's parser: whatever is accepted here must mean the same there. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { createTransport } from './node.js'
import { ResponseReader } from './ResponseReader.js'
import * as Server from './Server.js'

const timeout = 300_000
const cases = Number(process.env['LATCHKEY_FUZZ'] ?? 300)

const parts = [
  ...['HTTP/1.1 200 OK\r\n', 'HTTP/1.0 200 OK\r\n', 'HTTP/1.1 204 No Content\r\n', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ...['Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'content-length:05\r\n', 'Transfer-Encoding: chunked\r\n'],
  ...[
    'Transfer-Encoding: gzip\r\n',
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Keep-Alive: timeout=5\r\n',
  ],
  ...['X-A: 1\r\n', 'X-A : 1\r\n', ' folded\r\n', 'X-B:\r\n', '\r\n', '\n', '\r', '\0', ' ', ':', 'sunny'],
  ...['5\r\nsunny\r\n', '0\r\n\r\n', '0\r\nX-T: 1\r\n\r\n', '5;a=b\r\nsunny\r\n', '5 \r\nsunny\r\n', '\u00e4', '\x7f'],
]

/** A seeded generator, so that every run has the same cases. */
function generator(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

function response(next: (limit: number) => number): string {
  const framing = ['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', ''][next(3)]!
  const body = ['sunny', '5\r\nsunny\r\n0\r\n\r\n', '2\r\nsu\r\n3\r\nnny\r\n0\r\n\r\n'][next(3)]!
  let text = `HTTP/1.1 200 OK\r\nX-A: 1\r\n${framing}\r\n${body}`
  for (let count = next(4); count > 0; count--) {
    const at = next(text.length + 1)
    text = text.slice(0, at) + parts[next(parts.length)] + text.slice(at + (next(2) === 0 ? 0 : next(6)))
  }
  return text
}

/** The number of bytes of the first final response. */
function lengthOf(text: string): number {
  const handler = { onHead: () => {}, onData: () => {} }
  const reader = new ResponseReader()
  reader.start(handler, 'GET')
  for (let at = 0; at < text.length; at++) {
    reader.read(Buffer.from(text[at]!, 'latin1'))
    if (reader.isComplete) return at + 1
  }
  return text.length
}

test('accepts nothing that llhttp rejects or reads differently', { timeout }, async (t) => {
  let text = ''
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(text, 'latin1'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const target = Server.fromUrl(new URL(`http://127.0.0.1:${port}`))
  const transport = createTransport()
  const byUs = async (): Promise<[number, string] | undefined> => {
    const sent = { server: target, path: '/', method: 'GET', headers: {}, timeoutMs: 60_000, maxResponseBytes: 10_000 }
    const result = await transport.send(sent).catch(() => undefined)
    return result && [result.status, Buffer.from(result.body).toString('latin1')]
  }
  const byNode = (): Promise<[number, string] | undefined> =>
    new Promise((resolve) => {
      const sent = request({ host: '127.0.0.1', port, agent: false }, (incoming) => {
        let body = ''
        incoming.on('data', (piece: Buffer) => {
          body += piece.toString('latin1')
        })
        incoming.on('end', () => resolve([incoming.statusCode!, body]))
        incoming.on('error', () => resolve(undefined))
      })
      sent.on('error', () => resolve(undefined))
      sent.on('close', () => resolve(undefined))
      sent.end()
    })
  const next = generator(7)
  let accepted = 0
  for (let count = 0; count < cases; count++) {
    text = response(next)
    const ours = await byUs()
    if (ours === undefined) continue
    accepted++
    // We ignore the bytes after a response, and close the connection. llhttp reads them as the next response.
    text = text.slice(0, lengthOf(text))
    assert.deepEqual(ours, await byNode(), JSON.stringify(text))
  }
  assert.ok(accepted > cases / 10, `${accepted} of ${cases}`)
})
