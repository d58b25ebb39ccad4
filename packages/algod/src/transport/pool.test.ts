import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { createTransport } from './node.js'
import type { TransportOptions, TransportRequest } from './Transport.js'

const timeout = 60_000

/** Starts a server, and a transport that has made enough requests to use undici. */
async function setUp(t: TestContext, listener: RequestListener, options: TransportOptions = {}) {
  let isWarm = false
  const server = createServer((request, response) => {
    if (request.url !== '/warm') return listener(request, response)
    // undici writes its own header names in lower case.
    isWarm ||= request.rawHeaders.includes('host')
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const transport = createTransport(options)
  t.after(async () => {
    await transport.close()
    server.closeAllConnections()
    server.close()
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const send = (path: string, more: Partial<TransportRequest> = {}) =>
    transport.send({
      ...{ url, path, method: 'GET', headers: {}, timeoutMs: 10_000, maxResponseBytes: 1_000, once: false },
      ...more,
    })
  while (!isWarm) await send('/warm')
  return { transport, server, send }
}

test('a request of a program that makes many arrives whole through undici', { timeout }, async (t) => {
  const { send } = await setUp(t, async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const { method, url, rawHeaders } = request
    assert.ok(rawHeaders.includes('host'))
    response.writeHead(418)
    response.end(
      `${method} ${url} ${request.headers['x-algo-api-token']} ${Buffer.concat(pieces).length} ${request.headers['content-length']} ü`,
    )
  })
  const body = new Uint8Array(300).fill(7)
  const headers = { 'X-Algo-API-Token': 'token' }
  const response = await send('/v2/x?format=msgpack', { method: 'POST', headers, body })
  assert.deepEqual(response, { status: 418, text: 'POST /v2/x?format=msgpack token 300 300 ü' })
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
  await assert.rejects(send('/broken'), { code: 'network', systemCode: 'ECONNRESET' })
  assert.equal((await send('/warm')).status, 200)
})

test('a request is repeated on a new connection if the idle one was closed, unless it must be sent once', {
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
  assert.deepEqual(await send('/closing'), { status: 200, text: 'served' })
  assert.equal(count, 2)
  await send('/warm')
  await isFree()
  await assert.rejects(send('/closing', { once: true }), { code: 'network', isRefused: false })
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
  const failed = assert.rejects(first, { code: 'network' })
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
  await assert.rejects(send('/'), { code: 'network', isRefused: true, systemCode: 'ECONNREFUSED' })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  assert.equal((await send('/')).text, 'back')
  await transport.close()
  assert.equal((await send('/')).text, 'back')
})

test('fetch keeps using the connections of Node, and idle ones do not keep a program running', {
  timeout,
}, async (t) => {
  const { server } = await setUp(t, (_, response) => void response.end('{}'))
  const { port } = server.address() as AddressInfo
  const program = `
    const { createTransport } = await import(${JSON.stringify(new URL('./node.js', import.meta.url).href)})
    const url = new URL('http://127.0.0.1:${port}')
    const transport = createTransport()
    for (let count = 0; count < 200; count++) {
      await transport.send({ url, path: '/', method: 'GET', headers: {}, timeoutMs: 50_000, maxResponseBytes: 9, once: false })
    }
    const { Agent } = await import('undici')
    const symbols = Object.getOwnPropertySymbols(globalThis).filter(({ description }) => /dispatcher/i.test(description))
    const own = symbols.map((symbol) => globalThis[symbol] instanceof Agent)
    console.log(symbols.length > 0 && !own.includes(true) ? 'untouched' : 'replaced')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  assert.equal(stdout.trim(), 'untouched')
})

test('with an unknown version of undici, the program continues without it', { timeout }, async (t) => {
  const { server } = await setUp(t, (_, response) => void response.end('{}'))
  const { port } = server.address() as AddressInfo
  // Simulates version 6, which refuses handlers without `onConnect` and `onError`.
  const other = `export const buildConnector = () => () => {}
    export class Pool {
      destroy() { return Promise.resolve() }
      dispatch(options, handler) { if (typeof handler.onError !== 'function') throw new Error('invalid onError method') }
    }`
  const hooks = `export const resolve = (name, context, next) => name === 'undici'
    ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(other)}`)}, shortCircuit: true } : next(name, context)`
  const program = `
    const { register } = await import('node:module')
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})
    const { createTransport } = await import(${JSON.stringify(new URL('./node.js', import.meta.url).href)})
    const url = new URL('http://127.0.0.1:${port}')
    const transport = createTransport()
    for (let count = 0; count < 200; count++) {
      await transport.send({ url, path: '/', method: 'GET', headers: {}, timeoutMs: 50_000, maxResponseBytes: 9, once: false })
    }
    console.log(typeof (await import('undici')).Pool.prototype.dispatch, 'served')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  assert.equal(stdout.trim(), 'function served')
})
