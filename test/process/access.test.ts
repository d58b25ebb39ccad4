/** Tests access: host names, origins, and what responses must not reveal. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { before, suite, test } from 'node:test'
import {
  dial,
  exchange,
  isReachable,
  type Kmd,
  startHosted,
  startInProcess,
  statusOf,
  suiteScope,
} from './commands.test.helper.js'

const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

const concurrency = 2

suite('the Host header', { concurrency }, () => {
  test('is checked before anything else', async (t) => {
    const kmd = await startInProcess(t, { settings: { allowed_hosts: ['Vault.Example'], allowed_origins: ['*'] } })
    const status = (host: string, method = 'GET', path = '/v1/wallets') =>
      kmd.call(method, path, undefined, { headers: { Host: host, Origin: 'http://evil.example' } })

    const served = ['localhost', 'LOCALHOST', `localhost:${kmd.port}`, 'localhost:1', '127.0.0.1', kmd.address]
    for (const host of [
      ...served,
      '127.1.2.3',
      '[::1]',
      '[::1]:80',
      'vault.example',
      'VAULT.example:9',
      'x.localhost',
    ]) {
      assert.equal((await status(host)).status, 200, `${host} is served`)
    }
    const foreign = ['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example', '128.0.0.1']
    for (const host of [...foreign, '[::2]', '[::1].evil.example', '192.0.2.1', 'notlocalhost', '127.evil']) {
      const response = await status(host)
      assert.equal(response.status, 403, `${host} is not served`)
      assert.equal(response.json.error, true)
      assert.equal(response.headers['access-control-allow-origin'], undefined)
    }
    for (const [method, path] of [
      ['GET', '/versions'],
      ['OPTIONS', '/v1/wallets'],
      ['GET', '/no/such/path'],
      ['POST', '/v1/wallet'],
      ['GET', '/swagger.json'],
    ] as const) {
      assert.equal((await status('evil.example', method, path)).status, 403, `${method} ${path}`)
    }
  })

  test('is rejected if missing, blank or repeated', async (t) => {
    const kmd = await startInProcess(t)
    const without = `GET /v1/wallets HTTP/1.1\r\nX-KMD-API-Token: ${kmd.token}\r\nConnection: close\r\n\r\n`
    assert.equal(statusOf(await exchange(t, kmd.port, without)), 403)
    assert.equal(statusOf(await exchange(t, kmd.port, without.replace('HTTP/1.1', 'HTTP/1.0'))), 403)
    assert.equal(statusOf(await exchange(t, kmd.port, without.replace('\r\n', '\r\nHost:\r\n'))), 403)
    const twice = `GET /versions HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n`
    assert.equal(statusOf(await exchange(t, kmd.port, twice)), 400)
  })

  test('is accepted with the address of the interface, and with no other address', async (t) => {
    const kmd = await startInProcess(t, { settings: { address: '0.0.0.0:0' } })
    const ask = async (host: string, at: string): Promise<number> => {
      const { socket, received, closed } = await dial(t, kmd.port, at)
      socket.write(`GET /versions HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      await closed
      return statusOf(received())
    }
    assert.equal(await ask('192.0.2.7', '127.0.0.1'), 403)
    assert.equal(await ask('evil.example', '127.0.0.1'), 403)
    if (outside !== undefined) {
      assert.equal(await ask(`${outside}:${kmd.port}`, outside), 200)
      assert.equal(await ask(outside, '127.0.0.1'), 403)
    }
  })
})

suite('the API token', { concurrency }, () => {
  const scope = suiteScope()
  let kmd: Kmd
  before(async () => {
    kmd = await startInProcess(scope)
  })

  test('is accepted only in its own header, and on the loopback interface', async (t) => {
    if (outside !== undefined) assert.equal(await isReachable(t, kmd.port, outside), false)
    for (const name of ['X-KMD-API-Token', 'x-kmd-api-token', 'X-Kmd-Api-Token']) {
      const response = await kmd.call('GET', '/v1/wallets', undefined, { token: null, headers: { [name]: kmd.token } })
      assert.equal(response.status, 200, name)
    }
    const elsewhere = [
      { headers: { Authorization: `Bearer ${kmd.token}` } },
      { headers: { 'X-Algo-API-Token': kmd.token } },
      { headers: { Cookie: `X-KMD-API-Token=${kmd.token}` } },
      {},
    ]
    for (const options of elsewhere) {
      const response = await kmd.call('GET', `/v1/wallets?X-KMD-API-Token=${kmd.token}`, undefined, {
        ...options,
        token: null,
      })
      assert.equal(response.status, 401)
      assert.equal(response.json.message, 'invalid API token')
    }
  })
})

suite('origins', { concurrency }, () => {
  const corsHeaders = [
    'access-control-allow-origin',
    'access-control-allow-headers',
    'access-control-allow-methods',
    'access-control-allow-private-network',
  ] as const
  const permission = ['X-KMD-API-Token, Content-Type', 'GET, POST, DELETE, OPTIONS', undefined] as const

  /** Returns the four headers of a response, in the order above. */
  async function ask(kmd: Kmd, method: string, path: string, headers: { [name: string]: string }, token?: string) {
    const response = await kmd.call(method, path, undefined, { headers, ...(token === undefined ? {} : { token }) })
    return { status: response.status, text: response.text, cors: corsHeaders.map((name) => response.headers[name]) }
  }
  const nothing = [undefined, undefined, undefined, undefined]

  test('are echoed on every matched request if they are listed, and otherwise never', async (t) => {
    const allowed_origins = ['https://app.example', 'http://localhost:3000']
    const kmd = await startInProcess(t, { settings: { allowed_origins } })
    for (const origin of allowed_origins) {
      const preflight = await ask(kmd, 'OPTIONS', '/v1/wallet', {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
      })
      assert.deepEqual(preflight, { status: 200, text: '', cors: [origin, ...permission] })
      for (const path of ['/v1/wallets', '/versions', '/swagger.json']) {
        assert.deepEqual((await ask(kmd, 'GET', path, { Origin: origin })).cors, [origin, ...permission], path)
      }
      const refused = await ask(kmd, 'GET', '/v1/wallets', { Origin: origin }, 'x'.repeat(64))
      assert.deepEqual([refused.status, refused.cors], [401, [origin, ...permission]])
      const failed = await ask(kmd, 'POST', '/v1/wallet', { Origin: origin })
      assert.deepEqual([failed.status, failed.cors], [400, [origin, ...permission]])
      assert.deepEqual((await ask(kmd, 'GET', '/v1/nope', { Origin: origin })).cors, nothing)
    }
    for (const origin of ['https://app.example.evil', 'https://APP.example', 'https://app.example:443', 'null', '*']) {
      const { status, cors } = await ask(kmd, 'GET', '/v1/wallets', { Origin: origin })
      assert.deepEqual([status, cors], [200, nothing], origin)
    }
    assert.deepEqual((await ask(kmd, 'GET', '/v1/wallets', {})).cors, nothing)
  })

  test('are all allowed by *, which is never sent itself', async (t) => {
    const kmd = await startInProcess(t, { settings: { allowed_origins: ['*'] } })
    for (const origin of ['https://any.example', 'null']) {
      assert.deepEqual((await ask(kmd, 'GET', '/v1/wallets', { Origin: origin })).cors, [origin, ...permission])
    }
    assert.deepEqual((await ask(kmd, 'GET', '/v1/wallets', { Origin: '' })).cors, nothing)
    assert.deepEqual((await ask(kmd, 'GET', '/v1/wallets', {})).cors, nothing)
  })

  test('get no headers without a setting', async (t) => {
    const kmd = await startInProcess(t)
    const headers = { Origin: 'http://localhost', 'Access-Control-Request-Private-Network': 'true' }
    assert.deepEqual(await ask(kmd, 'OPTIONS', '/v1/wallets', headers), { status: 200, text: '', cors: nothing })
  })

  test('get private network access through a separate setting, in preflights that request it', async (t) => {
    const kmd = await startInProcess(t, {
      settings: { allow_header_pna: true, allowed_origins: ['https://app.example'] },
    })
    const granted = async (method: string, headers: { [name: string]: string }) =>
      (await ask(kmd, method, '/v1/wallets', headers)).cors[3]
    const wanted = { 'Access-Control-Request-Private-Network': 'true' }
    assert.equal(await granted('OPTIONS', wanted), 'true')
    assert.equal(await granted('OPTIONS', { ...wanted, Origin: 'https://evil.example' }), 'true')
    assert.equal(await granted('OPTIONS', {}), undefined)
    assert.equal(await granted('OPTIONS', { 'Access-Control-Request-Private-Network': 'TRUE' }), undefined)
    assert.equal(await granted('GET', wanted), undefined)
  })
})

suite('secrets', () => {
  test('are neither in the log nor in an error: passwords, handles, tokens and private keys', async (t) => {
    const kmd = await startHosted(t)
    const errors: string[] = []
    const call = async (method: string, path: string, body: unknown, options = {}) => {
      const response = await kmd.call(method, path, body, options)
      if (response.status !== 200) errors.push(response.text)
      return response
    }
    const secrets = { password: 'correct horse 9041', wrong: 'wrong battery 7713', changed: 'new staple 5520' }
    const seed = Buffer.alloc(32, 0x5a)
    const id = await kmd.create('w', secrets.password)
    const handle = await kmd.unlock(id, secrets.password)
    const imported = await call('POST', '/v1/key/import', {
      wallet_handle_token: handle,
      private_key: seed.toString('base64'),
    })
    const address: string = imported.json.address
    const exported = await call('POST', '/v1/key/export', {
      wallet_handle_token: handle,
      address,
      wallet_password: secrets.password,
    })
    const masterKey = await call('POST', '/v1/master-key/export', {
      wallet_handle_token: handle,
      wallet_password: secrets.password,
    })
    const members = { wallet_handle_token: handle, wallet_password: secrets.wrong, address }
    await call('POST', '/v1/wallet/init', { wallet_id: id, wallet_password: secrets.wrong })
    await call('POST', '/v1/key/export', members)
    await call('POST', '/v1/wallet/rename', { wallet_id: id, wallet_password: secrets.wrong, wallet_name: 'x' })
    for (const body of [`{"wallet_password":"${secrets.password}"`, `["${handle}","${secrets.password}",[]]`]) {
      await call('POST', '/v1/key/export', body)
    }
    await call('POST', '/v1/key/import', {
      wallet_handle_token: handle,
      private_key: seed.subarray(0, 31).toString('base64'),
    })
    await call('POST', '/v1/key/import', { wallet_handle_token: handle, private_key: exported.json.private_key })
    await call('POST', '/v1/key', { wallet_handle_token: handle, display_mnemonic: true })
    await call('POST', `/v1/nope/${handle}`, members)
    await call('GET', '/v1/wallets', undefined, { token: `${kmd.token.slice(0, -1)}x` })
    await call('POST', '/v1/key/list', { wallet_handle_token: `${handle.slice(0, -1)}x` })
    await exchange(t, kmd.port, `GET / HTTP/1.1\r\nX-KMD-API-Token ${kmd.token}\r\n\r\n`).then((text) =>
      errors.push(text),
    )
    const change = { wallet_id: id, wallet_password: secrets.password, new_wallet_password: secrets.changed }
    await call('POST', '/latchkey/v1/wallet/password', change)
    await call('POST', '/v1/key/list', { wallet_handle_token: handle })
    // Internal errors, which the daemon logs.
    const fresh = await kmd.unlock(id, secrets.changed)
    const [file] = readdirSync(kmd.walletPath())
    renameSync(kmd.walletPath(file!), kmd.path('aside'))
    await call('POST', '/v1/key/list', { wallet_handle_token: fresh })
    await call('POST', '/v1/key/export', { ...members, wallet_handle_token: fresh, wallet_password: secrets.changed })
    renameSync(kmd.path('aside'), kmd.walletPath(file!))
    assert.ok(errors.length >= 14, `only ${errors.length} errors`)
    assert.equal(await kmd.stop(), 0)

    const forbidden: { [what: string]: string } = {
      ...secrets,
      token: kmd.token,
      handle: handle.split('.')[1]!,
      fresh: fresh.split('.')[1]!,
      seed: seed.toString('base64').slice(0, 40),
      seedHex: seed.toString('hex'),
      privateKey: exported.json.private_key.slice(0, 80),
      masterKey: masterKey.json.master_derivation_key,
    }
    const stateFiles = readdirSync(kmd.dataDir).filter((name) => name.startsWith('latchkey'))
    const output = [kmd.log(), ...stateFiles.map((name) => readFileSync(kmd.path(name), 'utf8')), ...errors].join('\n')
    assert.match(output, /level=error/)
    for (const [what, secret] of Object.entries(forbidden)) {
      assert.ok(secret.length > 10)
      assert.ok(!output.includes(secret), `${what} is revealed`)
    }
  })
})
