import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BodyError } from './BodyReader.js'
import { get, post, serveFetch, serveSockets } from './Peer.test.helper.js'

test('a streaming body is sent in chunks as they arrive, and the connection stays open', async (t) => {
  let push = (_text: string | undefined): void => {}
  const peer = (
    await serveFetch(t, (request) => {
      if (request.url.endsWith('/end')) return new Response('end')
      return new Response(
        new ReadableStream({
          start(controller) {
            push = (text) => (text === undefined ? controller.close() : controller.enqueue(Buffer.from(text)))
            push('one')
          },
        }),
        { headers: { 'Content-Length': '99' } },
      )
    })
  ).dial()
  peer.send(get('/stream'))
  await peer.until('\r\n\r\n3\r\none\r\n')
  push('three')
  await peer.until('5\r\nthree\r\n')
  push(undefined)
  await peer.until('0\r\n\r\n')
  assert.match(peer.received(), /Transfer-Encoding: chunked/)
  assert.doesNotMatch(peer.received(), /content-length/i)
  peer.send(get('/end'))
  await peer.until('\r\n\r\nend')
})

test('a large stream arrives whole, however slowly it is read', async (t) => {
  const piece = new Uint8Array(64 * 1024).fill(7)
  const { url } = await serveFetch(t, () => {
    let left = 100
    const pull = (controller: ReadableStreamDefaultController): void => {
      if (left-- === 0) controller.close()
      else controller.enqueue(piece)
    }
    return new Response(new ReadableStream({ pull }))
  })
  let bytes = 0
  for await (const chunk of (await fetch(url)).body!) bytes += (chunk as Uint8Array).length
  assert.equal(bytes, 100 * piece.length)
})

test('HTTP/1.0 gets a stream up to the end of the connection', async (t) => {
  const stream = async function* () {
    yield Buffer.from('one')
    await sleep(5)
    yield Buffer.from('two')
  }
  const peer = (await serveFetch(t, () => new Response(ReadableStream.from(stream()) as ReadableStream))).dial()
  peer.send(get('/', 'Connection: keep-alive').replace('1.1', '1.0'))
  await peer.ended
  assert.match(peer.received(), /Connection: close\r\n\r\nonetwo$/)
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
  const peer = (await serveFetch(t, handler, { onError: (error) => errors.push(error) })).dial()
  peer.send(get('/'))
  await peer.ended
  assert.ok(peer.received().endsWith('3\r\none\r\n'))
  assert.deepEqual(errors, [broken])
})

test('a stream is cancelled when the peer disconnects', async (t) => {
  let cancel = (): void => {}
  const cancelled = new Promise<void>((resolve) => {
    cancel = resolve
  })
  const start = (controller: ReadableStreamDefaultController): void => controller.enqueue(Buffer.from('one'))
  const limits = { idleMs: 50 }
  const peer = (await serveFetch(t, () => new Response(new ReadableStream({ start, cancel })), { limits })).dial()
  peer.send(get('/'))
  await peer.until('one')
  peer.socket.destroy()
  await cancelled
})

test('the head of a stream is sent before its first piece, and the stream is cancelled when the peer disconnects', async (t) => {
  let cancel = (): void => {}
  const cancelled = new Promise<void>((resolve) => {
    cancel = resolve
  })
  const limits = { idleMs: 50 }
  const peer = (await serveFetch(t, () => new Response(new ReadableStream({ cancel })), { limits })).dial()
  peer.send(get('/'))
  await peer.until('Transfer-Encoding: chunked\r\n\r\n')
  peer.socket.destroy()
  await cancelled
})

test('a stream is cancelled and request.signal aborts if a piece follows a destroyed connection', async (t) => {
  let cancel = (): void => {}
  const cancelled = new Promise<void>((resolve) => {
    cancel = resolve
  })
  let abort = (): void => {}
  const aborted = new Promise<void>((resolve) => {
    abort = resolve
  })
  const { dial, sockets } = await serveSockets(t, (request) => {
    request.signal.addEventListener('abort', abort)
    const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
      await sleep(5)
      sockets[0]!.destroy()
      controller.enqueue(Buffer.from('late'))
    }
    return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }))
  })
  dial().send(get('/'))
  await cancelled
  await aborted
})

test('a request body that is first read in the response stream fails, and the next request is whole', async (t) => {
  const failures: unknown[] = []
  let isNext = false
  const { dial } = await serveFetch(t, (request) => {
    if (request.url.endsWith('/next')) return request.text().then((text) => new Response(`next:${text}`))
    const stream = async function* () {
      yield Buffer.from('start')
      while (!isNext) await sleep(1)
      yield Buffer.from(await request.text().catch((error) => String(failures.push(error))))
    }
    return new Response(ReadableStream.from(stream()) as ReadableStream)
  })
  const peer = dial()
  peer.send(post('/late', 'A'.repeat(60)))
  await peer.until('start')
  peer.send(post('/next', 'B'.repeat(60)))
  await sleep(20)
  isNext = true
  await peer.until(`next:${'B'.repeat(60)}`)
  assert.ok(failures[0] instanceof BodyError)
})

test('a request body whose read began before a streamed response arrives during it', async (t) => {
  const { dial } = await serveFetch(t, (request) => {
    const text = request.text()
    const stream = async function* () {
      yield Buffer.from('start')
      yield Buffer.from(`read:${await text}`)
    }
    return new Response(ReadableStream.from(stream()) as ReadableStream)
  })
  const peer = dial()
  peer.send(post('/', 'body').slice(0, -4))
  await peer.until('start')
  peer.send(`body${get('/never')}`)
  await peer.ended
  assert.match(peer.received(), /Connection: close[\s\S]*read:body\r\n0\r\n\r\n$/)
})

test('a request body that does not arrive during a streamed response ends the connection in time', async (t) => {
  const errors: unknown[] = []
  const handler = (request: Request): Response => {
    const text = request.text()
    const stream = async function* () {
      yield Buffer.from('start')
      yield Buffer.from(await text)
    }
    return new Response(ReadableStream.from(stream()) as ReadableStream)
  }
  const options = { limits: { requestMs: 50 }, onError: (error: unknown) => errors.push(error) }
  const peer = (await serveFetch(t, handler, options)).dial()
  peer.send(post('/', 'body').slice(0, -2))
  await Promise.race([peer.ended, sleep(3000)])
  assert.equal((errors[0] as BodyError | undefined)?.code, 'body_timeout')
})

const reads: { [read: string]: (request: Request) => Promise<unknown> } = {
  text: (request) => request.text(),
  json: (request) => request.json(),
  arrayBuffer: (request) => request.arrayBuffer(),
  blob: (request) => request.blob(),
  'a stream': async (request) => (await request.body!.getReader().read()).value,
  'a new Request': (request) => new Request(request).text(),
}
for (const [read, run] of Object.entries(reads)) {
  test(`the bytes received are wiped once the request body was read as ${read}`, async (t) => {
    const { dial, bodies } = await serveSockets(t, async (request) => {
      assert.notEqual(await run(request), undefined)
      return new Response('done')
    })
    const peer = dial()
    peer.send(post('/', '{"password":"secret"}'))
    await peer.until('done')
    assert.deepEqual(bodies, [Buffer.alloc('{"password":"secret"}'.length)])
  })
}
