/** A program of another account takes the port of a killed daemon and waits for token and password. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Kmd, type KmdClientError } from '@latchkey/kmd-client'
import { atEnd, dataDirectory, until } from '../../process/commands.test.helper.js'
import { startDaemon } from '../../support/daemon.test.helper.js'
import { latchkey } from '../../support/latchkey.test.helper.js'
import { missingOtherUsers } from '../../support/programs.test.helper.js'

const otherUid = 54_321
const skip = process.platform === 'linux' ? missingOtherUsers() : 'needs Linux'
const password = 'correct horse'

/** Responds to everything like a daemon with one wallet, and prints what it receives. */
const impostor = `
const { createServer } = require('node:http')
const server = createServer((request, response) => {
  process.stdout.write(request.method + ' ' + request.url + ' token=' + request.headers['x-kmd-api-token'] + '\\n')
  request.on('data', (chunk) => process.stdout.write(chunk + '\\n'))
  request.on('end', () => response.end(JSON.stringify({
    wallets: [{ id: 'w', name: 'w', driver_name: 'sqlite', driver_version: 1, mnemonic_ux: false, supported_txs: [] }],
    wallet_handle_token: 'h', addresses: [], wallet_handle: { expires_seconds: 60 },
  })))
})
let resets = Number(process.argv[2])
server.on('connection', (socket) => socket.on('error', () => {}))
server.prependListener('connection', (socket) => resets-- > 0 && socket.resetAndDestroy())
server.listen(Number(process.argv[1]), '127.0.0.1', () => process.stdout.write('listening\\n'))
`

/** Starts the impostor on `port`, which resets its first connections, and returns what it has received. */
async function listenAs(t: TestContext, uid: number, port: number, resets = 0): Promise<() => string> {
  const child = spawn(process.execPath, ['-e', impostor, String(port), String(resets)], {
    ...{ uid, gid: uid, cwd: '/', env: {} },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  atEnd(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece
  })
  await until('the impostor listens', () => output.includes('listening\n'))
  return () => output.replace('listening\n', '')
}

/** Returns a killed daemon with the wallet w; kmd.net remains. */
async function killedDaemon(t: TestContext) {
  const dataDir = dataDirectory(t)
  const daemon = await startDaemon({ dir: dataDir })
  await daemon.call('POST', '/v1/wallet', {
    wallet_name: 'w',
    wallet_password: password,
    wallet_driver_name: 'sqlite',
  })
  const port = Number(daemon.address.split(':')[1])
  return { dataDir, port, kill: () => daemon.kill() }
}

const isForeign = (error: KmdClientError): boolean => {
  assert.equal(error.code, 'foreign_listener')
  assert.match(error.message, new RegExp(`user ${otherUid}`))
  return true
}

test('commands send nothing to a program of another account on the port of a killed daemon', { skip }, async (t) => {
  const { dataDir, port, kill } = await killedDaemon(t)
  await kill()
  assert.ok(existsSync(join(dataDir, 'kmd.net')))
  const received = await listenAs(t, otherUid, port)
  const passwordFile = join(dataDir, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  const commands = [
    ['key', 'list', '--password-file', passwordFile],
    ['wallet', 'list'],
    ['console'],
    ['doctor'],
    ['token', 'rotate'],
  ]
  for (const args of commands) {
    const { code, stdout, stderr } = await latchkey(args, { dataDir })
    assert.equal(received(), '', `latchkey ${args.join(' ')}`)
    assert.notEqual(code, 0, `latchkey ${args.join(' ')}: ${stdout}${stderr}`)
    assert.match(stdout + stderr, /another user/, `latchkey ${args.join(' ')}`)
  }
})

test('a client sends nothing after the port has changed owner, and finds the daemon again', { skip }, async (t) => {
  const { dataDir, port, kill } = await killedDaemon(t)
  const kmd = await Kmd.connect({ dataDir })
  t.after(() => kmd.close())
  const wallet = await kmd.unlock({ name: 'w', password: () => password })
  await wallet.generateKey()
  await kill()
  const received = await listenAs(t, otherUid, port)
  // Reads reuse open connections, and other calls open new ones.
  await assert.rejects(wallet.keys(), isForeign)
  await assert.rejects(wallet.generateKey(), isForeign)
  await assert.rejects(Promise.all(Array.from({ length: 50 }, () => kmd.wallets.list())), isForeign)
  assert.equal(received(), '')
  const restarted = await startDaemon({ dir: dataDir })
  t.after(() => restarted.kill())
  assert.notEqual(readFileSync(join(dataDir, 'kmd.net'), 'utf8'), `127.0.0.1:${port}`)
  assert.equal((await wallet.keys()).length, 1)
  assert.equal(received(), '')
})

test('a client with a custom fetch sends nothing either', { skip }, async (t) => {
  const { dataDir, port, kill } = await killedDaemon(t)
  await kill()
  const received = await listenAs(t, otherUid, port)
  const kmd = await Kmd.connect({ dataDir, fetch: (url, init) => fetch(url, init) })
  await assert.rejects(kmd.wallets.list(), isForeign)
  assert.equal(received(), '')
})

test("a connection reset by another account's program proves nothing", { skip }, async (t) => {
  const { dataDir, port, kill } = await killedDaemon(t)
  await kill()
  const received = await listenAs(t, otherUid, port, 1)
  for (const options of [{ fetch: (url: string, init: RequestInit) => fetch(url, init) }, {}]) {
    const kmd = await Kmd.connect({ dataDir, ...options })
    t.after(() => kmd.close())
    await assert.rejects(kmd.wallets.list())
    await assert.rejects(kmd.wallets.list(), isForeign)
  }
  assert.equal(received(), '')
})

test('root can use a daemon of another account that owns the data directory', { skip }, async (t) => {
  const { dataDir, port, kill } = await killedDaemon(t)
  await kill()
  const { chownSync } = await import('node:fs')
  chownSync(dataDir, otherUid, otherUid)
  const received = await listenAs(t, otherUid, port)
  const kmd = await Kmd.connect({ dataDir })
  t.after(() => kmd.close())
  assert.deepEqual(
    (await kmd.wallets.list()).map(({ name }) => name),
    ['w'],
  )
  assert.match(received(), /GET \/v1\/wallets token=a{64}/)
})
