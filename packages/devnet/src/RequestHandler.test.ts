import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { dropConnection } from '@latchkey/http'
import * as RequestHandler from './RequestHandler.js'
import { errorMessageOf, expectText, headersOf, personOf, sign, TestNode } from './testing/TestNode.test.helper.js'

const token = 'a'.repeat(64)
const wrong = 'b'.repeat(64)
const rejected = '{"message":"Invalid API Token"}\n'
const page = 'https://page.example'

test('the token', async (t) => {
  await t.test('is not checked if none is set', async () => {
    const node = new TestNode()
    for (const headers of [
      {},
      { 'x-algo-api-token': wrong },
      { 'x-algo-api-token': '' },
      { authorization: 'Bearer x' },
    ]) {
      for (const path of ['/v2/status', '/devnet/state', '/health']) {
        assert.equal((await node.get(path, { headers })).status, 200)
      }
    }
  })

  await t.test('is required on every route except the open ones', async () => {
    const node = new TestNode({ token })
    const person = personOf(1)
    const routes: [string, string][] = [
      ['GET', '/v2/status'],
      ['GET', '/v2/status/wait-for-block-after/0'],
      ['GET', '/v2/transactions/params'],
      ['GET', `/v2/accounts/${person.address}`],
      ['GET', '/v2/accounts/nonsense'],
      ['GET', '/v2/assets/1'],
      ['GET', '/v2/blocks/0'],
      ['GET', '/v2/ledger/supply'],
      ['GET', '/v2/transactions/pending'],
      ['POST', '/v2/transactions'],
      ['POST', '/v2/transactions/simulate'],
      ['POST', '/v2/teal/compile'],
      ['POST', '/v2/devmode/blocks/offset/1'],
      ['GET', '/devnet'],
      ['GET', '/devnet/state'],
      ['POST', '/devnet/fund'],
      ['POST', '/devnet/reset'],
      ['DELETE', '/devnet/faults'],
    ]
    for (const [method, path] of routes) {
      for (const headers of [
        {},
        { 'x-algo-api-token': wrong },
        { authorization: `Bearer ${wrong}` },
        { authorization: token },
      ]) {
        const response = await node.call(method, path, { headers })
        assert.equal(response === dropConnection ? response : expectText(response, 401), rejected, `${method} ${path}`)
      }
    }
    for (const path of ['/health', '/ready', '/metrics', '/genesis', '/versions']) {
      assert.equal((await node.get(path)).status, 200)
      assert.equal((await node.get(path, { headers: { 'x-algo-api-token': wrong } })).status, 200)
    }
  })

  await t.test('is read from X-Algo-API-Token first, then from Authorization', async () => {
    const node = new TestNode({ token })
    for (const headers of [
      { 'x-algo-api-token': token },
      { authorization: `Bearer ${token}` },
      { authorization: `bearer ${token}` },
      { 'x-algo-api-token': token, authorization: `Bearer ${wrong}` },
    ] as { [name: string]: string }[]) {
      assert.equal((await node.get('/v2/status', { headers })).status, 200)
      assert.equal((await node.get('/devnet/state', { headers })).status, 200)
    }
    const headers = { 'x-algo-api-token': wrong, authorization: `Bearer ${token}` }
    assert.equal((await node.get('/v2/status', { headers })).status, 401)
  })

  await t.test('is checked before the body is read', async () => {
    const node = new TestNode({ token })
    const response = await node.handle({
      method: 'POST',
      target: '/v2/transactions',
      header: () => undefined,
      body: () => assert.fail('read'),
    })
    assert.equal(response === dropConnection ? 0 : response.status, 401)
  })
})

test('routes', async (t) => {
  await t.test('an unknown path gets 404, even with a wrong token', async () => {
    const node = new TestNode({ token })
    for (const path of [
      '/nope',
      '/v2',
      '/v2/',
      '/v2/nope',
      '/V2/status',
      '/v2//status',
      '/v2/status//',
      '//v2/status',
      '/v2/ledger/sync',
      '/devnet/nope',
      '*',
      '',
    ]) {
      assert.equal(expectText(await node.get(path), 404), '{"message":"Not Found"}\n', path)
    }
  })

  await t.test('another method gets 405 with the allowed ones, even with a wrong token', async () => {
    const node = new TestNode({ token })
    for (const [method, path, allow] of [
      ['POST', '/v2/status', 'OPTIONS, GET'],
      ['PUT', '/v2/status', 'OPTIONS, GET'],
      ['HEAD', '/v2/status', 'OPTIONS, GET'],
      ['HEAD', '/health', 'OPTIONS, GET'],
      ['get', '/health', 'OPTIONS, GET'],
      ['DELETE', '/versions', 'OPTIONS, GET'],
      ['GET', '/v2/transactions', 'OPTIONS, POST'],
      ['GET', '/v2/transactions/simulate', 'OPTIONS, POST'],
      ['GET', '/v2/teal/compile', 'OPTIONS, POST'],
      ['PUT', '/devnet/faults', 'OPTIONS, GET, POST, DELETE'],
      ['GET', '/devnet/fund', 'OPTIONS, POST'],
    ] as const) {
      const response = await node.call(method, path)
      assert.equal(
        response === dropConnection ? response : expectText(response, 405),
        '{"message":"Method Not Allowed"}\n',
        path,
      )
      assert.equal((await headersOf(node, method, path))['allow'], allow)
    }
  })

  await t.test('accepts one trailing slash and unknown query parameters', async () => {
    const node = new TestNode()
    for (const path of [
      '/v2/status/',
      '/health/',
      '/v2/blocks/0/',
      '/v2/status?foo=1',
      '/v2/status/?',
      '/v2/status?a=?b',
    ]) {
      assert.equal((await node.get(path)).status, 200, path)
    }
  })

  await t.test('decodes percent-encoded path parameters and rejects invalid encodings', async () => {
    const node = new TestNode()
    assert.equal((await node.get('/v2/blocks/%30')).status, 200)
    assert.equal((await node.get('/v2/blocks/00')).status, 200)
    for (const path of [
      '/v2/blocks/%',
      '/v2/blocks/%ZZ',
      '/v2/accounts/%ff',
      '/v2/assets/%c3',
      '/v2/accounts/%E0%A4%A',
    ]) {
      assert.equal(errorMessageOf(await node.get(path)), 'Bad Request', path)
    }
    // Only parameters are decoded: a slash in one does not make two.
    assert.match(errorMessageOf(await node.get('/v2/blocks/0%2Fhash')), /parsing "0\/hash": invalid syntax$/)
    assert.equal((await node.get('/v2/%73tatus')).status, 404)
  })

  await t.test('reads the format in any case, once, and by its exact name', async () => {
    const node = new TestNode()
    const type = async (query: string) => (await headersOf(node, 'GET', `/v2/blocks/0?${query}`))['content-type']
    for (const query of ['format=msgpack', 'format=MSGPACK', 'format=msgp', 'format=%6Dsgpack', 'x=1&format=msgpack']) {
      assert.equal(await type(query), 'application/msgpack', query)
    }
    for (const query of ['', 'Format=msgpack', 'FORMAT=msgpack', 'format=json', '%ZZ', '&&&=&']) {
      assert.equal(await type(query), 'application/json', query)
      assert.equal((await node.get(`/v2/blocks/0?${query}`)).status, 200, query)
    }
    for (const query of ['format', 'format=', 'format=xml', 'format=msgpack%00']) {
      assert.equal(errorMessageOf(await node.get(`/v2/blocks/0?${query}`)), 'failed to parse the format option', query)
    }
    assert.equal(
      errorMessageOf(await node.get('/v2/blocks/0?format=msgpack&format=json')),
      "Invalid format for parameter format: multiple values for single value parameter 'format'",
    )
  })
})

test('CORS', async (t) => {
  await t.test('lets any origin read every API response, including errors', async () => {
    const node = new TestNode({ token })
    for (const [path, status] of [
      ['/v2/status', 401],
      ['/nope', 404],
      ['/health', 200],
      ['/v2/blocks/abc', 401],
    ] as const) {
      assert.equal((await node.get(path, { headers: { origin: page } })).status, status)
      const headers = await headersOf(node, 'GET', path, { headers: { origin: page } })
      assert.deepEqual([headers['access-control-allow-origin'], headers['vary']], ['*', 'Origin'])
    }
    for (const headers of [{}, { origin: '' }] as { [name: string]: string }[]) {
      assert.equal((await headersOf(node, 'GET', '/health', { headers }))['access-control-allow-origin'], undefined)
    }
    // Applies to asynchronous responses too.
    const own = new TestNode()
    const person = own.funded(0)
    const options = { headers: { origin: page }, body: sign(own.pay(person, person, 1n), person) }
    assert.equal((await headersOf(own, 'POST', '/v2/transactions', options))['access-control-allow-origin'], '*')
    const simulated = await headersOf(own, 'POST', '/v2/transactions/simulate', { ...options, body: '{}' })
    assert.equal(simulated['access-control-allow-origin'], '*')
  })

  await t.test('answers a preflight without a token', async () => {
    const node = new TestNode({ token })
    const ask = async (path: string, headers: { [name: string]: string } = {}) => {
      const response = await node.call('OPTIONS', path, { headers })
      assert.deepEqual(response === dropConnection ? response : [response.status, response.text], [204, ''])
      return headersOf(node, 'OPTIONS', path, { headers })
    }
    const allowed = {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'X-Algo-API-Token,Content-Type',
      'access-control-allow-methods': 'GET,POST,PUT,DELETE,OPTIONS',
      vary: 'Origin',
    }
    assert.deepEqual(await ask('/v2/transactions', { origin: page }), { ...allowed, allow: 'OPTIONS, POST' })
    assert.deepEqual(await ask('/nope', { origin: page }), allowed)
    assert.deepEqual(await ask('/v2/transactions'), { vary: 'Origin', allow: 'OPTIONS, POST' })
    const privately = { origin: page, 'access-control-request-private-network': 'true' }
    assert.deepEqual(await ask('/v2/status', privately), {
      ...allowed,
      allow: 'OPTIONS, GET',
      'access-control-allow-private-network': 'true',
    })
    assert.deepEqual(await ask('/v2/status/', { 'access-control-request-private-network': 'true' }), {
      allow: 'OPTIONS, GET',
      vary: 'Origin',
    })
  })
})

test('cheats', async (t) => {
  const paths: [string, string][] = [
    ['GET', '/devnet'],
    ['GET', '/devnet/state'],
    ['POST', '/devnet/fund'],
    ['POST', '/devnet/opt-in'],
    ['POST', '/devnet/mine'],
    ['POST', '/devnet/time'],
    ['POST', '/devnet/snapshot'],
    ['POST', '/devnet/revert'],
    ['POST', '/devnet/reset'],
    ['GET', '/devnet/faults'],
    ['POST', '/devnet/faults'],
    ['DELETE', '/devnet/faults'],
    ['GET', '/devnet/dump'],
    ['POST', '/devnet/load'],
  ]

  await t.test('rejects other machines, other hosts and other origins', async () => {
    const node = new TestNode()
    const cases: { headers?: { [name: string]: string }; remote?: string }[] = [
      { remote: '192.168.1.7' },
      { remote: '::ffff:10.0.0.1' },
      { remote: 'fe80::1' },
      { headers: { host: 'evil.example' } },
      { headers: { host: 'evil.example:4001' } },
      { headers: { host: '127.0.0.1.evil.example' } },
      { headers: { host: 'localhost.evil.example' } },
      { headers: { host: '192.168.1.7:4001' } },
      { headers: { host: '' } },
      { headers: { origin: page } },
      { headers: { origin: 'http://localhost.evil.example' } },
      { headers: { origin: 'http://127.0.0.1.evil.example' } },
      { headers: { origin: 'null' } },
      { headers: { origin: '' } },
      { headers: { origin: 'file://' } },
      { headers: { origin: 'not an origin' } },
    ]
    for (const options of cases) {
      for (const [method, path] of paths) {
        const response = await node.call(method, path, options)
        const actual = response === dropConnection ? undefined : expectText(response, 403)
        assert.equal(
          actual,
          '{"data":{"hint":"use the address 127.0.0.1; web pages of other origins are refused"},"message":"cheats are only for programs on this machine"}\n',
          `${method} ${path} ${JSON.stringify(options)}`,
        )
        const headers = await headersOf(node, method, path, options)
        assert.equal(headers['access-control-allow-origin'], undefined)
      }
    }
    assert.deepEqual(node.ledger.last.round, 0n)
  })

  await t.test('rejects a request without Host', async () => {
    const node = new TestNode()
    const response = await node.handle({
      method: 'GET',
      target: '/devnet/state',
      header: () => undefined,
      remoteAddress: () => '127.0.0.1',
      body: () => Buffer.alloc(0),
    })
    assert.equal(response === dropConnection ? 0 : response.status, 403)
  })

  await t.test('allows programs on this machine, and pages with a loopback origin on any port', async () => {
    const node = new TestNode()
    for (const [remote, host, origin] of [
      ['127.0.0.1', '127.0.0.1:4001', undefined],
      ['127.9.9.9', 'localhost:4001', 'http://localhost:3000'],
      ['::1', '[::1]:4001', 'http://[::1]:5173'],
      ['::ffff:127.0.0.1', 'LOCALHOST', 'https://127.0.0.1:8443'],
      ['127.0.0.1', 'devnet.localhost:4001', 'http://shop.localhost'],
    ] as const) {
      const headers = { host, ...(origin === undefined ? {} : { origin }) }
      assert.equal((await node.get('/devnet/state', { remote, headers })).status, 200)
      const allowed = (await headersOf(node, 'GET', '/devnet/state', { remote, headers }))[
        'access-control-allow-origin'
      ]
      assert.equal(allowed, origin)
    }
  })

  await t.test('does not allow other origins in a preflight', async () => {
    const node = new TestNode()
    const ask = (origin: string) =>
      headersOf(node, 'OPTIONS', '/devnet/fund', {
        headers: { origin, 'access-control-request-private-network': 'true' },
      })
    assert.deepEqual(await ask(page), { vary: 'Origin', allow: 'OPTIONS, POST' })
    assert.deepEqual(await ask('http://localhost:3000'), {
      vary: 'Origin',
      allow: 'OPTIONS, POST',
      'access-control-allow-origin': 'http://localhost:3000',
      'access-control-allow-headers': 'X-Algo-API-Token,Content-Type',
      'access-control-allow-methods': 'GET,POST,PUT,DELETE,OPTIONS',
      'access-control-allow-private-network': 'true',
    })
  })

  await t.test('needs the token too', async () => {
    const node = new TestNode({ token })
    assert.equal((await node.get('/devnet/state', { headers: { 'x-algo-api-token': wrong } })).status, 401)
    assert.equal((await node.get('/devnet/state', { headers: { 'x-algo-api-token': token } })).status, 200)
    // The origin is checked first, so that other origins learn nothing about the token.
    const headers = { 'x-algo-api-token': token, origin: page }
    assert.equal((await node.get('/devnet/state', { headers })).status, 403)
  })
})

test('state file', async (t) => {
  const ask = (handle: ReturnType<typeof RequestHandler.create>, target = '/v2/status') =>
    handle({ method: 'GET', target, header: () => undefined, body: () => Buffer.alloc(0) })

  await t.test('no response is sent before the change is on the disk', async () => {
    const { node } = new TestNode()
    let synced = () => {}
    const handle = RequestHandler.create({ node, synced: () => new Promise<void>((resolve) => (synced = resolve)) })
    let isAnswered = false
    const response = Promise.resolve(ask(handle)).then((answered) => {
      isAnswered = true
      return answered
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isAnswered, false)
    synced()
    const answered = await response
    assert.equal(answered === dropConnection ? 0 : answered.status, 200)
  })

  await t.test('a failed write gets 500 without details and is reported to onError', async () => {
    const { node } = new TestNode()
    const errors: unknown[] = []
    const failure = new Error('the disk is full')
    const handle = RequestHandler.create({
      node,
      synced: () => Promise.reject(failure),
      onError: (error) => errors.push(error),
    })
    for (const target of ['/v2/status', '/v2/status/wait-for-block-after/18446744073709551615']) {
      const response = await ask(handle, target)
      assert.deepEqual(response === dropConnection ? response : [response.status, response.body], [
        500,
        '{"message":"internal error of the devnet; see its log"}\n',
      ])
    }
    assert.deepEqual(errors, [failure, failure])
  })
})

/** Block 1 has about ten thousand bytes, and block 2 about a hundred thousand. */
async function setUp(): Promise<TestNode> {
  const node = new TestNode({ blocks: 'manual' })
  const person = node.funded(0)
  for (const count of [12, 100]) {
    for (let index = 0; index < count; index++) {
      const note = new Uint8Array(900).fill(index)
      await node.send(sign(node.pay(person, person, BigInt(count), { note }), person))
    }
    await node.post('/devnet/mine')
  }
  return node
}

const paths = ['/v2/blocks/1', '/v2/blocks/1?format=msgpack', '/v2/blocks/2', '/v2/blocks/2?format=msgpack']

test('large responses are compressed for clients that accept gzip', async () => {
  const node = await setUp()
  for (const path of paths) {
    const plain = await node.get(path)
    assert.deepEqual([plain.header('content-encoding'), plain.header('vary')], [undefined, 'Accept-Encoding'])
    for (const accepted of ['gzip', 'gzip, deflate', 'br;q=1.0, GZIP;q=0.5', 'x-gzip', '*', 'deflate, gzip;q=1']) {
      const headers = { 'accept-encoding': accepted }
      const compressed = await node.get(path, { headers })
      assert.deepEqual([compressed.header('content-encoding'), compressed.header('vary')], ['gzip', 'Accept-Encoding'])
      assert.equal(compressed.header('content-type'), plain.header('content-type'))
      assert.ok(compressed.bytes.length < plain.bytes.length / 2)
      assert.deepEqual(gunzipSync(compressed.bytes), Buffer.from(plain.bytes))
    }
    for (const refused of ['', 'identity', 'br', 'gzip;q=0', 'deflate, gzip;q=0.000', 'gzipped', '*;q=0']) {
      const same = await node.get(path, { headers: { 'accept-encoding': refused } })
      assert.deepEqual([same.header('content-encoding'), same.text], [undefined, plain.text], refused)
    }
  }
})

test('small responses and errors are not compressed', async () => {
  const node = await setUp()
  const headers = { 'accept-encoding': 'gzip' }
  for (const path of ['/v2/status', '/health', '/v2/blocks/99', '/v2/nope']) {
    const names = Object.keys(await headersOf(node, 'GET', path, { headers }))
    assert.deepEqual(names, ['content-type'])
  }
})
