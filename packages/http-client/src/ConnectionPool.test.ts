import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Exchange, requestHead } from './Connection.js'
import { ConnectionPool } from './node.js'
import * as Server from './Server.js'

const timeout = 60_000
const hourMs = 3_600_000

/** An exchange that ignores its response. */
class UnreadExchange extends Exchange<void> {
  constructor(server: Server.Server) {
    const target = { method: 'GET', path: '/', authority: server.authority, isKept: true }
    super({ server, method: 'GET', head: requestHead(target, []), body: undefined, isKept: true }, undefined, timeout)
  }
  onHead(): void {}
  onData(): void {}
  protected onEnd(): void {
    this.resolve()
  }
  protected onError(error: unknown): void {
    this.reject(error)
  }
  protected onLate(): void {
    this.fail(new Error('late'))
  }
}

async function setUp(t: TestContext, announced: string | undefined, idleMs: number) {
  const sockets = new Set<Socket>()
  const server = createServer({ keepAliveTimeout: 0 }, ({ socket }, response) => {
    sockets.add(socket)
    if (announced !== undefined) response.setHeader('Keep-Alive', announced)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pool = new ConnectionPool({ maxConnections: 4, maxIdle: 4, idleMs })
  t.after(() => {
    pool.close()
    server.closeAllConnections()
    server.close()
  })
  const target = Server.fromUrl(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  const send = (): Promise<void> => {
    const exchange = new UnreadExchange(target)
    pool.start(exchange)
    return exchange.result
  }
  return { pool, send, connections: () => sockets.size }
}

test('a connection is used for less time than the server announces', { timeout }, async (t) => {
  const { pool, send, connections } = await setUp(t, 'timeout=3600, max=1000', 2 * hourMs)
  await send()
  pool.closeExpired(performance.now() + hourMs / 2)
  assert.equal(pool.idleCount, 1)
  await send()
  assert.equal(connections(), 1)
  pool.closeExpired(performance.now() + hourMs - 1_000)
  assert.equal(pool.idleCount, 0)
  await send()
  assert.equal(connections(), 2)
})

test('without an announcement, or with a longer one, a connection is used for the configured time', {
  timeout,
}, async (t) => {
  for (const announced of [undefined, 'timeout=86400', 'max=5', 'timeout=soon', 'timeout=-1', 'Timeout']) {
    const { pool, send } = await setUp(t, announced, hourMs)
    await send()
    pool.closeExpired(performance.now() + hourMs / 2)
    assert.equal(pool.idleCount, 1, announced)
    pool.closeExpired(performance.now() + hourMs)
    assert.equal(pool.idleCount, 0, announced)
  }
})

test('a connection that the server closes immediately is not kept', { timeout }, async (t) => {
  const { pool, send, connections } = await setUp(t, 'timeout=0', hourMs)
  await send()
  assert.equal(pool.idleCount, 0)
  await send()
  assert.equal(connections(), 2)
})

test('closing ends idle connections, and later requests open new ones that are kept', { timeout }, async (t) => {
  const { pool, send, connections } = await setUp(t, undefined, hourMs)
  await send()
  pool.close()
  await send()
  await send()
  assert.deepEqual([connections(), pool.idleCount], [2, 1])
})
