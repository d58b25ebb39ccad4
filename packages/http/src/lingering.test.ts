/** Tests how a connection ends after its last response. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RawHandler } from './Message.js'
import { get, serve, serveFetch } from './Peer.test.helper.js'

const bytes = 24 * 1024 * 1024
const large = Buffer.alloc(bytes, 'x')
const handlers: [string, RawHandler][] = [
  ['bytes', () => ({ status: 200, headers: [], body: large })],
  ['a text', () => ({ status: 200, headers: [], body: large.toString('latin1') })],
]

const limits = { lingerMs: 50, idleMs: 2_000 }

for (const [what, handle] of handlers) {
  test(`a slow peer gets all of a large response of ${what}, however long it takes`, async (t) => {
    const { dial } = await serve(t, handle, { limits })
    const { socket, send, ended } = dial()
    let received = 0
    socket.on('data', (chunk) => {
      received += chunk.length
    })
    socket.pause()
    send(get('/', 'Connection: close'))
    // Longer than the linger time of the connection, in several pauses.
    for (let round = 0; round < 8; round++) {
      await sleep(100)
      socket.resume()
      await sleep(5)
      socket.pause()
    }
    socket.resume()
    await ended
    assert.ok(received > bytes, `${received} of ${bytes} bytes arrived`)
  })
}

test('several large responses over one connection keep their order', async (t) => {
  const { url } = await serveFetch(
    t,
    (request) => new Response(large.subarray(0, Number(new URL(request.url).port) * 3)),
  )
  const lengths = await Promise.all([1, 2, 3].map(async () => (await (await fetch(url)).arrayBuffer()).byteLength))
  assert.equal(new Set(lengths).size, 1)
  const { dial } = await serve(t, ({ target }) => ({ status: 200, headers: [], body: target.repeat(50_000) }))
  const peer = dial()
  peer.send(get('/aaaa') + get('/bbbb') + get('/cccc', 'Connection: close'))
  await peer.ended
  const heads = [...peer.received().matchAll(/Content-Length: 250000\r\n/g)]
  assert.equal(heads.length, 3)
  assert.deepEqual(
    [...peer.received().matchAll(/\r\n\r\n\/(a|b|c)/g)].map(([, letter]) => letter),
    ['a', 'b', 'c'],
  )
})

test('HEAD of a large response has its length and no body', async (t) => {
  const { dial } = await serve(t, handlers[0]![1])
  const peer = dial()
  peer.send(get('/', 'Connection: close').replace('GET', 'HEAD'))
  await peer.ended
  assert.match(peer.received(), new RegExp(`Content-Length: ${bytes}\\r\\n(?:.*\\r\\n)*\\r\\n$`))
})

test('a peer that reads nothing is closed after the idle time', async (t) => {
  const { dial } = await serve(t, handlers[0]![1], { limits: { ...limits, idleMs: 300 } })
  const { socket, send } = dial()
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.pause()
  send(get('/', 'Connection: close'))
  await sleep(1_500)
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
  })
  socket.resume()
  await closed
  assert.ok(received < bytes)
})

test('a peer that keeps sending after the last response can read it, and is closed eventually', async (t) => {
  const { url } = await serve(t, () => ({ status: 413, headers: [], body: 'too large' }), {
    limits: { lingerMs: 100, requestMs: 600 },
  })
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {})
  let received = ''
  let sentAfter = 0
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.write(get('/', 'Content-Length: 100000000').replace('GET', 'POST'))
  const sending = setInterval(() => {
    socket.write('x'.repeat(10_000))
    if (received.includes('too large')) sentAfter++
  }, 10)
  t.after(() => clearInterval(sending))
  await closed
  assert.match(received, /^HTTP\/1\.1 413 /)
  assert.ok(sentAfter > 0)
})
