/**
 * Sends long bodies, streams and WebSockets through `latchkey gateway`, measures its memory, and breaks connections in
 * the middle.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Duplex, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { atEnd, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { ours } from '../x402/interop.test.helper.js'
import { tls } from '../x402/support/http2.test.helper.js'
import { listen, openTrade } from '../x402/trade.test.helper.js'
import { configure, paymentFor, peakMemory, startGateway } from './gateway.test.helper.js'

const maxMemory = 120_000_000
/** A gateway that buffers a body of this length, or only half of it, uses more memory than the limit. */
const bodyBytes = Number(process.env['LATCHKEY_GATEWAY_BYTES'] ?? 128 * 1024 ** 2)
const block = Buffer.alloc(64 * 1024, 'a body without an end, in blocks that have a length of their own; ')

/** Generates bytes as fast as they are read. */
function generated(bytes: number): Readable {
  let left = bytes
  return new Readable({
    highWaterMark: block.length,
    read() {
      const piece = block.subarray(0, Math.min(left, block.length))
      left -= piece.length
      this.push(piece.length === 0 ? null : piece)
    },
  })
}

/** Returns the number of bytes, and fails if one of them is another than was generated. */
async function count(source: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; ) {
      const from = bytes % block.length
      const length = Math.min(block.length - from, chunk.length - at)
      const isSame = block.subarray(from, from + length).equals(chunk.subarray(at, at + length))
      assert.ok(isSame, `the bytes after ${bytes} differ`)
      at += length
      bytes += length
    }
  }
  return bytes
}

test('bodies, streams and WebSockets of any length pass in bounded memory', { timeout: 600_000 }, async (t) => {
  const trade = await openTrade(t, { genesisHash: Network.testnet.genesisHash })
  const written = new Map<string, number>()
  const closed = new Set<string>()
  const received: { url: string | undefined; bytes: number | 'cut' }[] = []
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url!
    if (request.method !== 'GET') {
      const bytes = await count(request).catch(() => 'cut' as const)
      received.push({ url, bytes })
      response.end(String(bytes))
    } else if (url.includes('long')) {
      response.setHeader('Content-Length', bodyBytes)
      await pipeline(generated(bodyBytes), response).catch(() => {})
    } else if (url.includes('dies')) {
      if (url.includes('length')) response.setHeader('Content-Length', 10 * block.length)
      response.write(block, () => response.destroy())
    } else {
      response.once('close', () => closed.add(url))
      const source = generated(Number.POSITIVE_INFINITY)
      source.on('data', ({ length }: Buffer) => written.set(url, (written.get(url) ?? 0) + length))
      await pipeline(source, response).catch(() => {})
    }
  }
  const service = createServer((request, response) => void listener(request, response))
  const tunnels = new Set<Duplex>()
  service.on('upgrade', (request, socket: Socket) => {
    tunnels.add(socket)
    socket.once('close', () => tunnels.delete(socket)).on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    if (request.url === '/free/deaf') socket.pause()
    else socket.pipe(socket)
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  atEnd(t, () => {
    for (const tunnel of tunnels) tunnel.destroy()
    service.closeAllConnections()
    service.close()
  })
  const config = configure(t, {
    upstream: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    facilitator: await ours.facilitators['ours']!(t, trade),
    payTo: String(trade.seller.addr),
    routes: { 'GET /paid/*': { price: '$0.01', paymentFlow: 'upfront' }, 'PUT /paid/*': '$0.01' },
    free: ['/free/*'],
  })
  const gateway = await startGateway(t, trade, ['--config', config])
  const { port } = new URL(gateway.url)
  const memory = (): number => peakMemory(gateway.pid)
  t.diagnostic(`after its start: ${Math.round(memory() / 1e6)} MB`)

  const ask = (path: string, init: { method?: string; headers?: object; body?: Readable | undefined } = {}) => {
    const { method = 'GET', headers = {}, body } = init
    const request = send({ port, host: '127.0.0.1', path, method, headers: { ...headers }, agent: false })
    // A connection that breaks is seen at the response.
    request.on('error', () => {})
    if (body === undefined) request.end()
    else pipeline(body, request).catch(() => {})
    return request
  }
  const responseTo = async (...args: Parameters<typeof ask>): Promise<IncomingMessage> =>
    ((await once(ask(...args), 'response')) as [IncomingMessage])[0]
  const payFor = async (path: string, method = 'GET') => {
    const unpaid = await fetch(`${gateway.url}${path}`, { method })
    assert.equal(unpaid.status, 402)
    const { header, repeatHeader } = await paymentFor(trade, unpaid.headers.get('PAYMENT-REQUIRED'))
    return { first: { 'PAYMENT-SIGNATURE': header }, repeat: { 'PAYMENT-SIGNATURE': repeatHeader } }
  }
  const checkMemory = (t: { diagnostic: (text: string) => void }): void => {
    t.diagnostic(`${Math.round(memory() / 1e6)} MB`)
    assert.ok(memory() < maxMemory, `the gateway has used ${memory()} bytes`)
  }
  /** Waits until a number stops growing. */
  const settled = async (read: () => number): Promise<number> => {
    let before = -1
    let since = performance.now()
    await until('no further bytes', () => {
      if (read() !== before) since = performance.now()
      before = read()
      return before > 0 && performance.now() - since > 500
    })
    return before
  }

  for (const path of ['/free/long', '/paid/long']) {
    await t.test(`GET ${path} with a long response`, async (t) => {
      const headers = path.startsWith('/paid') ? (await payFor(path)).first : {}
      const response = await responseTo(path, { headers })
      assert.equal(response.statusCode, 200)
      assert.equal(await count(response), bodyBytes)
      checkMemory(t)
    })
  }

  for (const path of ['/free/up', '/paid/up']) {
    for (const length of [bodyBytes, undefined]) {
      await t.test(
        `PUT ${path} with a long body ${length === undefined ? 'in chunks' : 'of known length'}`,
        async (t) => {
          const headers = {
            ...(path.startsWith('/paid') ? (await payFor(path, 'PUT')).first : {}),
            ...(length === undefined ? {} : { 'Content-Length': length }),
          }
          const response = await responseTo(path, { method: 'PUT', headers, body: generated(bodyBytes) })
          assert.equal(response.statusCode, 200)
          assert.equal(await new Response(Readable.toWeb(response) as never).text(), String(bodyBytes))
          checkMemory(t)
        },
      )
    }
  }

  /** Opens a connection with another protocol; the caller writes and reads. */
  const upgrade = async (path: string, headers = ''): Promise<Socket> => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' })
    atEnd(t, () => socket.destroy())
    socket.on('error', () => {})
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`)
    let head = ''
    while (!head.includes('\r\n\r\n')) {
      await once(socket, 'readable')
      for (let byte = socket.read(1); byte !== null; byte = socket.read(1)) {
        head += String(byte)
        if (head.endsWith('\r\n\r\n')) break
      }
    }
    assert.match(head, /^HTTP\/1\.1 101 /)
    return socket
  }

  await t.test('a WebSocket that is paid for, with a long exchange', async (t) => {
    const { first } = await payFor('/paid/socket')
    const socket = await upgrade('/paid/socket', `PAYMENT-SIGNATURE: ${first['PAYMENT-SIGNATURE']}\r\n`)
    const sent = pipeline(generated(bodyBytes), socket)
    assert.equal(await count(socket), bodyBytes)
    await sent
    await until('the end of the connection', () => tunnels.size === 0)
    checkMemory(t)
  })

  await t.test('clients that stop reading stop the service, until they leave', async (t) => {
    const requests = Array.from({ length: 10 }, (_, index) => ask(`/free/endless-${index}`))
    const responses = await Promise.all(
      requests.map(async (one) => (await once(one, 'response'))[0] as IncomingMessage),
    )
    for (const response of responses) response.on('error', () => {})
    const total = await settled(() => [...written.values()].reduce((sum, one) => sum + one, 0))
    t.diagnostic(`${Math.round(total / requests.length / 1e6)} MB of each response were sent`)
    for (const response of responses) response.destroy()
    await until('the service learns of it', () => closed.size === requests.length)
    checkMemory(t)
  })

  await t.test('a service that stops reading stops its clients', async (t) => {
    const socket = await upgrade('/free/deaf')
    const source = generated(Number.POSITIVE_INFINITY)
    let bytes = 0
    source.on('data', ({ length }: Buffer) => {
      bytes += length
    })
    const sending = pipeline(source, socket).catch(() => {})
    await settled(() => bytes)
    socket.destroy()
    await sending
    checkMemory(t)
  })

  await t.test('a response that the service breaks off is broken off, in chunks and with a length', async () => {
    for (const path of ['/free/dies', '/free/dies-length', '/paid/dies', '/paid/dies-length']) {
      const payment = path.startsWith('/paid') ? await payFor(path) : undefined
      const response = await responseTo(path, { headers: payment?.first ?? {} })
      assert.equal(response.statusCode, 200)
      await assert.rejects(count(response), /aborted/, path)
      if (payment === undefined) continue
      // The payment opens another request, because the response was not complete.
      const again = await responseTo(path, { headers: payment.repeat })
      assert.equal(again.statusCode, 200)
      await assert.rejects(count(again), /aborted/, path)
    }
  })

  await t.test('a request that the client breaks off is broken off, in chunks and with a length', async () => {
    for (const headers of [{}, { 'Content-Length': bodyBytes }]) {
      received.length = 0
      const request = ask('/free/cut', { method: 'PUT', headers, body: generated(Number.POSITIVE_INFINITY) })
      await until('its first bytes', () => (request.socket?.bytesWritten ?? 0) > 10 * block.length)
      request.destroy()
      await until('the service learns of it', () => received.length > 0)
      assert.deepEqual(received, [{ url: '/free/cut', bytes: 'cut' }])
    }
  })

  await t.test('nothing of this is an error of the gateway, except for what the service broke off', async () => {
    const linesOf = (): string[] => gateway.log().split('\n').slice(0, -1)
    const errorsOf = (): string[] => linesOf().filter((line) => line.includes('error'))
    await until('the errors', () => errorsOf().length >= 6)
    const errors = errorsOf()
    assert.equal(errors.length, 6, gateway.log())
    for (const line of errors) assert.match(line, /the upstream does not respond: aborted/)
  })
  gateway.signal('SIGTERM')
  assert.deepEqual(await gateway.exited, [0, null])
})

test('HTTP/2 bodies of any length pass in bounded memory', { timeout: 600_000 }, async (t) => {
  const trade = await openTrade(t, { genesisHash: Network.testnet.genesisHash })
  const url = await listen(t, async (request, response) => {
    if (request.method === 'GET') await pipeline(generated(bodyBytes), response).catch(() => {})
    else response.end(String(await count(request)))
  })
  const directory = temporaryDirectory(t)
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  writeFileSync(cert, tls.cert)
  writeFileSync(key, tls.key)
  const facilitator = await ours.facilitators['ours']!(t, trade)
  const config = configure(t, {
    upstream: url,
    facilitator,
    payTo: String(trade.seller.addr),
    routes: { 'GET /paid': { price: '$0.01', paymentFlow: 'upfront' } },
    free: ['/free'],
    tls: { cert, key },
  })
  const gateway = await startGateway(t, trade, ['--config', config])
  const session = connectHttp2(gateway.url, { rejectUnauthorized: false })
  atEnd(t, () => session.destroy())
  const ask = async (headers: object, body?: Readable): Promise<ClientHttp2Stream> => {
    const stream = session.request({ ...headers }, { endStream: body === undefined })
    if (body !== undefined) pipeline(body, stream).catch(() => {})
    return stream
  }
  const unpaid = await ask({ ':path': '/paid' })
  const [received] = (await once(unpaid, 'response')) as [{ 'payment-required': string }]
  unpaid.resume()
  const { header } = await paymentFor(trade, received['payment-required'])
  assert.equal(await count(await ask({ ':path': '/paid', 'payment-signature': header })), bodyBytes)
  const upload = await ask({ ':path': '/free', ':method': 'PUT' }, generated(bodyBytes))
  assert.equal(await text(upload), String(bodyBytes))
  const memory = peakMemory(gateway.pid)
  t.diagnostic(`${Math.round(memory / 1e6)} MB`)
  assert.ok(memory < maxMemory, `the gateway has used ${memory} bytes`)
})
