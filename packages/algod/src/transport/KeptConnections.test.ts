import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { KeptConnections } from './KeptConnections.js'

const timeout = 60_000
const hourMs = 3_600_000

async function setUp(t: TestContext, announced: string | undefined, idleMs: number) {
  const sockets = new Set<Socket>()
  const server = createServer({ keepAliveTimeout: 0 }, ({ socket }, response) => {
    sockets.add(socket)
    if (announced !== undefined) response.setHeader('Keep-Alive', announced)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const kept = new KeptConnections(new Agent({ keepAlive: true, timeout: idleMs }), idleMs)
  t.after(() => {
    kept.agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Sends one request and waits until its connection is kept or closed. */
  const send = async (): Promise<void> => {
    const request = get({ host: '127.0.0.1', port, agent: kept.agent })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    kept.note(response)
    response.resume()
    await once(request, 'close')
    await new Promise((resolve) => setImmediate(resolve))
  }
  const free = (): number => Object.values(kept.agent.freeSockets).reduce((sum, list) => sum + (list?.length ?? 0), 0)
  return { kept, send, free, connections: () => sockets.size }
}

test('a connection is used for less time than the server announces', { timeout }, async (t) => {
  const { kept, send, free, connections } = await setUp(t, 'timeout=3600, max=1000', 2 * hourMs)
  await send()
  kept.prune(performance.now() + hourMs / 2)
  assert.equal(free(), 1)
  await send()
  assert.equal(connections(), 1)
  kept.prune(performance.now() + hourMs - 1_000)
  assert.equal(free(), 0)
  await send()
  assert.equal(connections(), 2)
})

test('without an announcement, or with a longer one, a connection is used for the configured time', {
  timeout,
}, async (t) => {
  for (const announced of [undefined, 'timeout=86400', 'max=5', 'timeout=soon', 'timeout=-1', 'Timeout']) {
    const { kept, send, free } = await setUp(t, announced, hourMs)
    await send()
    kept.prune(performance.now() + hourMs / 2)
    assert.equal(free(), 1, announced)
    kept.prune(performance.now() + hourMs)
    assert.equal(free(), 0, announced)
  }
})

test('a connection that the server closes immediately is not kept', { timeout }, async (t) => {
  const { send, free, connections } = await setUp(t, 'timeout=0', hourMs)
  await send()
  assert.equal(free(), 0)
  await send()
  assert.equal(connections(), 2)
})

test('closing ends idle connections, and later requests open new ones that are kept', { timeout }, async (t) => {
  const { kept, send, free, connections } = await setUp(t, undefined, hourMs)
  await send()
  kept.close()
  await send()
  await send()
  assert.deepEqual([connections(), free()], [2, 1])
})
