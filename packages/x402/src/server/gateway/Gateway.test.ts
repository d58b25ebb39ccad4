import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import test from 'node:test'
import type { GateOptions } from '../gate/GateOptions.js'
import { paymentFor, price, requiredIn } from '../stubs.test.helper.js'
import { openGateway } from './Gateway.js'
import { bodyOf, openShop, sendRaw } from './gateway.test.helper.js'
import { Upstream } from './Upstream.js'

test('a service is sold by the gateway, and learns who paid', async (t) => {
  const { pay, seen, settled } = await openShop(t, (_, response) => {
    response.setHeader('Set-Cookie', ['a=1', 'b=2'])
    response.writeHead(200, 'Fine', { 'Settlement-Overrides': '{}', 'PAYMENT-RESPONSE': 'forged', 'X-Own': '1' })
    response.end('goods')
  })
  const response = await pay('/a?x=%41', { headers: { 'X-Payment-Payer': 'forged', Payment_Signature: 'forged' } })
  assert.equal(response.status, 200)
  assert.equal(await response.text(), 'goods')
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal(response.headers.get('X-Own'), '1')
  assert.equal(response.headers.get('Settlement-Overrides'), null)
  assert.match(response.headers.get('PAYMENT-RESPONSE') ?? '', /^eyJ/)
  assert.equal(settled.length, 1)
  assert.equal(seen.length, 1)
  assert.equal(seen[0]?.url, '/a?x=%41')
  const names = seen[0]?.headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()) ?? []
  assert.equal(names.includes('payment-signature') || names.includes('payment_signature'), false)
  const payer = seen[0]?.headers[seen[0].headers.indexOf('X-Payment-Payer') + 1]
  assert.match(payer ?? '', /^[A-Z2-7]{58}$/)
  assert.equal(names.filter((name) => name === 'x-payment-payer').length, 1)
})

test('free routes are forwarded, and others are not', async (t) => {
  const { url, seen } = await openShop(t, undefined, { free: ['GET /health', '/public/*'], path: '/v1/' })
  assert.equal((await fetch(`${url}/health`)).status, 200)
  assert.equal((await fetch(`${url}/public/x`, { method: 'POST', body: 'y' })).status, 200)
  for (const [target, method] of [
    ['/health', 'POST'] as const,
    ['/secret', 'GET'] as const,
    ['/public/../secret', 'GET'] as const,
  ]) {
    assert.equal((await fetch(`${url}${target}`, { method })).status, 404, target)
  }
  assert.deepEqual(
    seen.map((one) => [one.method, one.url, one.body]),
    [
      ['GET', '/v1/health', ''],
      ['POST', '/v1/public/x', 'y'],
    ],
  )
})

test('the service gets its own key, and no header that applies to one connection', async (t) => {
  const { port, seen } = await openShop(t, undefined, { headers: { Authorization: 'Bearer key' }, free: ['/b'] })
  const headers = {
    Authorization: 'Bearer buyer',
    Connection: 'close, X-Hop',
    'X-Hop': '1',
    'Proxy-Authorization': 'secret',
    'X-Forwarded-For': '6.6.6.6',
    TE: 'trailers',
    'X-Request-Id': '1',
  }
  const request = send({ port, host: '127.0.0.1', path: '/b', headers: { ...headers, Host: 'shop.example' } }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  const sent = Object.fromEntries(
    (seen[0]?.headers ?? []).flatMap((name, index, all) =>
      index % 2 === 0 ? [[name.toLowerCase(), all[index + 1]]] : [],
    ),
  )
  assert.equal(sent['authorization'], 'Bearer key')
  assert.equal(sent['x-forwarded-for'], '127.0.0.1')
  assert.equal(sent['x-forwarded-host'], 'shop.example')
  assert.equal(sent['x-request-id'], '1')
  for (const name of ['x-hop', 'proxy-authorization', 'te']) assert.equal(sent[name], undefined, name)
})

test('bodies are forwarded with their length or in chunks, and unknown codings are refused', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/b'] })
  const exchange = async (head: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}`)
    return (await bodyOf(socket as unknown as IncomingMessage)).split('\r\n')[0]!
  }
  assert.equal(await exchange('Content-Length: 3\r\n\r\nabc'), 'HTTP/1.1 200 OK')
  assert.equal(await exchange('Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'), 'HTTP/1.1 200 OK')
  assert.deepEqual(
    seen.map(({ body }) => body),
    ['abc', 'abc'],
  )
  for (const head of [
    'Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
  ]) {
    assert.match(await exchange(head), /^HTTP\/1\.1 (400|501)/)
  }
  assert.equal(seen.length, 2)
})

test('a failed request is not charged', async (t) => {
  const { pay, settled } = await openShop(t, (_, response) => response.writeHead(500).end())
  assert.equal((await pay()).status, 500)
  assert.deepEqual(settled, [])
})

test('shared caches keep no error that a payer has provoked', async (t) => {
  const { pay, service } = await openShop(t, (_, response) => {
    response.writeHead(412, { 'Cache-Control': 'public, max-age=600', 'Surrogate-Control': 'max-age=600' }).end('no')
  })
  const { status, headers } = await pay()
  assert.deepEqual([status, headers.get('Cache-Control')], [412, 'private, max-age=600'])
  assert.equal(headers.get('Surrogate-Control'), 'no-store')
  service.on('request', (request) => request.socket.destroy())
  const broken = await pay()
  assert.deepEqual([broken.status, broken.headers.get('Cache-Control')], [502, 'private'])
})

test('a service that breaks off is not charged, and neither is one that is silent', async (t) => {
  const broken = await openShop(t, (_, response) => {
    response.writeHead(200, { 'Content-Length': '10' })
    response.write('goo', () => response.destroy())
  })
  const response = await broken.pay()
  assert.ok(response.status >= 500)
  const silent = await openShop(t, () => {}, { timeoutMs: 50 })
  assert.equal((await silent.pay()).status, 504)
  assert.deepEqual([...broken.settled, ...silent.settled], [])
})

test('nothing is taken for a service that is not there', async (t) => {
  const { pay, settled, service, seen } = await openShop(t, undefined, {
    gate: { routes: { 'GET /a': { accepts: { ...price, paymentFlow: 'upfront' } } } },
  })
  service.close()
  service.closeAllConnections()
  const response = await pay()
  assert.equal(response.status, 503)
  assert.equal(response.headers.get('Retry-After'), '2')
  assert.deepEqual([settled.length, seen.length], [0, 0])
})

test('an account is limited, and is not charged beyond its limit', async (t) => {
  const { pay, settled } = await openShop(t, undefined, { perPayer: { requests: 2 } })
  const statuses: number[] = []
  for (let index = 0; index < 3; index++) statuses.push((await pay()).status)
  assert.deepEqual(statuses, [200, 200, 429])
  assert.equal(settled.length, 2)
  for (const perPayer of [
    { requests: 0 },
    { requests: '1' },
    { requests: 1, second: 1 },
    { requests: 1, seconds: '60' },
  ]) {
    assert.throws(() => openGateway({ perPayer } as never), /perPayer cannot be/)
  }
})

test('connections switch protocols if they are free or paid, and only if the service agrees', async (t) => {
  const { port, service } = await openShop(t, undefined, { free: ['/free'] })
  service.on('upgrade', (request, socket) => {
    if (request.url === '/free?no') return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Own: 1\r\n\r\n')
    socket.pipe(socket)
  })
  const talk = async (target: string, protocol = 'websocket'): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\nearly `)
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
      if (text.endsWith('early ')) socket.end('late')
    })
    await once(socket, 'close')
    return text
  }
  assert.match(await talk('/free'), /^HTTP\/1\.1 101 [\s\S]*X-Own: 1\r\n\r\nearly late$/)
  assert.match(await talk('/a'), /^HTTP\/1\.1 402 /)
  assert.equal(await talk('/free?no'), '')
  assert.equal(await talk('/other'), '')
  for (const protocol of ['h2c', 'websocket, h2c', 'echo'])
    assert.match(await talk('/free', protocol), /^HTTP\/1\.1 400 /)
})

test('refuses addresses and headers that cannot be used', () => {
  for (const url of [
    '',
    'ftp://x',
    'http://user@x',
    'http://:password@x',
    'http://x:0',
    'http://x/?a',
    'http://x/#a',
  ]) {
    assert.throws(() => new Upstream({ url }), { code: 'invalid_option' }, url)
  }
  for (const headers of [{ Host: 'x' }, { Connection: 'x' }, { 'a b': 'x' }, { A: 'x\r\ny' }, { A: '' }]) {
    assert.throws(() => new Upstream({ url: 'http://x', headers: headers as never }), /cannot be sent to the upstream/)
  }
})

test('refuses limits that cannot be used', () => {
  for (const value of [-5000, 0, Number.NaN, 1e15, 1.5, '60', null]) {
    assert.throws(() => new Upstream({ url: 'http://x', timeoutMs: value as number }), /timeoutMs cannot be/)
    assert.throws(() => new Upstream({ url: 'http://x', maxConnections: value as number }), /maxConnections cannot be/)
  }
})

test('no spelling of a path or a method reaches what is not for sale', async (t) => {
  const gate = { routes: { 'GET /v1/*': { accepts: price } } }
  const { port, seen } = await openShop(t, undefined, { free: ['GET /public/*'], gate })
  const ends = [
    '../admin',
    '..%2fadmin',
    '%2e%2e/admin',
    '%2E%2E%2Fadmin',
    '..;/admin',
    '..\\admin',
    '..%5cadmin',
    '..%252fadmin',
  ]
  const paths = ['/public/', '/v1/'].flatMap((start) => ends.map((end) => `${start}${end}`))
  const targets = [
    ...paths,
    '//admin',
    '/public//../admin',
    '/public/%00',
    '/public/x#/../admin',
    '/public/?_method=DELETE',
  ]
  const status = async (target: string, head = ''): Promise<number> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`)
    const [line = ''] = (await bodyOf(socket as unknown as IncomingMessage)).split('\r\n')
    return Number(line.split(' ')[1])
  }
  for (const target of targets) assert.equal(await status(target), 400, target)
  assert.equal(await status('/public/x', 'X-HTTP-Method-Override: DELETE\r\n'), 400)
  assert.equal(seen.length, 0)
  assert.equal(await status('http://other.example/public/a%20b?x=..%2f&y=%C3%BC'), 200)
  assert.equal(seen[0]?.url, '/public/a%20b?x=..%2f&y=%C3%BC')
})

test('a target that programs decode differently is not forwarded on a free route, either', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/public/*'] })
  for (const target of [
    '%ff',
    'a%C3',
    '%c0%af',
    '%ed%a0%80',
    'a?b=%ff',
    'a?b=%00',
    'a?b=\xff',
    'a?b=%',
    'a%2',
    'a?b="',
  ]) {
    assert.equal((await sendRaw(port, [`GET /public/${target} HTTP/1.1`, 'Host: x'])).status, 400, target)
  }
  assert.equal(seen.length, 0)
  for (const target of ['%C3%BC', 'a?b=%C3%BC&c=a+b&d=x|y&e[]=1', 'a?']) {
    assert.equal((await sendRaw(port, [`GET /public/${target} HTTP/1.1`, 'Host: x'])).status, 200, target)
  }
})

test('a POST beyond the limit of its account is settled, and served without another charge in the next window', async (t) => {
  const gate = { routes: { 'POST /a': { accepts: price } } }
  const { url, chain, settled, seen } = await openShop(t, undefined, { gate, perPayer: { requests: 1, seconds: 1 } })
  const ask = await fetch(`${url}/a`, { method: 'POST' })
  const send = (header: string): Promise<Response> =>
    fetch(`${url}/a`, { method: 'POST', headers: { 'PAYMENT-SIGNATURE': header } })
  const required = requiredIn(ask)
  const [first, second] = [paymentFor(required, chain).header, paymentFor(required, chain).header]
  assert.equal((await send(first)).status, 200)
  let response = await send(second)
  // The window may have ended on a slow machine.
  for (let count = 0; response.status === 429 && count < 100; count++) {
    assert.equal(new Set(settled).size, 2)
    await new Promise((resolve) => setTimeout(resolve, 100))
    response = await send(second)
  }
  assert.deepEqual([response.status, new Set(settled).size, seen.length], [200, 2, 2])
})

test('a request that a hook lets through is forwarded unpaid', async (t) => {
  const onProtectedRequest: GateOptions['onProtectedRequest'] = ({ adapter }) =>
    adapter.getHeader('X-API-Key') === 'known' && { grantAccess: true }
  const { url, seen, settled } = await openShop(t, undefined, { gate: { onProtectedRequest } })
  const response = await fetch(`${url}/a`, { headers: { 'X-API-Key': 'known' } })
  assert.deepEqual([response.status, await response.text()], [200, 'goods'])
  assert.equal(response.headers.get('Cache-Control'), 'private')
  assert.equal((await fetch(`${url}/a`)).status, 402)
  assert.equal((await fetch(`${url}/other`, { headers: { 'X-API-Key': 'known' } })).status, 404)
  assert.deepEqual([seen.length, settled], [1, []])
})

test('a service that closes idle connections without saying so answers every request, and none twice', async (t) => {
  const { url, pay, service, seen } = await openShop(t, undefined, { free: ['/free'] })
  let requests = 0
  service.on('connection', (socket) => {
    let count = 0
    // The second request of a connection meets its end.
    socket.on('data', () => {
      requests++
      if (++count === 2) socket.destroy()
    })
  })
  for (const method of ['GET', 'POST', 'GET', 'HEAD', 'DELETE', 'GET']) {
    const init = method === 'POST' ? { method, body: 'a' } : { method }
    assert.equal((await fetch(`${url}/free`, init)).status, 200, method)
  }
  assert.equal((await pay()).status, 200)
  assert.ok(requests > 7)
  assert.deepEqual(
    seen.map(({ method }) => method).filter((method) => method === 'POST' || method === 'DELETE'),
    ['POST', 'DELETE'],
  )
})

test('free requests that never end do not keep paid ones waiting', { timeout: 60_000 }, async (t) => {
  const gate = { routes: { '/a': { accepts: price } } }
  const { port, pay } = await openShop(t, undefined, { gate, free: ['/free'], maxConnections: 1 })
  const sockets = ['GET', 'POST', 'POST'].map((method) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(`${method} /free HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\na`)
    return socket
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (const method of ['GET', 'POST']) assert.equal((await pay('/a', { method })).status, 200)
  for (const socket of sockets) {
    socket.write('b')
    assert.match(await bodyOf(socket as unknown as IncomingMessage), /^HTTP\/1.1 200 /)
  }
})
