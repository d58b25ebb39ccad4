import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dropConnection, type RawHandler, type RawRequest } from './Message.js'
import { echo, get, type Peer, post, responses, serve } from './Peer.test.helper.js'

const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i)

/** Sizes around the switch from one write to two, and above the buffers of a socket. */
for (const length of [0, 1, 256, 16 * 1024, 16 * 1024 + 1, 3_000_000]) {
  test(`a body of ${length} bytes arrives unchanged, and the connection stays open`, async (t) => {
    const body = Uint8Array.from({ length }, (_, i) => i * 7)
    const headers = ['Content-Type', 'application/msgpack', 'X-Name', 'gr\xfc\xdfe']
    const peer = (
      await serve(t, (request) => (request.target === '/end' ? echo(request) : { status: 200, headers, body }))
    ).dial()
    peer.send(get('/a') + get('/b') + get('/end'))
    await peer.until('GET /end -')
    const expected = Buffer.from(body).toString('latin1')
    const received = responses(peer.received())
    assert.deepEqual(
      received.map(([status, text]) => [status, text === expected || text]),
      [
        [200, true],
        [200, true],
        [200, 'GET /end -'],
      ],
    )
    assert.match(peer.received(), /X-Name: gr\xfc\xdfe\r\n/)
  })
}

test('a view of a larger buffer is sent without the rest of it', async (t) => {
  const peer = (await serve(t, () => ({ status: 200, headers: [], body: everyByte.subarray(65, 70) }))).dial()
  peer.send(get('/', 'Connection: close'))
  await peer.ended
  assert.deepEqual(responses(peer.received()), [[200, 'ABCDE']])
})

for (const body of ['grüße', everyByte, new Uint8Array(20_000)]) {
  test(`HEAD gets the length of ${typeof body === 'string' ? 'letters' : `${body.length} bytes`} and none of them`, async (t) => {
    const peer = (await serve(t, () => ({ status: 200, headers: [], body }))).dial()
    peer.send(get('/', 'Connection: close').replace('GET', 'HEAD'))
    await peer.ended
    const length = Buffer.byteLength(body)
    assert.match(peer.received(), new RegExp(`\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n$`))
  })
}

test('a 204 has neither length nor body, even if it was given one', async (t) => {
  const peer = (
    await serve(t, (request) => ({ status: request.target === '/end' ? 200 : 204, headers: [], body: 'x' }))
  ).dial()
  peer.send(get('/a') + get('/end'))
  await peer.until('\r\n\r\nx')
  assert.match(peer.received(), /^HTTP\/1\.1 204 No Content\r\nDate: [^\r]*\r\n\r\nHTTP\/1\.1 200 OK/)
})

for (const kind of ['at once', 'later'] as const) {
  test(`dropConnection ${kind} closes its own connection without a response`, async (t) => {
    const { dial } = await serve(t, (request) => {
      if (request.target !== '/fault') return echo(request)
      return kind === 'at once' ? dropConnection : sleep(10).then(() => dropConnection)
    })
    const [other, peer] = [dial(), dial()]
    other.send(get('/before'))
    await other.until('GET /before -')
    peer.send(post('/fault', 'body') + get('/never'))
    await peer.ended
    assert.equal(peer.received(), '')
    other.send(get('/after'))
    await other.until('GET /after -')
  })
}

/**
 * A handler that waits until its peer disconnects and records it. `/quick` responds immediately, also with a listener.
 */
function waiting(): { handle: RawHandler; begun: Promise<void>; calls: string[] } {
  const calls: string[] = []
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const handle: RawHandler = (request: RawRequest) => {
    if (request.target === '/quick') {
      request.onClose!(() => calls.push('quick'))
      return echo(request)
    }
    begin()
    return new Promise((resolve) => {
      request.onClose!(() => calls.push('first'))
      request.onClose!(() => {
        calls.push('second')
        resolve({ status: 200, headers: [], body: 'stopped waiting' })
      })
    })
  }
  return { handle, begun, calls }
}

const departures: { [how: string]: (peer: Peer) => unknown } = {
  'goes away': ({ socket }) => socket.destroy(),
  'breaks off': ({ socket }) => socket.resetAndDestroy(),
  'ends its side': ({ socket }) => socket.end(),
}
for (const [how, leave] of Object.entries(departures)) {
  test(`close listeners are called once when the peer ${how}, and not for earlier requests`, async (t) => {
    const { handle, begun, calls } = waiting()
    const peer = (await serve(t, handle)).dial()
    peer.send(get('/quick') + get('/slow'))
    await begun
    leave(peer)
    for (let waited = 0; calls.length < 2 && waited < 3000; waited += 5) await sleep(5)
    // Time for an unexpected second call.
    await sleep(30)
    assert.deepEqual(calls, ['first', 'second'])
    if (how === 'ends its side') assert.equal(responses(peer.received())[1]?.[1], 'stopped waiting')
  })
}

test('close listeners of a half-closed connection are not called again when the server stops', async (t) => {
  const calls: string[] = []
  const { server, dial } = await serve(
    t,
    (request) => {
      request.onClose!(() => calls.push('closed'))
      return new Promise(() => {})
    },
    { limits: { stopMs: 30 } },
  )
  dial().socket.end(get('/'))
  for (let waited = 0; calls.length === 0 && waited < 3000; waited += 5) await sleep(5)
  await server.stop()
  // Time for an unexpected second call.
  await sleep(30)
  assert.deepEqual(calls, ['closed'])
})

test('a close listener added after the peer ended its side is called asynchronously', async (t) => {
  const order: string[] = []
  const { dial } = await serve(t, async (request) => {
    await sleep(20)
    request.onClose!(() => order.push('closed'))
    order.push('listening')
    await sleep(0)
    return { status: 200, headers: [], body: order.join(' ') }
  })
  const peer = dial()
  peer.socket.end(get('/'))
  await peer.ended
  assert.deepEqual(responses(peer.received()), [[200, 'listening closed']])
})

test('close listeners are not called when the response itself closes the connection', async (t) => {
  const { handle, calls } = waiting()
  const { dial } = await serve(t, (request) => (request.target === '/hang-up' ? hang(request) : handle(request)))
  const hang = (request: RawRequest): typeof dropConnection => {
    request.onClose!(() => calls.push('hung up'))
    return dropConnection
  }
  for (const target of ['/quick', '/hang-up']) {
    const peer = dial()
    peer.send(get(target, 'Connection: close'))
    await peer.ended
    peer.socket.destroy()
  }
  await sleep(30)
  assert.deepEqual(calls, [])
})

test('a request knows both ends of its connection', async (t) => {
  const { dial } = await serve(t, (request) => ({
    status: 200,
    headers: [],
    body: `${request.localAddress!()} ${request.remoteAddress!()}`,
  }))
  const peer = dial()
  peer.send(get('/', 'Connection: close'))
  await peer.ended
  assert.deepEqual(responses(peer.received()), [[200, '127.0.0.1 127.0.0.1']])
})
