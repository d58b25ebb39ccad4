import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { price } from '../stubs.test.helper.js'
import { openShop, type Seen, sendRaw } from './gateway.test.helper.js'
import { Upstream } from './Upstream.js'

/** Names that some service reads as the method, path, host, scheme, user, address or payment of a request. */
const trusted = [
  'SCRIPT_NAME PATH_INFO PATH_TRANSLATED REQUEST_URI RAW_URI QUERY_STRING DOCUMENT_ROOT SCRIPT_FILENAME',
  'SERVER_NAME SERVER_PORT SERVER_PROTOCOL HTTPS REMOTE_USER REMOTE_ADDR REMOTE_HOST AUTH_TYPE HTTP_HOST WSGI_URL_SCHEME',
  'X-Original-URL X-Original-URI X-Rewrite-URL X-Rewrite-URI X-Original-Host X-Original-Method X-Script-Name X-Forwarded-Prefix',
  'X-Forwarded-Path X-Forwarded-Uri X-Forwarded-Host X-Forwarded-Server X-Forwarded-Proto X-Forwarded-Protocol',
  'X-Forwarded-Ssl X-Forwarded-Scheme X-Forwarded-Port X-Forwarded-For X-Forwarded-User X-Forwarded-Email Forwarded',
  'X-Url-Scheme X-Scheme X-Host X-HTTP-Host-Override Front-End-Https X-Real-IP X-Client-IP Client-IP True-Client-IP',
  'CF-Connecting-IP CF-Connecting-IPv6 CF-Visitor Fastly-Client-IP X-Cluster-Client-IP X-ProxyUser-Ip X-Remote-User',
  'X-Remote-Addr X-Authenticated-User X-Auth-Request-User X-Webauth-User X-Ssl-Client-Dn X-Client-Cert Remote-User',
  'X-Accel-Redirect X-Accel-Mapping X-Sendfile-Type X-Sendfile Proxy Proxy-Authorization Via Max-Forwards Destination',
  'X-Payment X-Payment-Payer X-Payment-Id Payment-Signature Payment-Identifier Settlement-Overrides Content-Location',
  'X-Azure-ClientIP X-Arr-Ssl X-Envoy-Original-Path X-Envoy-External-Address X-Amzn-Oidc-Identity X-Waws-Unencoded-Url',
].flatMap((line) => line.split(' '))

/** The name of the variable in which a server of WSGI, CGI or PHP passes a header. */
const variableOf = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, '_')

function spellings(name: string): string[] {
  const underscored = name.replaceAll('-', '_')
  const swapped = [...name].map((one, index) => (index % 2 === 0 ? one.toLowerCase() : one.toUpperCase())).join('')
  const mixed = name.replace(/[-_]/, (one) => (one === '-' ? '_' : '-'))
  const others = ['.', '!', '~', '|', '+', "'", '`', '$', '%', '&', '*', '^', '#'].map((one) =>
    name.replace(/[-_]/g, one),
  )
  return [...new Set([name, name.toLowerCase(), swapped, underscored, underscored.toUpperCase(), mixed, ...others])]
}

/** What a WSGI server makes of the headers. */
function environmentOf({ headers }: Seen): Map<string, string[]> {
  const environment = new Map<string, string[]>()
  for (let index = 0; index < headers.length; index += 2) {
    const name = variableOf(headers[index]!)
    environment.set(name, [...(environment.get(name) ?? []), headers[index + 1]!])
  }
  return environment
}

test('no header that a service could take for a part of the request passes, in any spelling', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'] })
  const passed: string[] = []
  for (const name of trusted) {
    const lines = spellings(name).map((one) => `${one}: injected`)
    const { status } = await sendRaw(port, ['GET /free HTTP/1.1', 'Host: shop.example', ...lines])
    assert.equal(status, 200, name)
    const environment = environmentOf(seen.at(-1)!)
    if ([...environment.values()].flat().some((value) => value.includes('injected'))) passed.push(name)
  }
  assert.deepEqual(passed, [])
})

test('every header that passes is in one spelling and on one line, with the value that the gate has read', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'] })
  const lines = [
    'Accept: text/plain',
    'Accept: text/html',
    'ACCEPT_LANGUAGE: xx',
    'accept-language: de',
    'Authorization: Bearer one',
    'Authorization: Bearer two',
    'Cookie: a=1',
    'cookie: b=2',
    'Content_Type: text/injected',
    'If-None-Match: "x"',
    'Idempotency-Key: k',
    'traceparent: 00-1-1-00',
    'User-Agent: test',
    'X-Api-Key: key',
  ]
  await sendRaw(port, ['GET /free HTTP/1.1', 'Host: shop.example', ...lines])
  const environment = environmentOf(seen[0]!)
  assert.deepEqual(Object.fromEntries([...environment].map(([name, values]) => [name, values.join(' | ')])), {
    HOST: environment.get('HOST')![0],
    ACCEPT: 'text/plain, text/html',
    ACCEPT_LANGUAGE: 'de',
    AUTHORIZATION: 'Bearer one',
    COOKIE: 'a=1; b=2',
    IF_NONE_MATCH: '"x"',
    IDEMPOTENCY_KEY: 'k',
    TRACEPARENT: '00-1-1-00',
    USER_AGENT: 'test',
    X_API_KEY: 'key',
    X_FORWARDED_FOR: '127.0.0.1',
    X_FORWARDED_HOST: 'shop.example',
    X_FORWARDED_PROTO: 'http',
    CONNECTION: environment.get('CONNECTION')![0],
  })
})

test('payments in other places do not reach the service: credentials of the scheme Payment, and cookies of passes', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'] })
  const lines = ['Authorization: payment abc', `Cookie: a=1; x402-pass-${'A'.repeat(8)}=secret; b=2`]
  await sendRaw(port, ['GET /free HTTP/1.1', 'Host: shop.example', ...lines])
  const environment = environmentOf(seen[0]!)
  assert.equal(environment.get('AUTHORIZATION'), undefined)
  assert.doesNotMatch(environment.get('COOKIE')![0]!, /secret/)
})

test('a header that passes cannot be declared a header of the connection', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'] })
  for (const name of ['Content-Type', 'authorization', 'content_type']) {
    const lines = [`Connection: ${name}`, 'Content-Type: text/plain', 'Content-Length: 1']
    assert.equal((await sendRaw(port, ['POST /free HTTP/1.1', 'Host: x', ...lines], 'a')).status, 400, name)
  }
  assert.equal(seen.length, 0)
})

test('the operator adds names and prefixes, but none of those that a service could trust', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'], passHeaders: ['X-Acme-*', 'SOAPAction'] })
  const lines = [
    'X-Acme-Version: 2',
    'X_Acme_Version: 3',
    'X-Acme: no',
    'soapaction: "a"',
    'X-Other: no',
    'X-Acme-: no',
  ]
  await sendRaw(port, ['GET /free HTTP/1.1', 'Host: x', ...lines])
  const environment = environmentOf(seen[0]!)
  assert.deepEqual(
    ['X_ACME_VERSION', 'SOAPACTION', 'X_ACME', 'X_OTHER', 'X_ACME_'].map((name) => environment.get(name)),
    [['2'], ['"a"'], undefined, undefined, undefined],
  )
  const wrong = ['', '*', 'X-*', 'HTTP-*', 'X_Acme', 'X Acme', 'X-A*', 'X-Acme-**', 'a'.repeat(101), 1, null]
  for (const name of [...wrong, ...trusted, 'X-Forwarded-*', 'X-Original-*', 'X-HTTP-Method', 'Connection', 'TE']) {
    assert.throws(
      () => new Upstream({ url: 'http://x', passHeaders: [name as string] }),
      { code: 'invalid_option', message: /passHeaders/ },
      String(name),
    )
  }
})

test('a header of the operator is sent once, and the gateway writes no value of the client beside it', async (t) => {
  const own = {
    'x-forwarded-host': 'api.example',
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-For': '10.0.0.1',
    X_Api_Key: 'k',
  }
  const { port, seen } = await openShop(t, undefined, { free: ['/free'], headers: own })
  await sendRaw(port, ['GET /free HTTP/1.1', 'Host: evil.example', 'X-Api-Key: evil', 'X-Forwarded-Host: evil'])
  const environment = environmentOf(seen[0]!)
  assert.deepEqual(
    ['X_FORWARDED_HOST', 'X_FORWARDED_PROTO', 'X_FORWARDED_FOR', 'X_API_KEY'].map((name) => environment.get(name)),
    [['api.example'], ['https'], ['10.0.0.1'], ['k']],
  )
  const names = [
    'X-Payment-Payer',
    'x_payment_id',
    'PAYMENT-SIGNATURE',
    'X-HTTP-Method-Override',
    'Content_Length',
    'Host',
  ]
  for (const name of names) {
    assert.throws(() => new Upstream({ url: 'http://x', headers: { [name]: 'a' } }), { code: 'invalid_option' }, name)
  }
  const twice = { Authorization: 'a', authorization: 'b' }
  assert.throws(() => new Upstream({ url: 'http://x', headers: twice }), /"authorization" is given twice/)
})

test('a request whose client has left is not forwarded, because the address of the client is unknown', async (t) => {
  const { port, seen, url } = await openShop(t, undefined, { free: ['/free'] })
  for (let count = 0; count < 60; count++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write('POST /free HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, (count % 12) / 3))
    socket.resetAndDestroy()
  }
  assert.equal((await fetch(`${url}/free`)).status, 200)
  for (const one of seen) assert.deepEqual(environmentOf(one).get('X_FORWARDED_FOR'), ['127.0.0.1'])
})

test('a response of the service says nothing to a proxy in front, and nothing about a payment', async (t) => {
  const removed = {
    'X-Accel-Redirect': '/internal',
    'X-Sendfile': '/etc/passwd',
    'X-Lighttpd-Send-File': '/etc/passwd',
    'Alt-Svc': 'h2="origin.example:443"',
    'PAYMENT-RESPONSE': 'forged',
    PAYMENT_RESPONSE: 'forged',
    'Payment-Required': 'forged',
    'X-Payment-Response': 'forged',
    'Settlement-Overrides': '{"amount":"1"}',
    'Proxy-Authenticate': 'x',
  }
  const kept = { 'Set-Cookie': 'a=1', 'X-Accel-Buffering': 'no', 'X-Any': '1', ETag: '"x"', Location: '/b' }
  const { url } = await openShop(t, (_, response) => response.writeHead(200, { ...removed, ...kept }).end(), {
    free: ['/free'],
  })
  const { headers } = await fetch(`${url}/free`)
  assert.deepEqual(
    Object.keys(removed).filter((name) => headers.has(name)),
    [],
  )
  for (const [name, value] of Object.entries(kept)) assert.equal(headers.get(name), value, name)
})

test('a method that a header names in any spelling is refused before payment', async (t) => {
  const gate = { routes: { 'POST /items/:id': { accepts: price } } }
  const { port, seen } = await openShop(t, undefined, { gate, free: ['/free'] })
  for (const name of [
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'HTTP-Method-Override',
    'Request-Method',
  ]) {
    for (const one of spellings(name)) {
      for (const path of ['/items/1', '/free']) {
        const { status } = await sendRaw(port, [
          `POST ${path} HTTP/1.1`,
          'Host: x',
          `${one}: DELETE`,
          'Content-Length: 0',
        ])
        assert.equal(status, 400, `${one} ${path}`)
      }
    }
  }
  assert.equal(seen.length, 0)
})

test('no client can let the service repeat its request, with the headers of the operator', async (t) => {
  const headers = { Authorization: 'Bearer key' }
  const gate = { routes: { '/a': { accepts: price } } }
  const { port, seen } = await openShop(t, undefined, { headers, gate, free: ['/free'] })
  for (const target of ['/a', '/free']) {
    assert.equal((await sendRaw(port, [`TRACE ${target} HTTP/1.1`, 'Host: x'])).status, 405, target)
  }
  assert.equal(seen.length, 0)
})
