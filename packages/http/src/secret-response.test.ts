/** Tests responses whose bytes are overwritten once they are sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { get, serve } from './Peer.test.helper.js'
import { toFetch } from './toFetch.js'

const secret = 'the secret of this response'

test('a secret is sent whole, and its bytes are overwritten; other bodies are unchanged', async (t) => {
  const bodies: Buffer[] = []
  const { dial } = await serve(t, ({ target }) => {
    const body = Buffer.from(secret)
    bodies.push(body)
    return { status: 200, headers: ['X-Kind', 'key'], body, wipe: target === '/secret' }
  })
  const peer = dial()
  peer.send(get('/secret') + get('/other') + get('/secret', 'Connection: close'))
  await peer.ended
  assert.equal(peer.received().split(secret).length, 4)
  assert.equal(peer.received().split(`Content-Length: ${secret.length}\r\n`).length, 4)
  assert.deepEqual(
    bodies.map((body) => body.every((byte) => byte === 0)),
    [true, false, true],
  )
})

test('a web-standard response has a copy of a secret, and the bytes are overwritten', async () => {
  const body = Buffer.from(secret)
  const fetch = toFetch(() => ({ status: 200, headers: [], body, wipe: true }))
  const response = await fetch(new Request('http://localhost/'))
  assert.ok(body.every((byte) => byte === 0))
  assert.equal(await response.text(), secret)
})

test('a secret is overwritten if the peer has left or did not want it', async (t) => {
  const bodies: Buffer[] = []
  let left = (): void => {}
  const peerLeft = new Promise<void>((resolve) => {
    left = resolve
  })
  const { dial } = await serve(t, async ({ method, onClose }) => {
    const body = Buffer.from(secret)
    bodies.push(body)
    if (method === 'GET') {
      onClose?.(left)
      await peerLeft
      // The socket is destroyed shortly after the peer's end is seen.
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return { status: 200, headers: [], body, wipe: true }
  })
  const head = dial()
  head.send(get('/').replace('GET', 'HEAD').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  await head.ended
  assert.ok(!head.received().includes(secret))
  const leaving = dial()
  leaving.send(get('/'))
  while (bodies.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  leaving.socket.resetAndDestroy()
  const giveUpAt = Date.now() + 30_000
  while (bodies.some((body) => body.includes(secret)) && Date.now() < giveUpAt) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.ok(bodies.every((body) => body.every((byte) => byte === 0)))
})
