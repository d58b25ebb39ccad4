import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { test } from 'node:test'
import { PostgresConnection } from './PostgresConnection.js'

test('keeps an idle connection alive before a router or a load balancer drops it', async (t) => {
  const server = createServer((socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const { mock } = t.mock.method(Socket.prototype, 'setKeepAlive')
  const address = `postgres://u:p@127.0.0.1:${port}/d?sslmode=disable`
  await assert.rejects(PostgresConnection.open({ address, retryMs: 1, environment: {} }), { code: 'store_failed' })
  const delays = mock.calls.map(({ arguments: [isOn, delayMs = 0] }) => (isOn === true ? delayMs : 0))
  assert.ok(delays.length > 0)
  // The default of operating systems is two hours.
  for (const delayMs of delays) assert.ok(delayMs > 0 && delayMs <= 120_000, `${delayMs} ms`)
})
