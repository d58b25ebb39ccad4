import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import type { CommandError } from './errors.js'
import { explainListenError } from './listenErrors.js'
import { explainServerError } from './serverErrors.js'

async function failureOf(url: string): Promise<CommandError> {
  const error = await fetch(url).catch((reason: unknown) => explainServerError(reason, url))
  return error as CommandError
}

test('a port without a listener is named, with the remedy', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const again = await new Promise((resolve) => createServer().once('error', resolve).listen(port, '127.0.0.1'))
  const inUse = explainListenError(new Error('outer', { cause: again }), { host: '127.0.0.1', port }) as CommandError
  assert.deepEqual(
    [inUse.code, inUse.message, inUse.hint],
    ['port_in_use', `port ${port} is in use`, 'give another with --port, or 0 for a free one'],
  )
  await new Promise((resolve) => server.close(resolve))
  const { code, message, hint, exit } = await failureOf(`http://127.0.0.1:${port}/weather`)
  assert.deepEqual(
    [code, message, exit],
    ['server_unreachable', `nothing listens at http://127.0.0.1:${port}`, 'unreachable'],
  )
  assert.equal(hint, 'start the server there, or correct the address')
})

test('a server that closes the connection is distinguished from one that speaks another protocol', async (t) => {
  const answers: { [word: string]: string } = { close: '', other: 'SSH-2.0-OpenSSH\r\n' }
  for (const [word, pattern] of [
    ['close', /closed the connection without a response/],
    ['other', /does not speak HTTP/],
  ] as const) {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      // Not earlier, because the client keeps reconnecting to a server that closes an idle connection.
      socket.once('data', () => socket.end(answers[word] ?? ''))
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    assert.match((await failureOf(`http://127.0.0.1:${port}/`)).message, pattern)
  }
})

test('codes are found in causes and among several addresses', () => {
  const coded = (code: string): Error => Object.assign(new Error(code), { code })
  const failed = (cause: unknown): CommandError =>
    explainServerError(new TypeError('fetch failed', { cause }), 'http://example.test/') as CommandError
  assert.match(failed(coded('ENOTFOUND')).message, /^the host name example\.test does not exist$/)
  assert.match(
    failed(new AggregateError([coded('ECONNREFUSED')])).message,
    /^nothing listens at http:\/\/example\.test$/,
  )
  assert.match(failed(coded('CERT_HAS_EXPIRED')).message, /has expired/)
  assert.match(failed(new Error('bad port')).message, /^the request failed: bad port$/)
  const mistake = new TypeError('x is not a function')
  assert.equal(explainServerError(mistake, 'http://example.test/'), mistake)
  const other = new Error('other')
  assert.equal(explainListenError(other, { host: 'x', port: 1 }), other)
})
