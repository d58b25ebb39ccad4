import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import test, { type TestContext } from 'node:test'
import { createProxy, targetOf } from './createProxy.js'

type Sent = {
  url: string
  method: string | undefined
  headers: { [name: string]: string }
  body: string
  redirect: unknown
}

async function open(t: TestContext, respond: () => Response | Promise<Response> = () => new Response('goods')) {
  const sent: Sent[] = []
  const pay = async (url: URL, init: RequestInit): Promise<Response> => {
    const headers = Object.fromEntries(init.headers as Headers)
    sent.push({ url: url.href, method: init.method, headers, body: String(init.body ?? ''), redirect: init.redirect })
    return respond()
  }
  const to = new URL('https://api.example/v1')
  const options = { to, maxBodyBytes: 10, onRequest: () => {}, onError: () => {} }
  const server = createServer(createProxy({ ...options, pay: pay as unknown as typeof fetch }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = async (path: string, headers = {}, method = 'GET', body = '') => {
    const asked = request({ port, host: '127.0.0.1', path, method, headers }).end(body)
    const [response] = await once(asked, 'response')
    return { status: response.statusCode as number, headers: response.headers, body: await text(response) }
  }
  return { ask, sent }
}

test('a request goes to the one origin, without headers of the connection and of payments', async (t) => {
  const { ask, sent } = await open(
    t,
    () => new Response('goods', { headers: { 'X-Own': '1', 'Content-Encoding': 'gzip' } }),
  )
  const headers = {
    'X-Kept': 'a',
    Connection: 'close, X-Hop',
    'X-Hop': '1',
    'PAYMENT-SIGNATURE': 'x',
    'Proxy-Authorization': 'y',
  }
  const { status, headers: returned, body } = await ask('/weather?city=Rome', headers, 'POST', 'data')
  assert.deepEqual([status, body, returned['x-own'], returned['content-encoding']], [200, 'goods', '1', undefined])
  const [{ url, method, body: sentBody, redirect, headers: forwarded }] = sent as [Sent]
  assert.deepEqual(
    [url, method, sentBody, redirect, forwarded],
    ['https://api.example/v1/weather?city=Rome', 'POST', 'data', 'manual', { 'x-kept': 'a' }],
  )
})

test('no path leads to another origin, or out of the path of the address', () => {
  const to = new URL('https://api.example/v1')
  const outside = ['/../v2', '/%2e%2e/v2', '/..\\v2', '/a/../../v2']
  for (const target of outside) assert.equal(targetOf(to, target), undefined, target)
  const inside = [
    '//evil.example/x',
    '/\\evil.example',
    '@evil.example',
    'http://evil.example/x',
    '/x?u=//evil.example',
    '*',
  ]
  for (const target of inside) {
    const url = targetOf(to, target)
    assert.ok(url === undefined || (url.origin === 'https://api.example' && url.pathname.startsWith('/v1/')), target)
  }
})

test('pages of other origins, other hosts and large bodies are refused, and nothing is sent', async (t) => {
  const { ask, sent } = await open(t)
  assert.equal((await ask('/', { Host: 'evil.example' })).status, 403)
  assert.equal((await ask('/', { Origin: 'https://evil.example' })).status, 403)
  assert.equal((await ask('/', { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  assert.equal((await ask('/', {}, 'POST', 'more than ten')).status, 413)
  assert.equal((await ask('/../v2')).status, 400)
  assert.equal(sent.length, 0)
})

test('a redirect is returned, and an error is a response', async (t) => {
  const redirected = await open(
    t,
    () => new Response(null, { status: 302, headers: { Location: 'https://evil.example' } }),
  )
  const { status, headers } = await redirected.ask('/')
  assert.deepEqual([status, headers['location'], redirected.sent.length], [302, 'https://evil.example', 1])
  const failing = await open(t, () => Promise.reject(new TypeError('fetch failed')))
  const { status: failed, body } = await failing.ask('/')
  assert.deepEqual([failed, JSON.parse(body).error], [502, 'request_failed'])
})
