/**
 * Tests what the holder of a lesser token, or a member of the socket's group, can do to the owner through connections
 * alone.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import * as http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { atEnd, type Kmd, start, until } from '../../process/commands.test.helper.js'
import { hostedLatchkey } from '../../support/latchkey.test.helper.js'

const helper = fileURLToPath(new URL('hostile-process.test.helper.js', import.meta.url))
const count = 1100
const network = Buffer.alloc(32, 7).toString('base64')

type Target = { port?: number; path?: string; replaceMs?: number; isRefused?: boolean }

/** Occupies the server from another process, and resolves once all connections are made. */
async function occupy(t: TestContext, target: Target, bytes: string, user: { uid?: number; gid?: number } = {}) {
  const attack = JSON.stringify({ ...target, count, bytes })
  const child = spawn(process.execPath, [helper, attack], { stdio: ['ignore', 'pipe', 'inherit'], ...user })
  atEnd(t, () => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (part: Buffer) => {
    output += part
  })
  await until('the connections', () => output.includes('ready'))
}

type Agent = { id: string; token: string; name: string }

async function makeAgent(kmd: Kmd): Promise<Agent> {
  const wallet = { wallet_name: 'w', wallet_password: '', wallet_driver_name: 'sqlite' }
  const { id } = (await kmd.call('POST', '/v1/wallet', wallet)).json.wallet
  const unlocked = await kmd.call('POST', '/v1/wallet/init', { wallet_id: id, wallet_password: '' })
  const { wallet_handle_token } = unlocked.json
  const { address } = (await kmd.call('POST', '/v1/key', { wallet_handle_token })).json
  const created = await kmd.call('POST', '/latchkey/v1/agents', {
    ...{ name: 'hostile', wallet_id: id, wallet_password: '', addresses: [address], expires_at_ms: 0 },
    rules: {
      networks: [network],
      limits: [{ per: 'day', network, type: 'amount', asset_id: '0', amount: '1000' }],
      payees: { allow_all: true },
    },
  })
  assert.equal(created.status, 200, created.text)
  return { id: created.json.agent.id, token: created.json.token, name: 'hostile' }
}

const head = (method: string, path: string, token: string, ...lines: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `X-KMD-API-Token: ${token}`, ...lines, '', ''].join('\r\n')

const attacks: [string, (token: string) => string][] = [
  ['each with half a body', (token) => `${head('POST', '/latchkey/v1/agent/sign', token, 'Content-Length: 1000')}{`],
  ['that are idle after a request', (token) => head('GET', '/latchkey/v1/agent', token)],
  ['that read no response', (token) => head('GET', '/swagger.json', token).repeat(50)],
  ['that send far ahead', (token) => head('GET', '/latchkey/v1/agent', token).repeat(200)],
]

for (const [what, bytes] of attacks) {
  test(`1,100 connections of an agent ${what} do not shut out the owner, who can revoke it`, async (t) => {
    const kmd = await start(t)
    const agent = await makeAgent(kmd)
    await occupy(t, { port: kmd.port }, bytes(agent.token))
    for (let i = 0; i < 20; i++) assert.equal((await kmd.call('GET', '/v1/wallets')).status, 200)
    const listed = await hostedLatchkey(['agent', 'list', '--json'], { dataDir: kmd.dataDir })
    assert.equal(listed.code, 0, listed.stderr)
    const revoked = await hostedLatchkey(['agent', 'revoke', agent.name, '--yes'], { dataDir: kmd.dataDir })
    assert.equal(revoked.code, 0, revoked.stderr)
    assert.equal((await kmd.call('GET', '/latchkey/v1/agent', undefined, { token: agent.token })).status, 403)
  })
}

/** Sends a request on a new connection of the socket. */
function callUnix(path: string, token: string, target = '/v1/wallets'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-KMD-API-Token': token }
    const options = { socketPath: path, path: target, headers, agent: false, timeout: 60_000 }
    const request = http.get(options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('error', reject)
  })
}

type Shared = { kmd: Kmd; path: string; gid: number; listed: number; other: number }

/** A daemon with a socket for a group of which one user is listed; undefined if the test cannot run programs as them. */
async function startShared(t: TestContext): Promise<Shared | undefined> {
  if (process.getuid?.() !== 0) {
    t.skip('needs root, to run a program as another user')
    return undefined
  }
  const [gid, listed, other] = [54_321, 54_322, 54_323]
  const directory = mkdtempSync(join(tmpdir(), 'kmd-group-'))
  atEnd(t, () => rmSync(directory, { recursive: true, force: true }))
  chmodSync(directory, 0o711)
  const path = join(directory, 'kmd.sock')
  const kmd = await start(t, {
    settings: { unix_socket: path, unix_socket_group: String(gid), unix_socket_uids: [0, listed] },
  })
  return { kmd, path, gid, listed, other }
}

for (const replaceMs of [250, 0]) {
  test(`1,100 connections of a group member, replaced after ${replaceMs} ms, do not shut a listed user out`, async (t) => {
    const shared = await startShared(t)
    if (shared === undefined) return
    const { kmd, path, gid, other } = shared
    if (readFileSync(join(kmd.dataDir, 'kmd.log'), 'utf8').includes('no access control lists')) {
      t.skip('the file system has no access control lists')
      return
    }
    assert.equal(await callUnix(path, kmd.token), 200)
    const bytes = head('GET', '/v1/wallets', 'none')
    await occupy(t, { path, replaceMs, isRefused: true }, bytes, { uid: other, gid })
    for (let i = 0; i < 20; i++) assert.equal(await callUnix(path, kmd.token), 200)
  })
}

test('1,100 connections of a listed user without a token do not shut out the owner or an agent', async (t) => {
  const shared = await startShared(t)
  if (shared === undefined) return
  const { kmd, path, gid, listed } = shared
  const agent = await makeAgent(kmd)
  await occupy(t, { path }, head('GET', '/v1/wallets', 'none'), { uid: listed, gid })
  for (let i = 0; i < 20; i++) {
    assert.equal(await callUnix(path, kmd.token), 200)
    assert.equal(await callUnix(path, agent.token, '/latchkey/v1/agent'), 200)
  }
})
