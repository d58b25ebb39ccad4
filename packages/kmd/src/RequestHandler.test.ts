import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { Access, BodyError } from '@latchkey/http'
import { type Wire, wires } from '@latchkey/kmd-api'
import { RequestHandler } from './RequestHandler.js'
import { createApp, type TestResponse, token } from './testing/TestApp.test.helper.js'

const wrong = { 'x-kmd-api-token': 'b'.repeat(64) }

for (const wire of wires) {
  test(`without the token nothing is served on the ${wire} wire, except what the reference serves to everyone`, async (t) => {
    const app = createApp(t, { wire })
    for (const [method, path] of [
      ['GET', '/v1/wallets'],
      ['POST', '/v1/wallet'],
      ['DELETE', '/v1/key'],
      ['GET', '/latchkey/v1/health'],
      ['GET', '/latchkey/v1/metrics'],
    ] as const) {
      const response = await app.request(method, path, { headers: wrong, body: 'not even JSON' })
      assert.deepEqual([response.status, response.json], [401, { error: true, message: 'invalid API token' }])
    }
    const expected = wire === 'reference' ? 200 : 401
    for (const path of ['/versions', '/swagger.json']) {
      for (const method of ['GET', 'HEAD']) {
        assert.equal((await app.request(method, path, { headers: wrong })).status, expected, `${method} ${path}`)
        assert.equal((await app.request(method, path)).status, 200)
      }
    }
  })
}

test('an unknown Host is rejected before anything else', async (t) => {
  const app = createApp(t, { hosts: new Set(['keys.example']) })
  for (const method of ['GET', 'OPTIONS', 'HEAD']) {
    const response = await app.request(method, '/versions', { headers: { host: 'evil.example' } })
    assert.equal(response.status, 403)
    assert.equal(response.headers.get('access-control-allow-origin'), undefined)
  }
  assert.equal((await app.request('GET', '/versions', { headers: { host: 'keys.example:7833' } })).status, 200)
})

test('the response to a rejected Host names the setting that would allow it, and repeats no unsafe name', async (t) => {
  const app = createApp(t)
  const message = async (host: string): Promise<string> =>
    (await app.request('GET', '/versions', { headers: { host } })).json.message
  assert.equal(
    await message('Algod:7833'),
    'the Host algod is not served; use the address in kmd.net, or set "allowed_hosts": ["algod"] in kmd_config.json',
  )
  for (const host of ['<script>', 'a"b', 'a'.repeat(300), '']) {
    assert.match(await message(host), /^this Host is not served; use the address in kmd\.net/)
  }
})

test('unknown paths are 404 and known ones with another method 405, in the envelope and without a token', async (t) => {
  const app = createApp(t)
  for (const path of ['/', '/v1', '/v1/nope', '/v1/wallets/', '//v1/wallets', '/V1/wallets', '/v1/%77allets', '*']) {
    const response = await app.request('GET', path, { headers: wrong })
    assert.deepEqual([response.status, response.json.error], [404, true], path)
  }
  const allowed: [method: string, path: string, allow: string][] = [
    ['POST', '/v1/wallets', 'GET, OPTIONS'],
    ['HEAD', '/v1/wallets', 'GET, OPTIONS'],
    ['PUT', '/v1/key', 'POST, DELETE, OPTIONS'],
    ['GET', '/v1/program/sign', 'POST, OPTIONS'],
    ['POST', '/swagger.json', 'GET, OPTIONS'],
    ['DELETE', '/latchkey/v1/metrics', 'GET, OPTIONS'],
    ['get', '/v1/wallets', 'GET, OPTIONS'],
  ]
  for (const [method, path, allow] of allowed) {
    const response = await app.request(method, path, { headers: wrong })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, allow], `${method} ${path}`)
  }
})

test('a query is ignored', async (t) => {
  const app = createApp(t)
  assert.equal((await app.request('GET', '/v1/wallets?token=x?y')).status, 200)
})

test('OPTIONS succeeds on any path, without a token and without a body', async (t) => {
  const origin = 'https://page.example'
  const app = createApp(t, { cors: { allowedOrigins: [origin], allowPrivateNetwork: true } })
  for (const path of ['/v1/wallets', '/nope', '*']) {
    const headers = { ...wrong, origin, 'access-control-request-private-network': 'true' }
    const response = await app.request('OPTIONS', path, { headers })
    assert.deepEqual([response.status, response.text], [200, ''])
    assert.equal(response.headers.get('access-control-allow-origin'), origin)
    assert.equal(response.headers.get('access-control-allow-private-network'), 'true')
    assert.equal(response.headers.get('content-type'), undefined)
  }
})

test('an allowed page can read responses and errors', async (t) => {
  const origin = 'https://page.example'
  const app = createApp(t, { cors: { allowedOrigins: [origin], allowPrivateNetwork: false } })
  const echoed = async (method: string, path: string, headers = {}): Promise<string | undefined> =>
    (await app.request(method, path, { headers: { origin, ...headers } })).headers.get('access-control-allow-origin')
  assert.equal(await echoed('GET', '/v1/wallets'), origin)
  assert.equal(await echoed('GET', '/v1/wallets', wrong), origin)
  assert.equal(await echoed('POST', '/v1/key'), origin)
  assert.equal(await echoed('GET', '/v1/wallets', { origin: 'https://other.example' }), undefined)
  assert.equal(await echoed('GET', '/v1/nope'), undefined)
})

test('a body is wiped after the response, whether the request succeeded or not', async (t) => {
  const { context, metrics } = createApp(t)
  const app = new RequestHandler({
    context,
    ...{ wire: 'reference', token: new Access.TokenCheck(token), metrics },
    ...{ cors: { allowedOrigins: [], allowPrivateNetwork: false }, hosts: new Set<string>() },
  })
  const headers: { [name: string]: string } = { host: 'localhost', 'x-kmd-api-token': token }
  for (const sent of [
    '{"wallet_driver_name":"sqlite","wallet_password":"secret"}',
    '{"wallet_password":"secret"',
    '[1',
  ]) {
    const body = Buffer.from(sent)
    const request = { method: 'POST', target: '/v1/wallet', header: (name: string) => headers[name], body: () => body }
    await app.handle(request)
    assert.deepEqual(body, Buffer.alloc(sent.length))
  }
})

test('the same head on a connection is compared once with a token, and again with its replacement', async (t) => {
  const { context, metrics } = createApp(t)
  const check = new Access.TokenCheck(token)
  const compared = t.mock.method(check, 'matches')
  const app = new RequestHandler({
    context,
    wire: 'reference',
    token: check,
    metrics,
    cors: { allowedOrigins: [], allowPrivateNetwork: false },
    hosts: new Set<string>(),
  })
  const send = async (headers: ReadonlyMap<string, string>): Promise<number> => {
    const header = (name: string): string | undefined => headers.get(name)
    const request = { method: 'GET', target: '/v1/wallets', headers, header, body: () => Buffer.alloc(0) }
    return (await app.handle(request)).status
  }
  const headOf = (sent: string): Map<string, string> =>
    new Map(Object.entries({ host: 'localhost', 'x-kmd-api-token': sent }))
  const head = headOf(token)
  assert.deepEqual([await send(head), await send(head), await send(head)], [200, 200, 200])
  assert.equal(compared.mock.callCount(), 1)
  assert.equal(await send(headOf('b'.repeat(64))), 401, 'another head')
  check.replace('b'.repeat(64))
  assert.deepEqual([await send(head), await send(head)], [401, 401])
  check.replace(token)
  assert.equal(await send(head), 200)
})

test('an unreadable body gets its own error and is not logged', async (t) => {
  const { context, metrics } = createApp(t)
  const failures: unknown[] = []
  const app = new RequestHandler({
    context,
    ...{ wire: 'documented', token: new Access.TokenCheck(token), metrics },
    ...{ cors: { allowedOrigins: [], allowPrivateNetwork: false }, hosts: new Set<string>() },
    onFailure: (_operation, error) => failures.push(error),
  })
  const headers: { [name: string]: string } = { host: 'localhost', 'x-kmd-api-token': token }
  const request = { method: 'POST', target: '/v1/wallet', header: (name: string) => headers[name] }
  const responses: [BodyError['code'], status: number, message: string][] = [
    ['body_too_large', 413, 'request body too large, must be <= 1048576 bytes'],
    ['body_malformed', 400, 'could not decode request body'],
    ['body_timeout', 408, 'the request body did not arrive in time'],
  ]
  for (const [reason, status, message] of responses) {
    const error = new BodyError(reason, 'not for the peer')
    const atOnce = (): never => {
      throw error
    }
    for (const body of [atOnce, () => Promise.reject(error)]) {
      const response = await app.handle({ ...request, body })
      assert.deepEqual([response.status, JSON.parse(String(response.body))], [status, { error: true, message }])
    }
  }
  assert.deepEqual(failures, [])
})

test('a delayed request gets Retry-After', async (t) => {
  const app = createApp(t)
  const { id } = await app.unlocked()
  const guess = (): ReturnType<typeof app.post> =>
    app.post('/v1/wallet/init', { wallet_id: id, wallet_password: 'wrong' })
  for (let i = 0; i < 9; i++) assert.equal((await guess()).status, 401)
  const response = await guess()
  assert.equal(response.status, 429)
  assert.equal(response.headers.get('retry-after'), '16')
})

test('wrong passwords at unlocking do not delay a handle, and those on a handle delay only that handle', async (t) => {
  const app = createApp(t, { lifetimeMs: 1e9 })
  const { id, handle } = await app.unlocked()
  const init = (password: string): Promise<TestResponse> =>
    app.post('/v1/wallet/init', { wallet_id: id, wallet_password: password })
  const other = (await init('secret')).json.wallet_handle_token
  const exporting = (token: string, password: string): Promise<TestResponse> =>
    app.post('/v1/master-key/export', { wallet_handle_token: token, wallet_password: password })
  for (let i = 0; i < 9; i++) assert.equal((await init('wrong')).status, 401)
  assert.equal((await init('secret')).status, 429)
  assert.equal((await exporting(handle, 'secret')).status, 200)
  app.advance(300_000)
  for (let i = 0; i < 9; i++) assert.equal((await exporting(handle, 'wrong')).status, 400)
  assert.equal((await exporting(handle, 'secret')).status, 429)
  assert.equal((await exporting(other, 'secret')).status, 200)
  assert.equal((await init('secret')).status, 200)
  app.advance(300_000)
  assert.equal((await exporting(handle, 'secret')).status, 200)
})

test('changing the password or deleting the wallet ends every handle of the wallet and no other', async (t) => {
  const app = createApp(t)
  const [one, other] = [await app.unlocked('one'), await app.unlocked('other')]
  const info = (handle: string): Promise<number> =>
    app.post('/v1/wallet/info', { wallet_handle_token: handle }).then(({ status }) => status)
  const secrets = { wallet_password: 'secret', new_wallet_password: 'new' }
  assert.equal((await app.post('/latchkey/v1/wallet/password', { wallet_id: one.id, ...secrets })).status, 200)
  assert.deepEqual([await info(one.handle), await info(other.handle)], [401, 200])
  const removed = await app.post('/latchkey/v1/wallet/delete', { wallet_id: other.id, wallet_password: 'secret' })
  assert.match(removed.json.moved_to, /\.db\.deleted-/)
  assert.equal(await info(other.handle), 401)
  assert.equal(readdirSync(app.directory).filter((file) => file.endsWith('.db')).length, 1)
})

test('an internal error is a 500 for the caller, with details only in the log', async (t) => {
  const app = createApp(t)
  app.wallets.list = () => Promise.reject(new Error('detail'))
  const response = await app.request('GET', '/v1/wallets')
  assert.deepEqual([response.status, response.json.message], [500, 'internal error; kmd.log has the details'])
  assert.deepEqual(app.failures, ['ListWallets: Error: detail'])
})

test('only requests under /v1 with the correct token keep the daemon from going idle', async (t) => {
  let seen = 0
  const app = createApp(t, { onActivity: () => void seen++ })
  for (const path of ['/versions', '/swagger.json', '/v1/nope', '/latchkey/v1/health', '/latchkey/v1/metrics']) {
    await app.request('GET', path)
  }
  await app.request('GET', '/v1/wallets', { headers: wrong })
  await app.request('OPTIONS', '/v1/wallets')
  assert.equal(seen, 0)
  await app.request('GET', '/v1/wallets')
  await app.post('/v1/wallet/info', {})
  assert.equal(seen, 2)
})

const listed: { [wire in Wire]: RegExp } = {
  documented: /^\{"error":false,"message":"","wallets":\[\{"driver_name":"sqlite","driver_version":1,"id":"/,
  reference: /^\{\n {2}"wallets": \[\n {4}\{\n {6}"driver_name": "sqlite",\n {6}"driver_version": 1,/,
}
for (const wire of wires) {
  test(`the list of wallets is the same object until one changes, on the ${wire} wire`, async (t) => {
    const app = createApp(t, { wire })
    const none = wire === 'reference' ? '{}' : '{"error":false,"message":"","wallets":[]}'
    assert.equal((await app.request('GET', '/v1/wallets')).text, none)
    const { id } = await app.unlocked('before')
    const first = (await app.request('GET', '/v1/wallets', { body: '{}' })).text
    assert.match(first, listed[wire])
    assert.equal((await app.request('GET', '/v1/wallets')).text, first)
    await app.post('/v1/wallet/rename', { wallet_id: id, wallet_password: 'secret', wallet_name: 'after' })
    assert.equal((await app.request('GET', '/v1/wallets')).text, first.replace('before', 'after'))
  })
}

test('health reports the state of the daemon', async (t) => {
  const app = createApp(t)
  await app.unlocked()
  const { json } = await app.request('GET', '/latchkey/v1/health')
  assert.deepEqual(json, { open_handles: 1, status: 'ok', version: '0.0.0', wallets: 1 })
})
