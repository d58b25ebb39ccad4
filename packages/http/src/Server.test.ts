import assert from 'node:assert/strict'
import { test } from 'node:test'
import { echo, responses, serve } from './Peer.test.helper.js'

const noRequest = 'hello\r\n\r\n'

test('a malformed request is answered with a message in JSON', async (t) => {
  const peer = (await serve(t)).dial()
  peer.send(noRequest)
  await peer.ended
  const message = 'invalid HTTP request: the request line is not HTTP/1.1'
  assert.deepEqual(responses(peer.received()), [[400, `${JSON.stringify({ message })}\n`]])
  assert.match(peer.received(), /\r\nContent-Type: application\/json\r\n/)
})

test('a malformed request is answered in the form of errorResponse', async (t) => {
  const errorResponse = (status: number, message: string) => ({
    status,
    headers: ['X-Custom', 'yes'],
    body: Buffer.from(`${status} ${message}`),
  })
  const { dial } = await serve(t, echo, { errorResponse, limits: { headersMs: 50 } })
  const rejected: [sent: string, status: number, message: RegExp][] = [
    [noRequest, 400, /^400 invalid HTTP request/],
    ['GET / HTTP/1.1\r\n', 408, /^408 the request did not arrive in time$/],
    [`GET / HTTP/1.1\r\nX: ${'x'.repeat(1000)}\r\n\r\n`, 431, /^431 request headers too large/],
  ]
  for (const [sent, status, message] of rejected) {
    const peer = dial()
    peer.send(sent)
    await peer.ended
    const [[answered, body]] = responses(peer.received()) as [[number, string]]
    assert.equal(answered, status)
    assert.match(body, message)
    assert.match(peer.received(), /\r\nX-Custom: yes\r\n[\s\S]*\r\nConnection: close\r\n/)
  }
})

test('a draining server accepts new connections, and closes each after its response', async (t) => {
  const { server, dial } = await serve(t)
  const kept = dial()
  kept.send('GET /one HTTP/1.1\r\nHost: x\r\n\r\n')
  await kept.until('GET /one')
  assert.doesNotMatch(kept.received(), /Connection: close/)
  server.drain()
  kept.send('GET /two HTTP/1.1\r\nHost: x\r\n\r\n')
  await kept.ended
  assert.match(kept.received(), /Connection: close/)
  const late = dial()
  late.send('GET /three HTTP/1.1\r\nHost: x\r\n\r\n')
  await late.ended
  assert.deepEqual(
    responses(late.received()).map(([status]) => status),
    [200],
  )
})
