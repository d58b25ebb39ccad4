/** Tests limits on everything that arrives through a socket: sizes, times, connections. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, suite, type TestContext, test } from 'node:test'
import { defaultLimits } from '@latchkey/http'
import { Daemon } from '@latchkey/kmd'
import {
  atEnd,
  dataDirectory,
  dial,
  exchange,
  type Kmd,
  sleep,
  startHosted,
  statusesOf,
  statusOf,
  suiteScope,
  timed,
  until,
} from './commands.test.helper.js'

const concurrency = 2
const timerSlackMs = 20

suite('sizes', { concurrency }, () => {
  const scope = suiteScope()
  let kmd: Kmd
  before(async () => {
    kmd = await startHosted(scope)
  })

  const limit = 1024 * 1024
  const tooLarge = 'request body too large, must be <= 1048576 bytes'

  test('a body of 1 MiB is accepted, and one byte more is 413 in the envelope', async () => {
    // White space before the value counts, too.
    const pad = (bytes: number) => `${' '.repeat(bytes - 2)}{}`
    for (const path of ['/v1/wallet', '/v1/key/list']) {
      const fits = await kmd.call('POST', path, pad(limit))
      assert.notEqual(fits.json.message, tooLarge)
      assert.ok(fits.status === 400 || fits.status === 401, String(fits.status))
      const { status, json, headers } = await kmd.call('POST', path, pad(limit + 1))
      assert.equal(status, 413)
      assert.deepEqual(json, { error: true, message: tooLarge })
      assert.equal(headers['content-type'], 'application/json')
    }
  })

  test('a body is rejected by its length, before a byte of it is sent', async (t) => {
    const received = await exchange(t, kmd.port, head(kmd, 'POST', '/v1/wallet', `Content-Length: ${limit + 1}`))
    assert.equal(statusOf(received), 413)
    assert.ok(received.includes(tooLarge))
    assert.match(received, /\r\nConnection: close\r\n/i)
  })

  test('a chunked body is rejected as soon as it exceeds the limit', async (t) => {
    const chunk = `10000\r\n${' '.repeat(65536)}\r\n`
    const request = head(kmd, 'POST', '/v1/wallet', 'Transfer-Encoding: chunked') + chunk.repeat(17)
    const received = await exchange(t, kmd.port, request)
    assert.equal(statusOf(received), 413)
    assert.ok(received.includes(tooLarge))
    await kmd.ok('GET', '/v1/wallets')
  })

  test('deep nesting is 400 at any depth', async () => {
    for (const depth of [33, 1_000, 500_000]) {
      for (const body of ['['.repeat(depth), '{"wallet_name":'.repeat(depth), `{"wallet_name":${'['.repeat(depth)}`]) {
        const { status, json } = await kmd.call('POST', '/v1/wallet', body.slice(0, limit))
        assert.equal(status, 400)
        assert.equal(json.message, 'could not decode request body')
      }
    }
    await kmd.ok('GET', '/v1/wallets')
  })

  test('headers above 16 KiB are 431 in the envelope', async (t) => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: ${'v'.repeat(90)}`).join('\r\n')
    for (const big of [`X-Big: ${'x'.repeat(17_000)}`, many(200)]) {
      const received = await exchange(t, kmd.port, head(kmd, 'GET', '/v1/wallets', big))
      assert.equal(statusOf(received), 431)
      assert.match(received, /\{"error":true,"message":"request headers too large/)
    }
    const fits = head(kmd, 'GET', '/v1/wallets', `X-Big: ${'x'.repeat(8_000)}`, 'Connection: close')
    assert.equal(statusOf(await exchange(t, kmd.port, fits)), 200)
    const endless = await exchange(t, kmd.port, `GET /${'a'.repeat(100_000)}`)
    assert.equal(statusOf(endless), 431)
  })

  test('a peer that sends requests and hardly reads does not fill the memory', async (t) => {
    const kmd = await startHosted(t)
    const beforehand = await residentBytes(kmd)
    const { socket, received } = await dial(t, kmd.port)
    socket.pause()
    // Two hundred megabytes of responses.
    socket.write('GET /swagger.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(4_000))
    await sleep(200)
    socket.on('data', () => received().length > 4 * limit && socket.pause())
    socket.resume()
    await sleep(1_000)
    const grownMiB = ((await residentBytes(kmd)) - beforehand) / limit
    assert.ok(grownMiB < 64, `grew by ${Math.round(grownMiB)} MiB`)
  })
})

/** Whether the kernel reports an open connection of the server from that port of this machine. */
function isOpen(serverPort: number, peerPort: number): boolean {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync('/proc/self/net/tcp', 'utf8').split('\n')
  // A connection that the kernel is still closing, without the program, has the inode 0.
  return rows.some((row) => {
    const [, local, peer, , , , , , , inode] = row.trim().split(/\s+/)
    return local?.endsWith(`:${hex(serverPort)}`) && peer?.endsWith(`:${hex(peerPort)}`) && inode !== '0'
  })
}

suite('times', { concurrency: 8 }, () => {
  /** Runs in this process, because the command has no option for its limits. */
  async function startWithLimits(
    t: TestContext,
    limits: object,
  ): Promise<{ port: number; token: string; log: string }> {
    const dataDir = dataDirectory(t)
    const daemon = await Daemon.start({ dataDir, wire: 'reference', limits })
    atEnd(t, () => daemon.stop())
    const token = readFileSync(daemon.tokenFile, 'utf8')
    return { port: Number(daemon.address.split(':')[1]), token, log: `${dataDir}/kmd.log` }
  }
  /** Returns the response over a new connection; empty if the connection was not accepted. */
  const ask = (t: TestContext, port: number): Promise<string> =>
    exchange(t, port, 'GET /versions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  const limits = { headersMs: 400, requestMs: 800, idleMs: 600 }

  /**
   * Retries with longer and longer limits. A process that gets no CPU time for as long as the limit sees the data
   * together with the timeout, and closes the connection before reading it.
   */
  async function withTime(attempt: (factor: number) => Promise<'done' | 'too slow'>): Promise<void> {
    for (const factor of [1, 4, 16]) if ((await attempt(factor)) === 'done') return
    assert.fail('every connection was closed before what was sent over it was read')
  }
  const times = (factor: number): typeof limits => ({
    headersMs: limits.headersMs * factor,
    requestMs: limits.requestMs * factor,
    idleMs: limits.idleMs * factor,
  })

  test('cuts off headers that trickle in', (t) =>
    withTime(async (factor) => {
      const { port } = await startWithLimits(t, times(factor))
      const { socket, received, closed } = await dial(t, port)
      const trickle = setInterval(() => socket.write('X'), 50)
      atEnd(t, () => clearInterval(trickle))
      socket.write('GET /versions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
      const { elapsedMs } = await timed(closed)
      clearInterval(trickle)
      if (received() === '') return 'too slow'
      assert.ok(elapsedMs < defaultLimits.headersMs * factor, `cut off after ${elapsedMs} ms, as by the default limit`)
      assert.equal(statusOf(received()), 408)
      assert.match(received(), /\{"error":true,"message":"the request did not arrive in time"\}/)
      return 'done'
    }))

  test('cuts off a body that trickles in', (t) =>
    withTime(async (factor) => {
      const { port, token } = await startWithLimits(t, times(factor))
      const { socket, received, closed } = await dial(t, port)
      socket.write(
        `POST /v1/wallet HTTP/1.1\r\nHost: localhost\r\nX-KMD-API-Token: ${token}\r\nContent-Length: 1000\r\n\r\n{`,
      )
      const trickle = setInterval(() => socket.write(' '), 50)
      atEnd(t, () => clearInterval(trickle))
      await closed
      clearInterval(trickle)
      if (received() === '') return 'too slow'
      assert.equal(statusOf(received()), 408)
      return 'done'
    }))

  test('a connection without data is closed', async (t) => {
    const { port } = await startWithLimits(t, limits)
    const { received, closed } = await dial(t, port)
    const { elapsedMs } = await timed(closed)
    assert.ok(elapsedMs < defaultLimits.headersMs, `closed after ${elapsedMs} ms, as by the default limit`)
    assert.ok([0, 408].includes(statusOf(received())))
  })

  test('an idle connection is closed after its time', (t) =>
    withTime(async (factor) => {
      const { idleMs } = times(factor)
      const { port } = await startWithLimits(t, times(factor))
      const { socket, received, closed } = await dial(t, port)
      const request = 'GET /versions HTTP/1.1\r\nHost: localhost\r\n\r\n'
      socket.write(request)
      await until('an answer, or the end', () => statusOf(received()) === 200 || socket.closed)
      if (socket.closed) return 'too slow'
      await sleep(idleMs / 2)
      const sentAt = performance.now()
      socket.write(request)
      await closed
      if (statusesOf(received()).length < 2) return 'too slow'
      assert.ok(performance.now() - sentAt >= idleMs - timerSlackMs, 'the second request did not restart the time')
      return 'done'
    }))

  test('a peer that does not read its response is disconnected', async (t) => {
    const { port } = await startWithLimits(t, limits)
    const { socket } = await dial(t, port)
    socket.pause()
    socket.write('GET /swagger.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(400))
    const peerPort = socket.localPort!
    assert.equal(isOpen(port, peerPort), true)
    await until('the connection to be let go of', () => !isOpen(port, peerPort))
  })

  test('connections are limited: the longest-idle one with the token makes room', async (t) => {
    const { port, token } = await startWithLimits(t, { ...limits, connections: 5, idleMs: 60_000, headersMs: 60_000 })
    const lines = []
    for (let count = 1; count <= 5; count++) {
      const line = await dial(t, port)
      lines.push(line)
      line.socket.write(`GET /v1/wallets HTTP/1.1\r\nHost: localhost\r\nX-KMD-API-Token: ${token}\r\n\r\n`)
      await until('an answer', () => statusOf(line.received()) === 200)
    }
    assert.equal(statusOf(await ask(t, port)), 200)
    await lines[0]!.closed
    for (const { socket } of lines.slice(1)) assert.equal(isOpen(port, socket.localPort!), true)
  })

  test('a client that disconnects during its request is not logged as an error', async (t) => {
    const { port, token, log } = await startWithLimits(t, {})
    for (const leave of ['destroy', 'end'] as const) {
      const { socket, received, closed } = await dial(t, port)
      socket.write(
        `POST /v1/wallet HTTP/1.1\r\nHost: localhost\r\nX-KMD-API-Token: ${token}\r\nContent-Length: 99\r\n\r\n{`,
      )
      await sleep(50)
      socket[leave]()
      await closed
      // Caused by the client, so not an error of the daemon.
      assert.notEqual(statusOf(received()), 500, received())
    }
    await sleep(50)
    assert.ok(!readFileSync(log, 'utf8').includes('level=error'), readFileSync(log, 'utf8'))
  })
})

function head(kmd: { token: string }, method: string, path: string, ...headers: string[]): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `X-KMD-API-Token: ${kmd.token}`, ...headers]
  return `${lines.join('\r\n')}\r\n\r\n`
}

async function residentBytes(kmd: Kmd): Promise<number> {
  const { text } = await kmd.call('GET', '/latchkey/v1/metrics')
  return Number(/^process_resident_memory_bytes ([0-9]+)$/m.exec(text)?.[1])
}
