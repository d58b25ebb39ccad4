import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageFile } from '@latchkey/pages/console'
import {
  createApp,
  type RequestOptions,
  type TestAppOptions,
  type TestResponse,
} from '../testing/TestApp.test.helper.js'

function fileOf(type: string, text: string, isImmutable: boolean): PageFile {
  const body = Buffer.from(text)
  const gzip = (): Uint8Array => Buffer.from(`packed ${text}`)
  const bodyFor: PageFile['bodyFor'] = (accepted) =>
    accepted === 'br, gzip' ? { body: gzip(), encoding: 'gzip' } : { body, encoding: undefined }
  return { type, body, isImmutable, gzip, bodyFor }
}

const html = fileOf('text/html; charset=utf-8', '<!doctype html>page', false)
const script = fileOf('text/javascript; charset=utf-8', 'run()', true)
const consoleFile: NonNullable<TestAppOptions['consoleFile']> = (path) =>
  new Map([
    ['', html],
    ['assets/main-1a2b.js', script],
  ]).get(path)

const local: RequestOptions = { localAddress: '127.0.0.1', headers: { 'x-kmd-api-token': '' } }

const security = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

for (const method of ['GET', 'HEAD']) {
  test(`${method} returns the page and its files without a token, with isolating headers`, async (t) => {
    const app = createApp(t, { consoleFile, wire: 'documented' })
    const page = await app.request(method, '/console/?from=here', local)
    assert.equal(page.status, 200)
    assert.deepEqual(Object.fromEntries(page.headers), {
      'content-type': 'text/html; charset=utf-8',
      vary: 'Accept-Encoding',
      'cache-control': 'no-cache',
      ...security,
    })
    assert.equal(page.text, '<!doctype html>page')
    const file = await app.request(method, '/console/assets/main-1a2b.js', local)
    assert.deepEqual(Object.fromEntries(file.headers), {
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
      'cache-control': 'public, max-age=31536000, immutable',
      ...security,
    })
  })

  test(`${method} returns a compressed file to a client that accepts it, with the same headers`, async (t) => {
    const app = createApp(t, { consoleFile, wire: 'documented' })
    const headers = { ...local.headers, 'accept-encoding': 'br, gzip' }
    const page = await app.request(method, '/console/', { ...local, headers })
    assert.equal(page.text, 'packed <!doctype html>page')
    assert.deepEqual(Object.fromEntries(page.headers), {
      'content-type': 'text/html; charset=utf-8',
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
      'cache-control': 'no-cache',
      ...security,
    })
  })

  test(`${method} without the trailing slash is redirected to it`, async (t) => {
    const { status, headers, text } = await createApp(t, { consoleFile }).request(method, '/console', local)
    assert.deepEqual([status, headers.get('location'), text], [308, '/console/', ''])
    assert.equal(headers.get('cache-control'), 'no-cache')
  })
}

test('only files of the build are served', async (t) => {
  const app = createApp(t, { consoleFile })
  for (const path of ['index.htm', 'assets/', '../kmd.token', '%2e%2e/x', 'assets/main-1a2b.js/', '//', 'ASSETS/x']) {
    const { status, json } = await app.request('GET', `/console/${path}`, local)
    assert.deepEqual([status, json.error], [404, true], path)
  }
  for (const path of ['/consoles', '/console.html', '/Console/']) {
    assert.equal((await app.request('GET', path, local)).status, 404, path)
  }
})

test('other methods are 405 with Allow', async (t) => {
  const app = createApp(t, { consoleFile })
  for (const method of ['POST', 'PUT', 'DELETE', 'get']) {
    for (const path of ['/console', '/console/', '/console/nope']) {
      const { status, headers } = await app.request(method, path, local)
      assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD, OPTIONS'], `${method} ${path}`)
    }
  }
})

test('the console is served only to this machine', async (t) => {
  const app = createApp(t, { consoleFile })
  for (const localAddress of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    assert.equal((await app.request('GET', '/console/', { ...local, localAddress })).status, 200, localAddress)
  }
  for (const localAddress of ['192.168.1.5', '::ffff:10.0.0.1', 'fe80::1', '', '0.0.0.0']) {
    for (const path of ['/console', '/console/', '/console/nope']) {
      const { status, json } = await app.request('GET', path, { ...local, localAddress })
      assert.equal(status, 403, `${localAddress} ${path}`)
      assert.match(json.message, /^the console is only for browsers on the daemon's machine/)
    }
  }
  assert.equal((await app.request('GET', '/console/', { headers: {} })).status, 403, 'by no address at all')
})

test('an unknown Host is rejected', async (t) => {
  const app = createApp(t, { consoleFile })
  for (const host of ['evil.example', 'localhost.evil.example:7833']) {
    const response = await app.request('GET', '/console/', { ...local, headers: { host } })
    assert.deepEqual([response.status, response.headers.has('content-security-policy')], [403, false])
  }
  const named = await app.request('GET', '/console/', { ...local, headers: { host: 'localhost:7833' } })
  assert.equal(named.status, 200)
})

test('a browser on this machine gets a page at /, programs get the same 404 as before', async (t) => {
  const app = createApp(t, { consoleFile })
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const at = (more: object, headers: object = { accept }): Promise<TestResponse> =>
    app.request('GET', '/', { ...local, ...more, headers: { ...local.headers, ...headers } })
  const page = await at({})
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
  assert.equal(page.headers.get('vary'), 'Accept')
  assert.match(page.text, /latchkey console/)
  const none = await at({}, {})
  assert.equal(none.status, 404)
  for (const other of ['application/json', '*/*', 'application/json, text/html']) {
    const { status, text, headers } = await at({}, { accept: other })
    assert.deepEqual([status, text, headers], [404, none.text, none.headers], other)
  }
  assert.equal((await at({ localAddress: '192.168.1.5' })).status, 404)
  assert.equal((await app.request('POST', '/', { ...local, headers: { ...local.headers, accept } })).status, 404)
  assert.equal((await app.request('GET', '/x', { ...local, headers: { ...local.headers, accept } })).status, 404)
})

test('a page that was not built is reported in the log', async (t) => {
  const app = createApp(t, {
    consoleFile: () => {
      throw new Error('ENOENT: no such directory')
    },
  })
  assert.equal((await app.request('GET', '/console/', local)).status, 500)
  assert.deepEqual(app.failures, ['the console: Error: ENOENT: no such directory'])
})
