import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findWallet, withDaemon, withWallet } from './daemon.js'
import type { CommandError, ExitCode } from './exitCodes.js'

type Reply = { status?: number; headers?: { [name: string]: string }; body: unknown }

const info = (name: string, id: string) => ({ name, id, driver_name: 'sqlite', driver_version: 1 })

/** Something that answers in the place of a daemon, in a directory of its own. */
async function fake(t: TestContext, answer: (path: string) => Reply): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    const { status = 200, headers = {}, body } = answer(request.url!)
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-daemon-'))
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(dataDir, { recursive: true })
  })
  writeFileSync(join(dataDir, 'kmd.net'), `127.0.0.1:${(server.address() as AddressInfo).port}`)
  writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64))
  return dataDir
}

function fails(work: Promise<unknown>, code: ExitCode, message: RegExp): Promise<void> {
  return assert.rejects(work, (error: CommandError) => {
    assert.equal(error.code, code)
    assert.match(error.message, message)
    assert.ok(!error.message.includes('\n'))
    return true
  })
}

test('wallets that share a name are told apart by their ids', async (t) => {
  const wallets = [info('twin', 'id-1'), info('twin', 'id-2'), info('id-1', 'id-3')]
  const dataDir = await fake(t, () => ({ body: { wallets } }))
  const find = (said: string) => withDaemon({ 'data-dir': dataDir }, async (kmd) => (await findWallet(kmd, said)).id)
  await fails(find('twin'), 'failed', /several wallets are named twin; give the id/)
  assert.equal(await find('id-2'), 'id-2')
  // A name counts more than an id.
  assert.equal(await find('id-1'), 'id-3')
})

test('what the daemon refuses is told with what to do', async (t) => {
  let reply: Reply = { body: {} }
  const dataDir = await fake(t, (path) => (path === '/v1/wallets' ? { body: { wallets: [info('w', 'id')] } } : reply))
  const unlock = () => withWallet({ 'data-dir': dataDir, wallet: 'w', 'no-password': true }, async () => {})
  const cases: [number, string, string | undefined, ExitCode, RegExp][] = [
    [400, 'error decrypting. wrong password?', undefined, 'password', /not the password of the wallet/],
    [
      429,
      'too many wrong passwords for this wallet; wait as Retry-After says, then try the right one',
      '1',
      'password',
      /wait 1 second, then give the right one/,
    ],
    [
      429,
      'too many wrong passwords for this wallet; wait as Retry-After says, then try the right one',
      '300',
      'password',
      /wait 300 seconds/,
    ],
    [503, 'too many wallets are being unlocked at once', '2', 'failed', /the daemon is busy; try again in 2 seconds/],
    [401, 'invalid API token', undefined, 'failed', /refuses the API token in kmd\.token/],
    [400, 'wallet not found', undefined, 'failed', /no longer there; latchkey wallet list/],
    [500, 'something new', undefined, 'failed', /^something new$/],
  ]
  for (const [status, message, retry, code, expected] of cases) {
    const headers: { [name: string]: string } = retry === undefined ? {} : { 'Retry-After': retry }
    reply = { status, headers, body: { error: true, message } }
    await fails(unlock(), code, expected)
  }
})

test('an answer that is not a daemon’s, and no answer, are told apart', async (t) => {
  const dataDir = await fake(t, () => ({ status: 404, body: 'a web server' }))
  const list = (directory: string) => withDaemon({ 'data-dir': directory }, (kmd) => kmd.wallets.list())
  await fails(list(dataDir), 'failed', /is not a daemon's/)
  writeFileSync(join(dataDir, 'kmd.net'), '127.0.0.1:1')
  await fails(list(dataDir), 'unreachable', /no key daemon runs in .*; latchkey kmd starts one/)
  rmSync(join(dataDir, 'kmd.net'))
  await fails(list(dataDir), 'unreachable', /latchkey kmd starts one/)
  writeFileSync(join(dataDir, 'kmd.net'), '')
  await fails(list(dataDir), 'unreachable', /just starting/)
})

test('the wallet is locked again, and the password wiped, whatever the work came to', async (t) => {
  const asked: string[] = []
  const dataDir = await fake(t, (path) => {
    asked.push(path)
    if (path === '/v1/wallets') return { body: { wallets: [info('w', 'id')] } }
    if (path === '/v1/wallet/renew') {
      return { body: { wallet_handle: { wallet: info('w', 'id'), expires_seconds: 60 } } }
    }
    return { body: { wallet_handle_token: 'handle' } }
  })
  const file = join(dataDir, 'password')
  writeFileSync(file, 'secret\n')
  let held: Uint8Array | undefined
  const work = withWallet({ 'data-dir': dataDir, 'password-file': file }, async ({ password }) => {
    held = await password()
    assert.equal(Buffer.from(held).toString(), 'secret')
    throw new Error('the work failed')
  })
  await assert.rejects(work, /the work failed/)
  assert.deepEqual(held, new Uint8Array(6))
  assert.equal(asked.at(-1), '/v1/wallet/release')
})
