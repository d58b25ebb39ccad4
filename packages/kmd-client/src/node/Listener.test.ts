import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Server as HttpServer, type TransportError } from '@latchkey/http-client'
import { makeDataDir, readState, removeDataDir, startOurs } from '../daemons.test.helper.js'
import { createDaemonTransport, type Examine } from '../transport/DaemonTransport.js'
import { doubt, doubtAddress } from './Listener.js'

const skip = process.platform === 'linux' || process.platform === 'darwin' ? false : 'the daemon does not run here'

/** A connection whose other end is not on this machine, like a container's port. */
const elsewhere = (port: number) => ({
  local: { address: '192.0.2.1', port: 1 },
  remote: { address: '192.0.2.2', port },
})

test('the lock decides if the system does not reveal the user', { skip }, async (t) => {
  const dataDir = makeDataDir()
  t.after(() => removeDataDir(dataDir))
  const daemon = await startOurs(dataDir)
  const { address } = readState(dataDir)
  const port = Number(address.split(':')[1])
  assert.equal(await doubt(dataDir, elsewhere(port)), undefined)
  assert.equal((await doubt(dataDir, elsewhere(port + 1)))?.reason, 'stale', 'another port than that of kmd.net')
  await daemon.stop()
  assert.equal((await doubt(dataDir, elsewhere(port)))?.reason, 'stale', 'after the daemon has ended')
  writeFileSync(join(dataDir, 'kmd.net'), address)
  assert.equal((await doubt(dataDir, elsewhere(port)))?.reason, 'stale', 'as after a kill')
  const again = await startOurs(dataDir)
  t.after(() => again.stop())
  const fresh = readFileSync(join(dataDir, 'kmd.net'), 'utf8')
  assert.equal(await doubt(dataDir, elsewhere(Number(fresh.split(':')[1]))), undefined)
})

test('a daemon removes a stale kmd.net as soon as it has the lock', async (t) => {
  const { Daemon } = await import('@latchkey/kmd')
  const dataDir = makeDataDir()
  t.after(() => removeDataDir(dataDir))
  writeFileSync(join(dataDir, 'kmd.net'), '127.0.0.1:1')
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  t.after(() => taken.close())
  const config = JSON.parse(readFileSync(join(dataDir, 'kmd_config.json'), 'utf8'))
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ ...config, address }))
  // The daemon gets the lock but not the port.
  await assert.rejects(Daemon.start({ dataDir }))
  assert.throws(() => readFileSync(join(dataDir, 'kmd.net')), { code: 'ENOENT' })
})

test('a connection to itself is not a daemon', async () => {
  const self = { address: '127.0.0.1', port: 40_000 }
  assert.equal((await doubt('/nonexistent', { local: self, remote: self }))?.reason, 'stale')
})

test('a missing directory proves nothing', async (t) => {
  const { port } = await listen(t)
  assert.equal((await doubtAddress('/nonexistent', '127.0.0.1', port))?.reason, 'stale')
  const dataDir = makeDataDir()
  t.after(() => removeDataDir(dataDir))
  writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64))
  if (process.platform === 'linux') assert.equal(await doubtAddress(dataDir, '127.0.0.1', port), undefined)
})

const isEveryUserMapped = (): boolean => {
  return /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'latin1'))
}

test('user 65534 is an ordinary user if every user has a mapping', {
  skip: process.platform !== 'linux' || process.getuid?.() !== 0 || !isEveryUserMapped() ? 'needs root' : false,
}, async (t) => {
  const unprivileged = 65_534
  const dataDir = makeDataDir()
  t.after(() => removeDataDir(dataDir))
  writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64))
  for (const path of [dataDir, join(dataDir, 'kmd.token')]) chownSync(path, unprivileged, unprivileged)
  const program = "const s = require('net').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))"
  const options = { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'] }
  const portOf = async (uid: number): Promise<number> => {
    // Another user may not be able to enter the program's directory; the executable of this process is already open.
    const child = spawn('/proc/self/exe', ['-e', program], { ...options, argv0: 'node', uid, gid: uid })
    t.after(() => child.kill('SIGKILL'))
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    return Number(line.toString())
  }
  assert.equal(await doubtAddress(dataDir, '127.0.0.1', await portOf(unprivileged)), undefined)
  assert.equal((await doubtAddress(dataDir, '127.0.0.1', await portOf(54_321)))?.reason, 'foreign')
})

test('a peer that resets the connection is not proven', { skip }, async (t) => {
  const server = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  for (let i = 0; i < 20; i++) {
    const doubted = await doubtAddress('/nonexistent', '127.0.0.1', port).catch(({ code }: TransportError) => code)
    // Refused if the reset arrives before the connection is established.
    assert.ok(doubted === 'refused' || (typeof doubted === 'object' && doubted.reason === 'stale'), String(doubted))
  }
})

test('nothing is sent to an address that does not respond within the time limit', async () => {
  const silent: Examine = { connection: async () => undefined, address: () => new Promise(() => {}) }
  let sent = 0
  const fetch = async (): Promise<Response> => {
    sent++
    return new Response('{}')
  }
  const transport = createDaemonTransport(silent, fetch)
  const request = { ...limits, server: target(1), method: 'GET', body: undefined }
  await assert.rejects(transport.send(request), { code: 'timeout' })
  const controller = new AbortController()
  const aborted = transport.send({ ...request, timeoutMs: 60_000, signal: controller.signal })
  controller.abort(new Error('enough'))
  await assert.rejects(aborted, /enough/)
  assert.equal(sent, 0)
})

async function listen(t: TestContext): Promise<{ port: number; received: () => string; server: Server }> {
  let received = ''
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, received: () => received, server }
}

const examined = (connection: Examine['connection']): Examine => ({ connection, address: async () => undefined })

const limits = {
  ...{ path: '/', headers: {}, signal: undefined, timeoutMs: 50, maxResponseBytes: 1, once: false, repeatable: true },
}
const target = (port: number) => HttpServer.fromUrl(new URL(`http://127.0.0.1:${port}`))

test('a request is sent once its peer is proven', async (t) => {
  const { port, received } = await listen(t)
  const { promise, resolve } = withResolvers<undefined>()
  const transport = createDaemonTransport(examined(() => promise))
  const body = new TextEncoder().encode('secret')
  const request = { ...limits, server: target(port), method: 'POST', body }
  const given = new AbortController()
  const sent = transport.send({ ...request, timeoutMs: 60_000, once: true, signal: given.signal })
  sent.catch(() => {})
  await new Promise((done) => setTimeout(done, 20))
  assert.equal(received(), '')
  resolve(undefined)
  while (!received().endsWith('secret')) await new Promise((done) => setTimeout(done, 5))
  assert.match(received(), /^POST \/ HTTP\/1\.1\r\n.*\r\n\r\nsecret$/s)
  given.abort(new Error('enough'))
  await assert.rejects(sent, /enough/)
})

test('nothing is sent to another peer, or after the request was given up', async (t) => {
  const { port, received, server } = await listen(t)
  const { promise, resolve } = withResolvers<{ reason: 'foreign'; message: string }>()
  const transport = createDaemonTransport(examined(() => promise))
  const request = { ...limits, server: target(port), method: 'POST', body: new TextEncoder().encode('secret') }
  const connected = new Promise((done) => server.once('connection', done))
  const failed = assert.rejects(transport.send({ ...request, timeoutMs: 60_000 }), { name: 'UnprovenPeerError' })
  await assert.rejects(transport.send(request), { code: 'timeout', isUnsent: true })
  await connected
  resolve({ reason: 'foreign', message: 'another program' })
  await failed
  await new Promise((done) => setTimeout(done, 20))
  assert.equal(received(), '')
})

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve = (_value: T): void => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
