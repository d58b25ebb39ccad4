/** Tests what a local account without the token can do through connections alone. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Kmd as Client } from '@latchkey/kmd-client'
import { atEnd, dial, exchange, start, startHosted, statusOf, until } from '../../process/commands.test.helper.js'

const sessionPath = '/latchkey/v1/console/session'
const head = (...lines: string[]): string =>
  `POST ${sessionPath} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('\r\n')}\r\n\r\n`

/** Opens connections that send `bytes` and then nothing. Connections that the daemon closes stay closed. */
async function occupy(t: TestContext, port: number, count: number, bytes: string | Buffer = ''): Promise<Socket[]> {
  const sockets: Socket[] = []
  atEnd(t, () => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
    if (bytes.length > 0) socket.write(bytes)
  }
  return sockets
}

test('a body longer than a ticket is refused before it is sent', async (t) => {
  const kmd = await startHosted(t)
  const received = await exchange(t, kmd.port, `${head('Content-Length: 1048576')}{"ticket":"`)
  assert.equal(statusOf(received), 413)
  assert.match(received, /must be <= 1024 bytes/)
  const chunked = await exchange(
    t,
    kmd.port,
    `${head('Transfer-Encoding: chunked')}${`400\r\n${'a'.repeat(1024)}\r\n`.repeat(2)}`,
  )
  assert.equal(statusOf(chunked), 413)
})

const isLinux = process.platform === 'linux' ? false : 'reads the memory of a process in /proc'

test('requests without a token take no memory', { skip: isLinux }, async (t) => {
  const kmd = await start(t)
  const megabytes = (): number => {
    const status = readFileSync(`/proc/${kmd.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)![1]) / 1024
  }
  await kmd.walletNames()
  const before = megabytes()
  const nearlyWhole = Buffer.alloc(1_000_000, 'a')
  const paths = [sessionPath, '/v1/wallet/init', '/v1/transaction/sign']
  for (const path of paths) {
    const request = Buffer.concat([
      Buffer.from(head('Content-Length: 1048576').replace(sessionPath, path)),
      nearlyWhole,
    ])
    const sockets = await occupy(t, kmd.port, 150, request)
    // Each request is answered or closed without the rest of its body.
    await until('all are answered', () => sockets.every((socket) => socket.bytesRead > 0 || socket.destroyed))
    for (const socket of sockets) socket.destroy()
  }
  const grown = megabytes() - before
  assert.ok(grown < 150, `450 MB of bodies took ${Math.round(grown)} MB`)
})

const floods: [string, string][] = [
  ['that send nothing', ''],
  ['with half a request line', 'GET /v1/wal'],
  ['with half a body', `${head('Content-Length: 1000')}{`],
  ['that were refused and stay', 'GET /v1/wallets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
]

for (const [what, bytes] of floods) {
  test(`1,100 connections without a token ${what} do not shut out a client with the token`, async (t) => {
    const kmd = await startHosted(t)
    const client = await Client.connect({ dataDir: kmd.dataDir })
    t.after(() => client.close())
    await client.wallets.list()
    // A connection with the token must not be closed in favour of the others.
    const own = await dial(t, kmd.port)
    const ask = `GET /v1/wallets HTTP/1.1\r\nHost: 127.0.0.1\r\nX-KMD-API-Token: ${kmd.token}\r\n\r\n`
    own.socket.write(ask)
    await until('the first response', () => own.received().includes('200 OK'))
    await occupy(t, kmd.port, 1100, bytes)
    assert.equal((await kmd.call('GET', '/v1/wallets')).status, 200)
    assert.deepEqual(await client.wallets.list(), [])
    own.socket.write(ask)
    await until('the second response', () => own.received().split('200 OK').length === 3)
  })
}
