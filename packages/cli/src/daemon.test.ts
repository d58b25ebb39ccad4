import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findWallet, withDaemon, withWallet } from './daemon.js'
import type { CommandError, CommandErrorCode } from './errors.js'
import type { ExitCode } from './exitCodes.js'

type Reply = { status?: number; headers?: { [name: string]: string }; body: unknown }

const info = (name: string, id: string) => ({ name, id, driver_name: 'sqlite', driver_version: 1 })

/** A server in place of the daemon, with a data directory. */
async function fakeDaemon(t: TestContext, respond: (path: string) => Reply): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    const { status = 200, headers = {}, body } = respond(request.url!)
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

/** Asserts that the work fails with the code and the exit code, and that message and hint match. */
function fails(work: Promise<unknown>, code: CommandErrorCode, exit: ExitCode, text: RegExp): Promise<void> {
  return assert.rejects(work, (error: CommandError) => {
    assert.deepEqual([error.code, error.exit], [code, exit])
    const line = `${error.message}; ${error.hint ?? ''}`
    assert.match(line, text)
    assert.ok(!line.includes('\n'))
    return true
  })
}

test('selects wallets that share a name by their ids', async (t) => {
  const wallets = [info('twin', 'id-1'), info('twin', 'id-2'), info('id-1', 'id-3')]
  const dataDir = await fakeDaemon(t, () => ({ body: { wallets } }))
  const find = (name: string) => withDaemon({ 'data-dir': dataDir }, async (kmd) => (await findWallet(kmd, name)).id)
  await fails(find('twim'), 'wallet_not_found', 'failed', /wallet twim not found; did you mean twin\?/)
  await fails(find('twin'), 'wallet_ambiguous', 'failed', /several wallets are named twin; give the wallet's id/)
  assert.equal(await find('id-2'), 'id-2')
  // A name takes precedence over an id.
  assert.equal(await find('id-1'), 'id-3')
})

test('turns an error of the daemon into a code, a message and a hint', async (t) => {
  let reply: Reply = { body: {} }
  const dataDir = await fakeDaemon(t, (path) =>
    path === '/v1/wallets' ? { body: { wallets: [info('w', 'id')] } } : reply,
  )
  const unlock = () => withWallet({ 'data-dir': dataDir, wallet: 'w', 'no-password': true }, async () => {})
  const wrongPasswords =
    'too many wrong passwords for this wallet; wait as long as Retry-After says, then send the right one'
  const busy = 'too many wallets are being unlocked at once; wait as long as Retry-After says, then try again'
  const cases: [number, string, string | undefined, CommandErrorCode, ExitCode, RegExp][] = [
    [400, 'error decrypting. wrong password?', undefined, 'wrong_password', 'password', /^wrong password; nothing/],
    [429, wrongPasswords, '1', 'too_many_wrong_passwords', 'password', /wait 1 second, then give the correct password/],
    [429, wrongPasswords, '300', 'too_many_wrong_passwords', 'password', /wait 300 seconds/],
    [503, busy, '2', 'daemon_busy', 'failed', /the daemon is busy; try again in 2 seconds/],
    [401, 'invalid API token', undefined, 'token_refused', 'failed', /does not accept the API token in kmd\.token/],
    [
      400,
      'wallet not found',
      undefined,
      'wallet_not_found',
      'failed',
      /no longer exists; list the wallets with latchkey wallet list/,
    ],
    [500, 'something new', undefined, 'daemon_error', 'failed', /^something new; $/],
  ]
  for (const [status, message, retry, code, exit, expected] of cases) {
    const headers: { [name: string]: string } = retry === undefined ? {} : { 'Retry-After': retry }
    reply = { status, headers, body: { error: true, message } }
    await fails(unlock(), code, exit, expected)
  }
})

test('distinguishes a response that is not from a daemon from no response', async (t) => {
  const dataDir = await fakeDaemon(t, () => ({ status: 404, body: 'a web server' }))
  const list = (directory: string) => withDaemon({ 'data-dir': directory }, (kmd) => kmd.wallets.list())
  await fails(list(dataDir), 'daemon_error', 'failed', /is not from a key daemon/)
  writeFileSync(join(dataDir, 'kmd.net'), '127.0.0.1:1')
  await fails(
    list(dataDir),
    'daemon_not_running',
    'unreachable',
    /no key daemon is running in .*; start one with latchkey kmd/,
  )
  rmSync(join(dataDir, 'kmd.net'))
  await fails(list(dataDir), 'daemon_not_running', 'unreachable', /start one with latchkey kmd/)
  writeFileSync(join(dataDir, 'kmd.net'), '')
  await fails(list(dataDir), 'daemon_unreachable', 'unreachable', /just starting/)
})

test('locks the wallet and wipes the password after an error', async (t) => {
  const requested: string[] = []
  const dataDir = await fakeDaemon(t, (path) => {
    requested.push(path)
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
  assert.equal(requested.at(-1), '/v1/wallet/release')
})
