/** Hostile sellers, and names that resolve as the test specifies. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { PaymentHeaders, paymentRequired } from '@latchkey/x402-wire'
import type { SystemFacts } from '../../../addresses.js'
import { required } from '../catalogue.test.helper.js'
import { fetchOffer, isPaidOperation } from './node.js'

async function listen(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  t.after(() => server.closeAllConnections())
  return listen(t, server)
}

const ask = (
  url: string,
  change: { allowPrivate?: boolean; method?: string; timeoutMs?: number } = {},
  facts?: object,
) =>
  fetchOffer(
    {
      url: new URL(url),
      method: 'GET',
      allowPrivate: true,
      timeoutMs: 2_000,
      signal: new AbortController().signal,
      ...change,
    },
    facts as Partial<SystemFacts>,
  )

const header = PaymentHeaders.encode(required('/weather'))

test('returns the offer of a 402, and sends nothing but a request without body and credentials', async (t) => {
  const requests: { method: string | undefined; headers: object }[] = []
  const url = await serve(t, ({ method, headers }, response) => {
    requests.push({ method, headers })
    // A body of any size is not read.
    response.writeHead(402, { [paymentRequired]: header }).flushHeaders()
    response.write('x'.repeat(1_000_000))
  })
  for (const method of ['GET', 'HEAD', 'POST']) assert.deepEqual(await ask(url, { method }), required('/weather'))
  assert.deepEqual(
    requests.map(({ method }) => method),
    ['GET', 'HEAD', 'POST'],
  )
  for (const { headers } of requests) {
    const names = Object.keys(headers).filter((name) => !/^(content-length|transfer-encoding)$/.test(name))
    assert.deepEqual(names.sort(), ['accept', 'connection', 'host', 'user-agent', 'x-request-id'])
  }
})

test('other statuses, redirects and headers that are not an offer are no offer', async (t) => {
  let requests = 0
  const answers: [number, { [name: string]: string }][] = [
    [200, { [paymentRequired]: header }],
    [302, { Location: '/weather', [paymentRequired]: header }],
    [402, {}],
    [402, { [paymentRequired]: 'junk' }],
    [402, { [paymentRequired]: Buffer.from('{"x402Version":2,"accepts":[]}').toString('base64') }],
    [402, { [paymentRequired]: Buffer.from('['.repeat(10_000)).toString('base64') }],
  ]
  const url = await serve(t, (_, response) => {
    const [status, headers] = answers[requests++]!
    response.writeHead(status, headers).end()
  })
  for (const _ of answers) assert.equal(await ask(url), undefined)
  assert.equal(requests, answers.length)
})

test('a seller that sends slowly, too much, nothing or something else ends within the time limit', {
  timeout: 10_000,
}, async (t) => {
  const drip = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 402 Payment Required\r\n')
    const timer = setInterval(() => socket.write('X-A: b\r\n'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  const silent = createTcpServer((socket) => socket.on('error', () => {}).resume())
  const flood = createTcpServer((socket) => {
    socket.on('error', () => {}).write(`HTTP/1.1 402 x\r\n${paymentRequired}: ${'a'.repeat(200_000)}\r\n\r\n`)
  })
  const junk = createTcpServer((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n'))
  for (const server of [drip, silent, flood, junk]) {
    const url = await listen(t, server)
    await assert.rejects(ask(url, { timeoutMs: 300 }))
  }
})

test('addresses of this machine and of private networks are refused, in any spelling, and without TLS', async (t) => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections++
    socket.on('error', () => {}).end()
  })
  const { port } = new URL(await listen(t, server))
  const hosts = [
    '127.0.0.1',
    'localhost',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0.0.0.0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::]',
    '169.254.169.254',
    '10.0.0.1',
    '192.168.1.1',
    '[fd00::1]',
    '[fe80::1]',
    '[64:ff9b::7f00:1]',
  ]
  for (const host of hosts) {
    await assert.rejects(ask(`https://${host}:${port}/`, { allowPrivate: false, timeoutMs: 5_000 }), host)
    await assert.rejects(ask(`http://${host}:${port}/`, { allowPrivate: false }), /https/, host)
  }
  assert.equal(connections, 0)
})

test('a name is connected to at the addresses that were checked, and all must be public', async (t) => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections++
    socket.on('error', () => {}).end()
  })
  const { port } = new URL(await listen(t, server))
  let lookups = 0
  const resolving = (...answers: string[][]) => ({
    resolve: (_: string, __: object, callback: (error: null, found: object[]) => void) => {
      const found = answers[Math.min(lookups++, answers.length - 1)]!
      setImmediate(() =>
        callback(
          null,
          found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ),
      )
    },
  })
  const lies = [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::1'], [], Array(17).fill('93.184.216.34') as string[]]
  for (const answer of lies) {
    const asked = ask(`https://shop.example:${port}/`, { allowPrivate: false }, resolving(answer))
    await assert.rejects(asked, /public address/)
  }
  lookups = 0
  // Rebinding: the second answer would be this machine.
  const rebinding = resolving(['203.0.113.7'], ['127.0.0.1'])
  await assert.rejects(ask(`https://shop.example:${port}/`, { allowPrivate: false, timeoutMs: 500 }, rebinding))
  assert.equal(lookups, 1)
  assert.equal(connections, 0)
})

const paid = { 'x-payment-info': { protocols: [{ x402: {} }] } }
const text = JSON.stringify({
  paths: { '/notes/{id}': { put: paid, delete: {}, patch: { 'x-payment-info': 7 } }, '/notes/all': { delete: paid } },
})

test('a request is paid if its operation has x-payment-info', () => {
  const requests = {
    'PUT /notes/5': true,
    'DELETE /notes/all': true,
    'DELETE /notes/5': false,
    'PATCH /notes/5': false,
  }
  const others = { 'PUT /notes/5/6': false, 'PUT /notes': false, 'POST /notes/5': false, 'PUT /other/5': false }
  for (const [request, expected] of Object.entries({ ...requests, ...others })) {
    const [method = '', path = ''] = request.split(' ')
    assert.equal(isPaidOperation(text, { method, path }), expected, request)
  }
})

test('junk lists nothing', () => {
  for (const junk of ['', '[]', '{', '{"paths":[]}', '{"paths":{"/a":7}}', '['.repeat(100_000)]) {
    assert.equal(isPaidOperation(junk, { method: 'PUT', path: '/a' }), false, junk.slice(0, 20))
  }
})
