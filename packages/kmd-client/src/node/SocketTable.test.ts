import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { holders, holdersOf } from './Listener.js'

const skip = process.platform === 'linux' ? false : 'only Linux has this table'
const header = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
const row = (local: string, remote: string, state: string, uid: number, inode: number): string =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000042e19ddf 100 0 0 10 0`

const ends = {
  local: { address: '127.0.0.1', port: 0xa85d },
  remote: { address: '127.0.0.1', port: 7833 },
}
const listener4 = row('0100007F:1E99', '00000000:0000', '0A', 1000, 5)
const mine = row('0100007F:A85D', '0100007F:1E99', '01', 7, 6)

test("the peer's accepted socket decides", { skip }, () => {
  const accepted = row('0100007F:1E99', '0100007F:A85D', '01', 2000, 9)
  assert.deepEqual(holders([header, listener4, mine, accepted].join('\n'), ends), [2000])
})

test('before a connection is accepted, every listening socket counts and its own user does not', { skip }, () => {
  const queued = row('0100007F:1E99', '0100007F:A85D', '01', 0, 0)
  assert.deepEqual(holders([header, listener4, mine, queued].join('\n'), ends), [1000])
  const wildcard = row(`${'0'.repeat(32)}:1E99`, `${'0'.repeat(32)}:0000`, '0A', 1001, 8)
  assert.deepEqual(holders([listener4, wildcard, queued].join('\n'), ends), [1000, 1001])
})

test('a dual-stack socket is found by its IPv6 form', { skip }, () => {
  const mapped = '0000000000000000FFFF00000100007F'
  assert.deepEqual(holders(row(`${mapped}:1E99`, `${mapped}:A85D`, '01', 1002, 3), ends), [1002])
  const six = { local: { address: '::1', port: 2 }, remote: { address: '::1', port: 1 } }
  const loopback = '00000000000000000000000001000000'
  assert.deepEqual(holders(row(`${loopback}:0001`, `${loopback}:0002`, '01', 1003, 3), six), [1003])
  const mappedEnds = {
    local: { address: '::ffff:127.0.0.1', port: 0xa85d },
    remote: { address: '::ffff:127.0.0.1', port: 7833 },
  }
  assert.deepEqual(holders(listener4, mappedEnds), [1000])
})

test('a peer of another machine or namespace has no holder, and no line is mistaken for one', { skip }, () => {
  const other = row('0100007F:1E9A', '00000000:0000', '0A', 1000, 5)
  assert.deepEqual(holders([header, mine, other, '', 'garbage 0100007F:1E99'].join('\n'), ends), [])
})

for (const host of ['127.0.0.1', '::1', '::']) {
  test(`this process is found as the holder of its own connections on ${host}`, { skip }, async (t) => {
    const server = createServer().listen(0, host)
    const listening = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!listening) return t.skip('this machine has no IPv6')
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: host === '::' ? '127.0.0.1' : host })
    t.after(() => {
      socket.destroy()
      server.close()
    })
    const accepting = once(server, 'connection')
    await once(socket, 'connect')
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket
    const found = {
      local: { address: localAddress, port: localPort },
      remote: { address: remoteAddress, port: remotePort },
    }
    const own = process.getuid?.()
    assert.deepEqual(await holdersOf(found), [own])
    const [accepted] = await accepting
    assert.deepEqual(await holdersOf(found), [own])
    accepted.destroy()
  })
}
