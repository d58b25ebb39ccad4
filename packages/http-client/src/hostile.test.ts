/** Servers that lie, stall or close, and the limits that hold against them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFetchTransport, createTransport, Server, TransportError, type TransportRequest } from './index.js'

/** Only a request that never ends takes as long. */
const timeout = 300_000
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'

/** Starts a server that gets every request as raw text, with its number on the connection. */
async function listen(t: TestContext, respond: (socket: Socket, count: number) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    let count = 0
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', () => respond(socket, ++count))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { sockets, server: Server.fromUrl(new URL(`http://127.0.0.1:${port}`)) }
}

function requestTo(server: Server.Server, more: Partial<TransportRequest> = {}): TransportRequest {
  return { server, path: '/', method: 'GET', headers: {}, timeoutMs: timeout, maxResponseBytes: 4_000_000, ...more }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

test('connections are kept after the earlier ones of the same server have expired', { timeout }, async (t) => {
  const slow = await listen(t, (socket) => socket.write(ok))
  const brief = await listen(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\n{}')
  })
  const transport = createTransport()
  t.after(() => transport.close())
  await transport.send(requestTo(slow.server))
  await transport.send(requestTo(brief.server))
  await pause(600)
  for (let count = 0; count < 3; count++) await transport.send(requestTo(brief.server))
  assert.equal(brief.sockets.length, 2)
  const closed = once(brief.sockets[1]!, 'close')
  transport.close()
  await closed
})

test('a body in chunks of one byte takes little more memory than its bytes', { timeout }, async (t) => {
  const bytes = 1_000_000
  const { server } = await listen(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`)
  })
  const transport = createTransport()
  t.after(() => transport.close())
  const used = (): number => process.memoryUsage().rss
  const before = used()
  let most = 0
  const sampler = setInterval(() => {
    most = Math.max(most, used() - before)
  }, 5)
  t.after(() => clearInterval(sampler))
  const { body } = await transport.send(requestTo(server))
  assert.equal(body.length, bytes)
  assert.ok(most < 100_000_000, `${most} bytes`)
})

test('the time limit includes the repeated request', { timeout }, async (t) => {
  const { server } = await listen(t, (socket, count) => {
    if (count > 1) setTimeout(() => socket.destroy(), 1_500)
    else if (isWarm) return
    else socket.write(ok)
  })
  let isWarm = false
  const transport = createTransport()
  t.after(() => transport.close())
  await transport.send(requestTo(server))
  isWarm = true
  await assert.rejects(transport.send(requestTo(server, { timeoutMs: 2_000, repeatsStale: true })), {
    code: 'timeout',
    mayHaveArrived: true,
  })
})

test('a repeated request has the rest of the time limit', { timeout }, async (t) => {
  const waitedMs = 300
  const { server, sockets } = await listen(t, (socket, count) => {
    // Not the watched function.
    if (count > 1) void sleep(waitedMs).then(() => socket.destroy())
    else socket.write(ok)
  })
  const transport = createTransport()
  t.after(() => transport.close())
  await transport.send(requestTo(server))
  const limits: number[] = []
  const { setTimeout: start } = globalThis
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms: number) => {
    limits.push(ms)
    return start(work, ms)
  })
  assert.equal((await transport.send(requestTo(server, { timeoutMs: timeout, repeatsStale: true }))).status, 200)
  assert.equal(sockets.length, 2)
  // A timer may run a millisecond early.
  const [first, second] = limits.filter((ms) => ms > timeout / 2)
  assert.ok(first === timeout && second! <= timeout - waitedMs + 1, `${limits}`)
})

test('requests that need a new connection respect the limit of connections', { timeout }, async (t) => {
  let open = 0
  let most = 0
  const { server, sockets } = await listen(t, (socket) => {
    most = Math.max(most, ++open)
    setTimeout(() => {
      open--
      socket.write(ok)
    }, 20)
  })
  const transport = createTransport({ maxConnections: 2 })
  t.after(() => transport.close())
  await Promise.all([transport.send(requestTo(server)), transport.send(requestTo(server))])
  const needsNewConnection = true
  const all = Array.from({ length: 6 }, (_, at) =>
    transport.send(requestTo(server, at % 3 === 2 ? {} : { needsNewConnection })),
  )
  for (const { status } of await Promise.all(all)) assert.equal(status, 200)
  assert.equal(most, 2)
  assert.ok(sockets.length >= 6, 'each of the four had its own')
})

test('a kept connection that has just broken is not used', { timeout }, async (t) => {
  const { server } = await listen(t, (socket) => socket.write(ok))
  const opened: Socket[] = []
  const connect = net.connect as (...args: unknown[]) => Socket
  t.mock.method(net, 'connect', (...args: unknown[]) => {
    const socket = connect(...args)
    opened.push(socket)
    return socket
  })
  const transport = createTransport()
  t.after(() => transport.close())
  await transport.send(requestTo(server))
  // The events of a broken socket follow in a later tick.
  opened[0]!.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  assert.equal((await transport.send(requestTo(server))).status, 200)
})

test('a timeout of any length is one', { timeout }, async (t) => {
  const { server } = await listen(t, (socket) => void setTimeout(() => socket.write(ok), 20))
  const transport = createTransport()
  t.after(() => transport.close())
  for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    assert.equal((await transport.send(requestTo(server, { timeoutMs }))).status, 200)
    const byFetch = createFetchTransport((url, init) => fetch(url, init))
    assert.equal((await byFetch.send(requestTo(server, { timeoutMs }))).status, 200)
  }
})

test('only an error of connecting means that nothing was sent', { timeout }, async (t) => {
  // The system reports a route that vanished under an open connection in the same way.
  assert.deepEqual(
    [true, false].map((isConnecting) => {
      const { code, mayHaveArrived } = TransportError.ofSystem('EHOSTUNREACH', { isConnecting })
      return [code, mayHaveArrived]
    }),
    [
      ['refused', false],
      ['broken', true],
    ],
  )
  const { server } = await listen(t, () => {})
  const failing = (cause: object) =>
    createFetchTransport(async () => {
      throw new TypeError('fetch failed', { cause })
    }).send(requestTo(server))
  await assert.rejects(failing({ code: 'EHOSTUNREACH', syscall: 'read' }), { code: 'broken', isUnsent: false })
  await assert.rejects(failing({ code: 'EHOSTUNREACH', syscall: 'connect' }), { code: 'refused', isUnsent: true })
  await assert.rejects(failing({ code: 'ECONNREFUSED' }), { code: 'refused', isUnsent: true })
})

test('limits hold for a fetch that ignores its signal and never cancels', { timeout }, async (t) => {
  const { server } = await listen(t, () => {})
  const never = createFetchTransport(() => new Promise(() => {}))
  await assert.rejects(never.send(requestTo(server, { timeoutMs: 20 })), { code: 'timeout' })
  const stalled = createFetchTransport(
    async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
  )
  await assert.rejects(stalled.send(requestTo(server, { timeoutMs: 20 })), { code: 'timeout' })
  const endless = createFetchTransport(
    async () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
          cancel: () => new Promise(() => {}),
        }),
      ),
  )
  await assert.rejects(endless.send(requestTo(server, { maxResponseBytes: 5_000 })), { code: 'too_large' })
})

test('no copy of a body stays in memory if the head came in two pieces', { timeout }, async (t) => {
  const copies: Buffer[] = []
  const { concat } = Buffer
  t.mock.method(Buffer, 'concat', (...args: Parameters<typeof concat>) => {
    const whole = concat(...args)
    copies.push(whole)
    return whole
  })
  const { server } = await listen(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Le')
    setTimeout(() => socket.write('ngth: 6\r\n\r\nsecret'), 20)
  })
  const transport = createTransport()
  t.after(() => transport.close())
  const response = await transport.send(requestTo(server))
  assert.equal(response.text(), 'secret')
  assert.ok(copies.every((copy) => !copy.includes('secret')))
})
