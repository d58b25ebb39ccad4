import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import test from 'node:test'
import { openShop } from './gateway.test.helper.js'

test('both ends of a switched connection are asked whether they are still there', async (t) => {
  const setKeepAlive = t.mock.method(Socket.prototype, 'setKeepAlive')
  const { port, service } = await openShop(t, undefined, { free: ['/free'] })
  service.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.on('error', () => {}).pipe(socket)
  })
  const client = connect(port, '127.0.0.1')
  client.write('GET /free HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await once(client, 'data')
  const watched = setKeepAlive.mock.calls.filter(({ arguments: [isOn, afterMs] }) => isOn && afterMs! > 0)
  const ends = watched.map((call) => (call.this as Socket).remotePort)
  assert.ok(ends.includes(client.localPort), 'the client')
  assert.equal(new Set(ends).size, 2, 'the service')
  client.destroy()
})
