/** A daemon on a Unix socket: curl and the rules about users. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Daemon } from './Daemon.js'
import * as PeerCredentials from './PeerCredentials.js'

const skip = process.platform === 'win32' ? 'there are no Unix sockets' : false
const isCurlMissing = spawnSync('curl', ['--version']).error !== undefined && process.env['CI'] !== 'true'
const skipWithoutCurl = skip || (isCurlMissing && 'curl is not installed')

type Started = { path: string; dataDir: string; token: string; daemon: Daemon }

async function start(t: TestContext, config: object = {}): Promise<Started> {
  const dataDir = mkdtempSync(join(tmpdir(), 'kmd-unix-'))
  const path = join(dataDir, 'kmd.sock')
  writeFileSync(
    join(dataDir, 'kmd_config.json'),
    JSON.stringify({ address: '127.0.0.1:0', unix_socket: path, ...config }),
  )
  const daemon = await Daemon.start({ dataDir, limits: { stopMs: 100 } })
  t.after(async () => {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return { path, dataDir, token: readFileSync(join(dataDir, 'kmd.token'), 'utf8'), daemon }
}

/** Returns the status and body, using an external program. */
function curl(
  path: string,
  token: string,
  target: string,
  user: { uid?: number; gid?: number } = {},
): Promise<{ status: string; body: string }> {
  const args = [
    '-s',
    '--max-time',
    '20',
    '--unix-socket',
    path,
    '-H',
    `X-KMD-API-Token: ${token}`,
    '-w',
    '\n%{http_code}',
  ]
  return new Promise((resolve, reject) => {
    execFile('curl', [...args, `http://localhost${target}`], user, (error, stdout) => {
      if (error !== null) reject(error)
      else resolve({ status: stdout.split('\n').at(-1)!, body: stdout.slice(0, stdout.lastIndexOf('\n')) })
    })
  })
}

test('the API is served on the socket as on the port, with the same token', { skip: skipWithoutCurl }, async (t) => {
  const { path, token, daemon } = await start(t)
  assert.equal(daemon.unixSocket, path)
  const served = await curl(path, token, '/v1/wallets')
  assert.deepEqual([served.status, JSON.parse(served.body).error], ['200', false])
  assert.equal((await curl(path, 'b'.repeat(64), '/v1/wallets')).status, '401')
  const overPort = await fetch(`http://${daemon.address}/v1/wallets`, { headers: { 'x-kmd-api-token': token } })
  assert.equal(overPort.status, 200)
})

test('with a list of users, others are rejected', {
  skip: skipWithoutCurl,
}, async (t) => {
  if (!PeerCredentials.isSupported()) {
    t.skip('needs Linux, with perl or python3')
    return
  }
  const own = process.getuid?.() ?? 0
  const { path, token } = await start(t, { unix_socket_uids: [own + 1] })
  const refused = await curl(path, token, '/v1/wallets')
  assert.equal(refused.status, '403')
  assert.match(refused.body, /the socket does not serve this user/)
  assert.equal((await curl(path, token, '/versions')).status, '403', 'whatever it asks for')
  const listed = await start(t, { unix_socket_uids: [own] })
  assert.equal((await curl(listed.path, listed.token, '/v1/wallets')).status, '200')
})

test('with a group and a list, the listed users can connect and no other', { skip: skipWithoutCurl }, async (t) => {
  if (process.getuid?.() !== 0 || !PeerCredentials.isSupported()) {
    t.skip('needs root, to run a program as another user')
    return
  }
  const [gid, listed, other] = [54_321, 54_322, 54_323]
  const { path, token, dataDir } = await start(t, { unix_socket_group: String(gid), unix_socket_uids: [listed] })
  chmodSync(dataDir, 0o711)
  assert.equal((await curl(path, token, '/v1/wallets', { uid: listed, gid })).status, '200')
  // Connects whatever the mode of the socket is.
  assert.equal((await curl(path, token, '/v1/wallets')).status, '403')
  const hasList = !readFileSync(join(dataDir, 'kmd.log'), 'utf8').includes('no access control lists')
  if (hasList) {
    assert.equal((await curl(path, token, '/v1/wallets', { uid: listed, gid: other })).status, '200')
    await assert.rejects(curl(path, token, '/v1/wallets', { uid: other, gid }))
  } else assert.equal((await curl(path, token, '/v1/wallets', { uid: other, gid })).status, '403')
  await assert.rejects(curl(path, token, '/v1/wallets', { uid: other, gid: other }))
})

test('if the socket cannot be created, the daemon does not start and leaves nothing behind', { skip }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kmd-unix-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: '127.0.0.1:0', unix_socket: 'kmd.sock' }))
  const failure = { name: 'StartError', code: 'unix_socket' }
  await assert.rejects(Daemon.start({ dataDir }), failure)
  await assert.rejects(Daemon.start({ dataDir, unixSocket: join(dataDir, 'no', 'kmd.sock') }), failure)
  assert.throws(() => readFileSync(join(dataDir, 'kmd.net')), { code: 'ENOENT' })
  const daemon = await Daemon.start({ dataDir, unixSocket: join(dataDir, 'kmd.sock') })
  await daemon.stop()
  assert.throws(() => readFileSync(join(dataDir, 'kmd.sock')), { code: 'ENOENT' })
})
