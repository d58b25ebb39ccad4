import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { createTransport } from './node.js'
import * as Server from './Server.js'
import type { TransportOptions, TransportRequest } from './Transport.js'

const timeout = 60_000

/** Starts a server, and a transport with a kept connection. */
async function setUp(t: TestContext, listener: RequestListener, options: TransportOptions = {}) {
  const server = createServer((request, response) => {
    if (request.url !== '/warm') return listener(request, response)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const transport = createTransport(options)
  t.after(() => {
    transport.close()
    server.closeAllConnections()
    server.close()
  })
  const target = Server.fromUrl(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  const send = (path: string, more: Partial<TransportRequest> = {}) =>
    transport.send({
      ...{
        server: target,
        path,
        method: 'GET',
        headers: {},
        timeoutMs: 10_000,
        maxResponseBytes: 1_000,
        repeatsStale: true,
      },
      ...more,
    })
  await send('/warm')
  return { transport, server, send }
}

test('a request and its response arrive whole', { timeout }, async (t) => {
  const { send } = await setUp(t, async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const { method, url } = request
    response.writeHead(418)
    response.end(
      `${method} ${url} ${request.headers['x-algo-api-token']} ${Buffer.concat(pieces).length} ${request.headers['content-length']} ü`,
    )
  })
  const body = new Uint8Array(300).fill(7)
  const headers = { 'X-Algo-API-Token': 'token' }
  const response = await send('/v2/x?format=msgpack', { method: 'POST', headers, body })
  assert.deepEqual([response.status, response.text()], [418, 'POST /v2/x?format=msgpack token 300 300 ü'])
})

test('slow, oversized and truncated responses fail with the reason', { timeout }, async (t) => {
  const { send } = await setUp(t, ({ url }, response) => {
    if (url === '/silent') return
    response.writeHead(200)
    if (url === '/endless') return void setInterval(() => response.write('x'.repeat(400)), 1).unref()
    response.write('begun')
    if (url === '/broken') setTimeout(() => response.destroy(), 10)
  })
  await assert.rejects(send('/silent', { timeoutMs: 30 }), { code: 'timeout' })
  await assert.rejects(send('/stalled', { timeoutMs: 30 }), { code: 'timeout' })
  await assert.rejects(send('/endless'), { code: 'too_large' })
  await assert.rejects(send('/broken'), { code: 'broken', systemCode: 'ECONNRESET' })
  assert.equal((await send('/warm')).status, 200)
})

test('a request is repeated on a new connection if the idle one was closed, unless it must not be repeated', {
  timeout,
}, async (t) => {
  let count = 0
  const { send } = await setUp(t, ({ socket, url }, response) => {
    count++
    // Simulates a connection that is closed while the request is in flight, before any response.
    if (socket.bytesWritten > 0 && url === '/closing') socket.destroy()
    else response.end('served')
  })
  // A connection is free once the handler of the end of its response has returned.
  const isFree = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
  await isFree()
  assert.equal((await send('/closing')).text(), 'served')
  assert.equal(count, 2)
  await send('/warm')
  await isFree()
  await assert.rejects(send('/closing', { repeatsStale: false }), { code: 'broken', isUnsent: false })
  assert.equal(count, 3)
})

test('a cancelled request fails immediately; one that waits for a connection never starts', {
  timeout,
}, async (t) => {
  const arrived: string[] = []
  let arrive = (): void => {}
  const { send } = await setUp(
    t,
    ({ url }, response) => {
      arrived.push(url!)
      if (url === '/last') response.end()
      else arrive()
    },
    { maxConnections: 1 },
  )
  const isThere = new Promise<void>((resolve) => {
    arrive = resolve
  })
  let cancel = (): void => {}
  const first = send('/first', {
    onStart: (stop) => {
      cancel = stop
    },
  })
  const failed = assert.rejects(first, { code: 'broken' })
  await isThere
  await assert.rejects(send('/second', { timeoutMs: 20 }), { code: 'timeout' })
  cancel()
  await failed
  await send('/last')
  assert.deepEqual(arrived, ['/first', '/last'])
})

test('a server that is down refuses, and is used again once it is back and after the transport was closed', {
  timeout,
}, async (t) => {
  const { send, server, transport } = await setUp(t, (_, response) => void response.end('back'))
  const { port } = server.address() as AddressInfo
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  await assert.rejects(send('/'), { code: 'refused', isUnsent: true, systemCode: 'ECONNREFUSED' })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  assert.equal((await send('/')).text(), 'back')
  transport.close()
  assert.equal((await send('/')).text(), 'back')
})

test('idle connections do not keep a program running, and fetch is not loaded', { timeout }, async (t) => {
  const { server } = await setUp(t, (_, response) => void response.end('{}'))
  const { port } = server.address() as AddressInfo
  const importOf = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
  const program = `
    const { createTransport } = await import(${importOf('./node.js')})
    const { fromUrl } = await import(${importOf('./Server.js')})
    const transport = createTransport()
    const server = fromUrl(new URL('http://127.0.0.1:${port}'))
    for (let count = 0; count < 3; count++) {
      await transport.send({ server, path: '/', method: 'GET', headers: {}, timeoutMs: 50_000, maxResponseBytes: 9 })
    }
    const loaded = process.moduleLoadList.filter((one) => /NativeModule (?:_?http|https|internal.deps.undici)/.test(one))
    console.log(JSON.stringify(loaded))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  assert.equal(stdout.trim(), '[]')
})
