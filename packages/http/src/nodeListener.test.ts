import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FetchHandler } from './Message.js'
import { type NodeListenerOptions, toNodeListener } from './nodeListener.js'
import { dial, get, post, responses } from './Peer.test.helper.js'

async function serve(t: TestContext, handler: FetchHandler, options?: NodeListenerOptions) {
  const server = createServer(toNodeListener(handler, options))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close().closeAllConnections())
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, dial: () => dial(t, port) }
}
const host = 'Host: localhost'

test('node:http hosts a fetch handler through toNodeListener', async (t) => {
  const handler: FetchHandler = async (request) => {
    if (request.url.endsWith('/drop')) return Response.error()
    const headers = new Headers([
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
    ])
    return new Response(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`, { headers })
  }
  const { url } = await serve(t, handler)
  const response = await fetch(`${url}/a`, { method: 'POST', body: 'body' })
  assert.equal(await response.text(), 'POST /a body')
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal(await (await fetch(`${url}/b`)).text(), 'GET /b ')
  await assert.rejects(fetch(`${url}/drop`))
})

test('framing is up to the host: lengths and encodings that the handler forwards are removed', async (t) => {
  const { dial } = await serve(t, (request) => {
    const headers = { 'Content-Length': '5', 'Transfer-Encoding': 'chunked', 'Keep-Alive': 'timeout=9', 'X-A': '1' }
    return new Response(new URL(request.url).pathname === '/204' ? null : 'hello world', {
      status: new URL(request.url).pathname === '/204' ? 204 : 200,
      headers,
    })
  })
  const peer = dial()
  peer.send(get('/a', host) + get('/b', host, 'Connection: close'))
  await peer.ended
  assert.deepEqual(responses(peer.received()), [
    [200, 'hello world'],
    [200, 'hello world'],
  ])
  assert.match(peer.received(), /x-a: 1/i)
  assert.doesNotMatch(peer.received(), /timeout=9|transfer-encoding/i)
  const head = dial()
  head.send(get('/a', host, 'Connection: close').replace('GET', 'HEAD'))
  await head.ended
  assert.match(head.received(), /content-length: 5\r\n/i)
  const none = dial()
  none.send(get('/204', host, 'Connection: close').replace('GET', 'HEAD'))
  await none.ended
  assert.doesNotMatch(none.received(), /content-length/i)
})

for (const isBegun of [false, true]) {
  test(`a large body that is ${isBegun ? 'read in part' : 'not read'} does not block the next request`, async (t) => {
    const { dial } = await serve(t, async (request) => {
      if (request.url.endsWith('/next')) return new Response('next')
      if (isBegun) await request.body!.getReader().read()
      return new Response('no', { status: 401 })
    })
    const peer = dial()
    peer.send(post('/', 'x'.repeat(300_000), host))
    await peer.until('401')
    peer.send(get('/next', host))
    await peer.until('\r\n\r\nnext')
  })
}

test('a body read after the response fails', async (t) => {
  const requests: Request[] = []
  const { dial } = await serve(t, (request) => {
    requests.push(request)
    return new Response('done')
  })
  const peer = dial()
  peer.send(post('/', 'body', host, 'Connection: close'))
  await peer.ended
  await sleep(20)
  await assert.rejects(requests[0]!.text())
  assert.equal(requests[0]!.signal.aborted, false)
})

test('a stream is sent as it arrives, and cancelled when the peer disconnects', async (t) => {
  let cancel = (): void => {}
  const cancelled = new Promise<void>((resolve) => {
    cancel = resolve
  })
  let push = (_text: string): void => {}
  const start = (controller: ReadableStreamDefaultController): void => {
    push = (text) => controller.enqueue(Buffer.from(text))
  }
  const errors: unknown[] = []
  const handler = () => new Response(new ReadableStream({ start, cancel }))
  const peer = (await serve(t, handler, { onError: (error) => errors.push(error) })).dial()
  peer.send(get('/', host))
  await peer.until('chunked\r\n\r\n')
  push('one')
  await peer.until('3\r\none\r\n')
  peer.socket.destroy()
  await cancelled
  await sleep(20)
  assert.deepEqual(errors, [])
})

test('a large stream arrives whole', async (t) => {
  const piece = new Uint8Array(64 * 1024).fill(7)
  const { url } = await serve(t, () => {
    let left = 50
    const pull = (controller: ReadableStreamDefaultController): void => {
      if (left-- === 0) controller.close()
      else controller.enqueue(piece)
    }
    return new Response(new ReadableStream({ pull }))
  })
  assert.equal((await (await fetch(url)).arrayBuffer()).byteLength, 50 * piece.length)
})

test('a large body is read whole', async (t) => {
  const { url } = await serve(t, async (request) => new Response(String((await request.text()).length)))
  assert.equal(await (await fetch(url, { method: 'POST', body: 'x'.repeat(1_000_000) })).text(), '1000000')
})

test('a handler that throws is answered with 500 and reported; the connection stays open', async (t) => {
  const errors: unknown[] = []
  const broken = new Error('secret')
  const handler: FetchHandler = (request) => {
    if (request.url.endsWith('/fine')) return new Response('fine')
    throw broken
  }
  const peer = (await serve(t, handler, { onError: (error) => errors.push(error) })).dial()
  peer.send(get('/broken', host) + get('/fine', host))
  await peer.until('\r\n\r\nfine')
  assert.deepEqual(responses(peer.received()), [
    [500, '{"message":"internal server error"}\n'],
    [200, 'fine'],
  ])
  assert.deepEqual(errors, [broken])
})

test('a stream that fails ends its connection without a final chunk and is reported', async (t) => {
  const errors: unknown[] = []
  const broken = new Error('broken')
  const stream = async function* () {
    yield Buffer.from('one')
    await sleep(5)
    throw broken
  }
  const handler = () => new Response(ReadableStream.from(stream()) as ReadableStream)
  const peer = (await serve(t, handler, { onError: (error) => errors.push(error) })).dial()
  peer.send(get('/', host))
  await peer.ended
  assert.ok(peer.received().endsWith('3\r\none\r\n'))
  assert.deepEqual(errors, [broken])
})

test('an absolute target is the URL of the request', async (t) => {
  const peer = (await serve(t, (request) => new Response(request.url))).dial()
  peer.send(get('http://other:81/x', host, 'Connection: close'))
  await peer.ended
  assert.deepEqual(responses(peer.received()), [[200, 'http://other:81/x']])
})

for (const request of [get('/', 'Host: 256.0.0.1'), get('/', 'Host: a/b'), get('/', host).replace('GET', 'TRACE')]) {
  test(`${JSON.stringify(request)} is answered with 400`, async (t) => {
    const peer = (await serve(t, () => new Response('never'))).dial()
    peer.send(request)
    await peer.until('\r\n\r\n')
    assert.equal(responses(peer.received())[0]?.[0], 400)
  })
}
