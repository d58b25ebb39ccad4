import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { isWhole } from '../fetchedResponse.js'
import type { DirectRequest } from './DirectSend.js'
import { sendDirectly } from './node.js'
import { sendDirectly as none } from './none.js'

const timeout = 30_000

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=c#d`
}

function requestTo(url: string, more: Partial<DirectRequest> = {}): DirectRequest {
  const headers = new Headers({ 'X-Mine': 'ä', Accept: 'text/plain' })
  return { url, method: 'GET', headers, redirect: 'manual', body: undefined, signal: undefined, ...more }
}

function byFetch({ url, body, signal, ...request }: DirectRequest): Promise<Response> {
  return fetch(url, { ...request, signal: signal ?? null, ...(body === undefined ? {} : { body: body as never }) })
}

/** The parts of a response that a caller sees. */
async function seen(response: Response): Promise<unknown> {
  const { status, statusText, ok, url, redirected, headers, type } = response
  const clone = response.clone()
  const copy = [clone.url, clone.type, clone.redirected, await clone.text()]
  const own = [...headers].filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name))
  return {
    status,
    statusText,
    ok,
    url,
    redirected,
    type,
    own,
    copy,
    text: await response.text(),
    isUsed: response.bodyUsed,
  }
}

test('returns the same response as fetch', { timeout }, async (t) => {
  const text = 'sunny, at times '.repeat(500)
  const cases: { [name: string]: RequestListener } = {
    plain: (_, response) =>
      response.writeHead(200, 'Fine', { 'X-A': ['1', '2'], 'Set-Cookie': ['a=1', 'b=2'] }).end(text),
    pieces: (_, response) => {
      response.write(text)
      setImmediate(() => response.end(text))
    },
    gzip: (_, response) => response.setHeader('Content-Encoding', 'gzip').end(gzipSync(text)),
    deflate: (_, response) => response.setHeader('Content-Encoding', 'deflate').end(deflateSync(text)),
    brotli: (_, response) => response.setHeader('Content-Encoding', 'br').end(brotliCompressSync(text)),
    'in two encodings': (_, response) =>
      response.setHeader('Content-Encoding', 'deflate, gzip').end(gzipSync(deflateSync(text))),
    'deflate without a header': (_, response) =>
      response.setHeader('Content-Encoding', 'deflate').end(deflateRawSync(text)),
    'deflate in pieces': (_, response) => {
      const packed = deflateSync(text)
      response.setHeader('Content-Encoding', 'deflate').write(packed.subarray(0, 1))
      setImmediate(() => response.end(packed.subarray(1)))
    },
    'an empty deflate': (_, response) => response.setHeader('Content-Encoding', 'deflate').end(),
    'an encoding that is not known': (_, response) =>
      response.setHeader('Content-Encoding', 'mine, gzip').end(gzipSync(text)),
    redirect: (_, response) => response.writeHead(302, { Location: '/elsewhere' }).end('moved'),
    'no content': (_, response) => response.writeHead(204).end(),
    'not modified': (_, response) => response.writeHead(304, { ETag: '"a"' }).end(),
    refusal: (_, response) => response.writeHead(402, { 'PAYMENT-REQUIRED': 'e30=' }).end('{}'),
    error: (_, response) => response.writeHead(503, { 'Retry-After': '1' }).end(),
  }
  for (const [name, listener] of Object.entries(cases)) {
    const request = requestTo(await listen(t, listener))
    assert.deepEqual(await seen((await sendDirectly(request))!), await seen(await byFetch(request)), name)
    const head = { ...request, method: 'HEAD' }
    assert.deepEqual(await seen((await sendDirectly(head))!), await seen(await byFetch(head)), `HEAD ${name}`)
  }
})

test('sends the same request as fetch', { timeout }, async (t) => {
  const got: unknown[] = []
  const url = await listen(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { host: _, connection: __, ...headers } = request.headers
    got.push([request.method, request.url, headers, Buffer.concat(chunks).toString('hex')])
    response.end()
  })
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  for (const more of [
    {},
    { method: 'POST', body: bytes },
    { method: 'POST' },
    { method: 'DELETE' },
    { method: 'PATCH', body: bytes },
  ]) {
    const request = requestTo(url, more)
    await (await sendDirectly(request))!.text()
    await (await byFetch(request)).text()
    const [direct, fetched] = got.splice(0)
    assert.deepEqual(direct, fetched)
  }
})

test('throws the same errors as fetch', { timeout }, async (t) => {
  const closed = await listen(t, (_, response) => void response.destroy())
  // Another test could get the port of a server that is closed, but never a reserved one.
  const unused = 'http://127.0.0.1:2/'
  const other = await listen(t, (request) => {
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n')
  })
  for (const url of [closed, unused, other]) {
    for (const send of [sendDirectly, byFetch]) {
      await assert.rejects(async () => send(requestTo(url)), { name: 'TypeError', message: 'fetch failed' })
    }
  }
  const packed = await listen(t, (_, response) =>
    response.setHeader('Content-Encoding', Array(6).fill('gzip').join(',')).end(gzipSync('sunny')),
  )
  for (const send of [sendDirectly, byFetch]) {
    await assert.rejects(async () => send(requestTo(packed)), { name: 'TypeError', message: 'fetch failed' })
  }
  const broken = await listen(t, (_, response) => {
    response.writeHead(200, { 'Content-Length': '10' }).write('sun')
    setTimeout(() => response.destroy(), 20)
  })
  for (const send of [sendDirectly, byFetch]) {
    const response = (await send(requestTo(broken)))!
    assert.equal(response.status, 200)
    await assert.rejects(response.text(), { name: 'TypeError', message: 'terminated' })
  }
})

test('a signal aborts a request before, during and after the head of its response', { timeout }, async (t) => {
  const silent = await listen(t, () => {})
  const slow = await listen(t, (_, response) => void response.writeHead(200).write('sun'))
  const reason = new Error('enough')
  await assert.rejects(async () => sendDirectly(requestTo(silent, { signal: AbortSignal.abort(reason) })), reason)
  const waiting = new AbortController()
  const pending = sendDirectly(requestTo(silent, { signal: waiting.signal }))!
  setTimeout(() => waiting.abort(reason), 20)
  await assert.rejects(pending, reason)
  const reading = new AbortController()
  const response = (await sendDirectly(requestTo(slow, { signal: reading.signal })))!
  const text = response.text()
  reading.abort(reason)
  await assert.rejects(text, reason)
})

test('stops reading a canceled body, and reuses the connection after a complete one', {
  timeout,
}, async (t) => {
  const sockets = new Set<unknown>()
  let isClosed: Promise<unknown> | undefined
  const url = await listen(t, (request, response) => {
    sockets.add(request.socket)
    if (request.url !== '/endless') return void response.end('sunny')
    isClosed = once(response, 'close')
    const more = (): void => void (response.destroyed || response.write('x'.repeat(1_000), () => setImmediate(more)))
    more()
  })
  for (let count = 0; count < 3; count++) await (await sendDirectly(requestTo(url)))!.text()
  assert.equal(sockets.size, 1)
  const endless = (await sendDirectly(requestTo(new URL('/endless', url).href)))!
  await endless.body!.cancel()
  await isClosed
})

test('a compressed body can be canceled at any time, and is decompressed only when read', { timeout }, async (t) => {
  const zeros = Buffer.alloc(64 * 1024 * 1024)
  for (const [name, pack] of Object.entries({ gzip: gzipSync, deflate: deflateSync })) {
    const packed = pack(zeros)
    const url = await listen(t, (_, response) => void response.setHeader('Content-Encoding', name).end(packed))
    for (let reads = 0; reads < 8; reads++) {
      const reader = (await sendDirectly(requestTo(url)))!.body!.getReader()
      for (let count = 0; count < reads % 4; count++) await reader.read()
      await reader.cancel()
      // An error in data that arrives afterwards would end the process.
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const before = process.memoryUsage().arrayBuffers
    const unread = (await sendDirectly(requestTo(url)))!
    await new Promise((resolve) => setTimeout(resolve, 200))
    const taken = process.memoryUsage().arrayBuffers - before
    assert.ok(taken < zeros.length / 4, `${name}: ${taken} bytes for a body that is not read`)
    await unread.body!.cancel()
  }
})

test('short unread bodies occupy no connections', { timeout }, async (t) => {
  const sockets = new Set<unknown>()
  const url = await listen(t, (request, response) => {
    sockets.add(request.socket)
    response.writeHead(402).end('x'.repeat(1_000))
  })
  const unread: Response[] = []
  for (let count = 0; count < 300; count++) {
    unread.push((await sendDirectly(requestTo(url)))!)
    // The end of a body follows its head.
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(sockets.size < 150, `${sockets.size} connections`)
  for (const response of unread) assert.equal((await response.text()).length, 1_000)
})

test('does not limit the number of concurrent requests', { timeout }, async (t) => {
  // Both ends are in this process. Together they stay below a limit of 256 open files.
  const count = 80
  const waiting: (() => void)[] = []
  const url = await listen(t, (_, response) => {
    waiting.push(() => response.end())
    if (waiting.length === count) for (const end of waiting) end()
  })
  const requests = Array.from({ length: count }, () => sendDirectly(requestTo(url))!)
  for (const { status } of await Promise.all(requests)) assert.equal(status, 200)
})

test('gives up on a server that does not complete the connection', { timeout }, async (t) => {
  // The server accepts, and never responds to the TLS handshake.
  const silent = createTcpServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const accepted = once(silent, 'connection')
  const pending = sendDirectly(requestTo(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`))!
  const failed = assert.rejects(pending, (error: Error & { cause: Error }) => {
    return error.message === 'fetch failed' && error.cause.message === 'no connection within 10000 ms'
  })
  const [socket] = (await accepted) as [Socket]
  t.mock.timers.tick(10_000)
  await failed
  socket.destroy()
})

test('leaves requests to fetch if they need its features', { timeout }, async (t) => {
  const url = await listen(t, (_, response) => void response.end())
  assert.equal(none(requestTo(url)), undefined)
  assert.equal(sendDirectly(requestTo(url, { redirect: 'follow' })), undefined)
  assert.equal(sendDirectly(requestTo('data:,sunny')), undefined)
  assert.equal(sendDirectly(requestTo(url, { headers: new Headers({ Connection: 'close' }) })), undefined)
  const own = globalThis.fetch
  t.after(() => {
    globalThis.fetch = own
  })
  globalThis.fetch = async () => new Response('replaced')
  assert.equal(sendDirectly(requestTo(url)), undefined)
  globalThis.fetch = own
  await own(url)
  // Node 26 has a wrapper in place of the first.
  const dispatchers = [1, 2]
    .map((version) => Symbol.for(`undici.globalDispatcher.${version}`))
    .filter((name) => (Reflect.get(globalThis, name) as object | undefined)?.constructor.name === 'Agent')
  assert.notEqual(dispatchers.length, 0)
  for (const dispatcher of dispatchers) {
    const before = Reflect.get(globalThis, dispatcher) as object
    class ProxyAgent {}
    const PlainAgent = before.constructor as new (options?: object) => object
    const certain = new PlainAgent({ connect: { ca: 'of our own' } })
    const composed = new Proxy(before, {
      get: (all, name) => (name === 'dispatch' ? () => true : Reflect.get(all, name)),
    })
    for (const other of [new ProxyAgent(), certain, composed]) {
      Reflect.set(globalThis, dispatcher, other)
      assert.equal(sendDirectly(requestTo(url)), undefined)
    }
    Reflect.set(globalThis, dispatcher, new PlainAgent())
    assert.equal((await sendDirectly(requestTo(url)))!.status, 200)
    Reflect.set(globalThis, dispatcher, before)
  }
  process.env['NODE_OPTIONS'] = '--use-env-proxy'
  assert.equal(sendDirectly(requestTo(url)), undefined)
  delete process.env['NODE_OPTIONS']
  process.env['NODE_USE_ENV_PROXY'] = '1'
  assert.equal(sendDirectly(requestTo(url)), undefined)
  delete process.env['NODE_USE_ENV_PROXY']
  assert.equal((await sendDirectly(requestTo(url)))!.status, 200)
})

test('a body that arrived with its head is complete, others may still break off', { timeout }, async (t) => {
  const sent = 'sunny'.repeat(100)
  const url = await listen(t, (request, response) => {
    if (request.url!.endsWith('pieces')) {
      response.write(sent)
      setTimeout(() => response.destroy(), 20)
    } else response.writeHead(200, { 'Content-Length': sent.length }).end(sent)
  })
  const responseOf = async (path: string): Promise<Response> =>
    (await sendDirectly(requestTo(new URL(path, url).href)))!
  const whole = await responseOf('/whole')
  assert.equal(isWhole(whole), true)
  assert.equal(await whole.text(), sent)
  const pieces = await responseOf('/pieces')
  assert.equal(isWhole(pieces), false)
  await assert.rejects(pieces.text(), { message: 'terminated' })
})

test('sends Content-Length 0 for methods that may have a body', { timeout }, async (t) => {
  const url = await listen(t, ({ method, headers }, response) => {
    response.end(`${method} ${headers['content-length']} ${headers['transfer-encoding']}`)
  })
  for (const method of ['GET', 'DELETE', 'OPTIONS']) {
    const response = (await sendDirectly(requestTo(url, { method })))!
    assert.equal(await response.text(), `${method} undefined undefined`)
  }
  for (const method of ['POST', 'PUT', 'PATCH']) {
    const response = (await sendDirectly(requestTo(url, { method })))!
    assert.equal(await response.text(), `${method} 0 undefined`)
  }
})

test('retries on a new connection if the server closed the old one, unless the request may change something', {
  timeout,
}, async (t) => {
  const methods: string[] = []
  const url = await listen(t, ({ method, socket }, response) => {
    methods.push(method!)
    // As if the connection had been closed while the request was in transit.
    if (socket.bytesWritten > 0) socket.destroy()
    else response.end('served')
  })
  const send = async (method: string): Promise<string> => (await sendDirectly(requestTo(url, { method }))!).text()
  // A connection is free after the handler of its response's end has returned.
  const isFree = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
  assert.equal(await send('GET'), 'served')
  await isFree()
  assert.equal(await send('GET'), 'served')
  assert.deepEqual(methods, ['GET', 'GET', 'GET'])
  assert.equal(await send('GET'), 'served')
  await isFree()
  await assert.rejects(send('POST'), { name: 'TypeError', message: 'fetch failed' })
  assert.deepEqual(methods.slice(3), ['GET', 'POST'])
})

/** Starts a server of raw bytes that gets every piece of a request. */
async function listenRaw(t: TestContext, respond: (socket: Socket, text: string) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (piece) => respond(socket, piece.toString('latin1')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('gives up on a server that sends its head byte by byte', { timeout }, async (t) => {
  let server: Socket | undefined
  const arrived = new Promise<void>((resolve) => {
    listenRaw(t, (socket) => {
      server = socket
      socket.write('HTTP/1.1 200 OK\r\n', () => resolve())
    }).then((url) => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      pending = sendDirectly(requestTo(url))!
      pending.catch(() => {})
    })
  })
  let pending: Promise<Response> | undefined
  await arrived
  const ticks = (): Promise<unknown> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  for (let count = 0; count < 3; count++) {
    server!.write('x')
    await ticks()
    t.mock.timers.tick(100_000)
  }
  await assert.rejects(pending!, { name: 'TypeError', message: 'fetch failed' })
})

test('a body that is read slowly is not given up, and one that is never read is', { timeout }, async (t) => {
  const length = 10_000_000
  const closed: Promise<unknown>[] = []
  const url = await listenRaw(t, (socket) => {
    closed.push(new Promise((resolve) => socket.on('close', resolve)))
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`)
    socket.write(Buffer.alloc(length))
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const full = (): Promise<unknown> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  const slow = (await sendDirectly(requestTo(url)))!
  for (let count = 0; count < 20; count++) await full()
  t.mock.timers.tick(300_001)
  assert.equal((await slow.arrayBuffer()).byteLength, length)
  const unread = (await sendDirectly(requestTo(url)))!
  for (let count = 0; count < 20; count++) await full()
  for (let count = 0; count < 12; count++) t.mock.timers.tick(300_001)
  await closed.at(-1)
  await assert.rejects(unread.arrayBuffer(), { name: 'TypeError', message: 'terminated' })
})

test('sends no length that is not that of the body', { timeout }, async (t) => {
  const url = await listen(t, ({ headers }, response) => void response.end(headers['content-length'] ?? 'none'))
  const headers = new Headers({ 'Content-Length': '5' })
  assert.equal(await (await sendDirectly(requestTo(url, { headers })))!.text(), 'none')
  const body = new Uint8Array(3)
  assert.equal(await (await sendDirectly(requestTo(url, { method: 'POST', headers, body })))!.text(), '3')
})

test('does not read the body of a response that has none', { timeout }, async (t) => {
  let closed: Promise<unknown> | undefined
  const url = await listenRaw(t, (socket) => {
    closed = new Promise((resolve) => socket.on('close', resolve))
    socket.write('HTTP/1.1 205 Reset Content\r\n\r\nx')
  })
  assert.equal((await sendDirectly(requestTo(url)))!.body, null)
  await closed
})
