import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConnectionEnds, Server } from '@latchkey/http'
import * as PeerCredentials from './PeerCredentials.js'
import { PeerUsers } from './PeerUsers.js'

const skip = process.platform === 'linux' ? false : 'only Linux has these tables'
const row = (local: string, remote: string, uid: number, inode = 5): string =>
  `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000042e19ddf 100 0 0 10 0`
const ends: ConnectionEnds = {
  ...{ localAddress: '127.0.0.1', localPort: 7833, remoteAddress: '127.0.0.1', remotePort: 0xa85d },
  descriptor: 9,
}
const peersOf = (table: string): PeerUsers => new PeerUsers({ readTcp: async () => table })

test("the user of the peer's own socket counts, not that of the daemon's", { skip }, async () => {
  const mine = row('0100007F:1E99', '0100007F:A85D', 1)
  const theirs = row('0100007F:A85D', '0100007F:1E99', 1000)
  assert.equal(await peersOf([mine, theirs].join('\n')).of(ends), 1000)
  assert.equal(await peersOf(mine).of(ends), undefined)
  assert.equal(await peersOf(row('0100007F:A85D', '0100007F:1E99', 1000, 0)).of(ends), undefined, 'no process has it')
  assert.equal(await peersOf(row('0100007F:A85D', '0100007F:1E99', 65_534)).of(ends), undefined, 'an unmapped user')
  assert.equal(await peersOf('').of(ends), undefined)
  const mapped = '0000000000000000FFFF00000100007F'
  assert.equal(await peersOf(row(`${mapped}:A85D`, `${mapped}:1E99`, 1001)).of(ends), 1001)
  const closed = { ...ends, remoteAddress: undefined }
  assert.equal(await peersOf(theirs).of(closed), undefined, 'a connection that is closed')
})

test('a table is read once for a connection, and once for all lookups during the read', { skip }, async () => {
  let readings = 0
  const release: (() => void)[] = []
  const readTcp = (): Promise<string> => {
    readings++
    return new Promise((resolve) => release.push(() => resolve(row('0100007F:A85D', '0100007F:1E99', 7))))
  }
  const peers = new PeerUsers({ readTcp })
  const first = peers.of(ends)
  await new Promise((resolve) => setImmediate(resolve))
  const others = Array.from({ length: 50 }, () => peers.of({ ...ends }))
  assert.equal(readings, 1)
  for (let turn = 0; turn < 2; turn++) {
    release.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual([await first, ...(await Promise.all(others))], Array(51).fill(7))
  assert.equal(readings, 2)
  assert.equal(await peers.of(ends), 7)
  assert.equal(readings, 2)
})

test('a long table is parsed once for all lookups, in pieces with other work in between', {
  skip,
}, async () => {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')
  const rows = Array.from({ length: 20_000 }, (_, at) => row(`0100007F:${hex(at + 1)}`, '0100007F:1E99', at))
  const table = ['  sl  local_address rem_address   st', ...rows, ''].join('\n')
  let [readings, turns] = [0, 0]
  const peers = new PeerUsers({
    readTcp: async () => {
      readings++
      return table
    },
  })
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const asked = Array.from({ length: 500 }, (_, at) => peers.of({ ...ends, remotePort: 1 + at * 40 }))
  const users = await Promise.all(asked)
  isDone = true
  assert.deepEqual(
    users,
    asked.map((_, at) => at * 40),
  )
  assert.equal(readings, 1)
  assert.ok(turns > 5, `${turns} turns`)
})

test('a row without a process does not hide the one with the same ends', { skip }, async () => {
  const [gone, open] = [0, 5].map((inode) => row('0100007F:A85D', '0100007F:1E99', 1000 + inode, inode))
  assert.equal(await peersOf([gone, open].join('\n')).of({ ...ends }), 1005)
})

test('a connection whose user could not be determined is looked up again', { skip }, async () => {
  let table = ''
  const peers = new PeerUsers({ readTcp: async () => table })
  const connection = { ...ends }
  assert.equal(await peers.of(connection), undefined)
  table = row('0100007F:A85D', '0100007F:1E99', 1000)
  assert.equal(await peers.of(connection), 1000)
})

for (const host of ['127.0.0.1', '::1', '::']) {
  test(`this process is the peer of its own connection on ${host}`, { skip }, async (t) => {
    const server = createServer().listen(0, host)
    const isListening = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isListening) {
      t.skip('no such address here')
      return
    }
    t.after(() => server.close())
    const accepted = once(server, 'connection')
    const client = connect((server.address() as AddressInfo).port, host === '::' ? '127.0.0.1' : host)
    t.after(() => client.destroy())
    const [socket] = (await accepted) as [Socket]
    t.after(() => socket.destroy())
    const { localAddress, localPort, remoteAddress, remotePort } = socket
    const found = { localAddress, localPort, remoteAddress, remotePort, descriptor: undefined }
    assert.equal(await new PeerUsers().of(found), process.getuid?.())
  })
}

test('the users of a real Unix socket are queried once per connection', { skip }, async (t: TestContext) => {
  if (!PeerCredentials.isSupported()) {
    t.skip('neither perl nor python3 is installed')
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'kmd-peer-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const seen: ConnectionEnds[] = []
  const users: Promise<number | undefined>[] = []
  const peers = new PeerUsers()
  const server = new Server({
    handle: (request) => {
      const found = request.ends!()
      seen.push(found)
      users.push(peers.ofUnix(found))
      return { status: 200, headers: [], body: '' }
    },
  })
  const path = join(directory, 'socket')
  await server.listenUnix(path)
  t.after(() => server.stop(0))
  const ask = async (client: Socket): Promise<void> => {
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(client, 'data')
  }
  const clients = Array.from({ length: 6 }, () => connect({ path }))
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  await Promise.all(clients.map(ask))
  await ask(clients[0]!)
  assert.ok(seen.every(({ descriptor, remoteAddress }) => descriptor !== undefined && remoteAddress === undefined))
  assert.equal(new Set(seen).size, 6, 'the same object for all requests of a connection')
  assert.deepEqual(await Promise.all(users), Array(7).fill(process.getuid?.()))
})

test('a descriptor that is closed or not a socket has no user', { skip }, async () => {
  const credentials = new PeerCredentials.PeerCredentials()
  assert.equal(await credentials.userOf(54_321), undefined)
  const file = openSync('/dev/null', 'r')
  assert.equal(await credentials.userOf(file), undefined)
  closeSync(file)
  const peers = new PeerUsers({ credentials: { userOf: () => Promise.reject(new Error('no')) } })
  assert.equal(await peers.ofUnix({ ...ends }), undefined)
  assert.equal(await peers.ofUnix({ ...ends, descriptor: undefined }), undefined)
})
