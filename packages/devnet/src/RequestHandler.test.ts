import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dropConnection } from '@latchkey/http'
import * as RequestHandler from './RequestHandler.js'
import { expectText, headersOf, personOf, refusalOf, sign, TestNode } from './testing/TestNode.test.helper.js'

const token = 'a'.repeat(64)
const wrong = 'b'.repeat(64)
const refused = '{"message":"Invalid API Token"}\n'
const page = 'https://page.example'

describe('the token', () => {
  test('that was not set is not asked for: none, any and a wrong one all pass', async () => {
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

  test('that was set is asked for on every route but the open ones', async () => {
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
        const answer = await node.call(method, path, { headers })
        assert.equal(answer === dropConnection ? answer : expectText(answer, 401), refused, `${method} ${path}`)
      }
    }
    for (const path of ['/health', '/ready', '/metrics', '/genesis', '/versions']) {
      assert.equal((await node.get(path)).status, 200)
      assert.equal((await node.get(path, { headers: { 'x-algo-api-token': wrong } })).status, 200)
    }
  })

  test('comes in a header of its own or as a bearer, the former before the latter', async () => {
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

  test('is asked for before the body is read', async () => {
    const node = new TestNode({ token })
    const answer = await node.handle({
      method: 'POST',
      target: '/v2/transactions',
      header: () => undefined,
      body: () => assert.fail('read'),
    })
    assert.equal(answer === dropConnection ? 0 : answer.status, 401)
  })
})

describe('routes', () => {
  test('that there are not are 404, with the wrong token too', async () => {
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

  test('asked with another method are 405 with those there are, with the wrong token too', async () => {
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
      const answer = await node.call(method, path)
      assert.equal(
        answer === dropConnection ? answer : expectText(answer, 405),
        '{"message":"Method Not Allowed"}\n',
        path,
      )
      assert.equal((await headersOf(node, method, path))['allow'], allow)
    }
  })

  test('may end with one slash, and have a query that nobody asked for', async () => {
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

  test('have parameters that may be percent-encoded, and are refused if they are so wrongly', async () => {
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
      assert.equal(refusalOf(await node.get(path)), 'Bad Request', path)
    }
    // Only parameters are decoded: a slash in one does not make two.
    assert.match(refusalOf(await node.get('/v2/blocks/0%2Fhash')), /parsing "0\/hash": invalid syntax$/)
    assert.equal((await node.get('/v2/%73tatus')).status, 404)
  })

  test('read their query in any case of the format, once, by its exact name', async () => {
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
      assert.equal(refusalOf(await node.get(`/v2/blocks/0?${query}`)), 'failed to parse the format option', query)
    }
    assert.equal(
      refusalOf(await node.get('/v2/blocks/0?format=msgpack&format=json')),
      "Invalid format for parameter format: multiple values for single value parameter 'format'",
    )
  })
})

describe('pages of other origins', () => {
  test('may read every answer of the API, refusals too', async () => {
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
    // What had to be waited for is no exception.
    const own = new TestNode()
    const person = own.funded(0)
    const options = { headers: { origin: page }, body: sign(own.pay(person, person, 1n), person) }
    assert.equal((await headersOf(own, 'POST', '/v2/transactions', options))['access-control-allow-origin'], '*')
    const simulated = await headersOf(own, 'POST', '/v2/transactions/simulate', { ...options, body: '{}' })
    assert.equal(simulated['access-control-allow-origin'], '*')
  })

  test('ask before, without a token, and are told what they may send', async () => {
    const node = new TestNode({ token })
    const ask = async (path: string, headers: { [name: string]: string } = {}) => {
      const answer = await node.call('OPTIONS', path, { headers })
      assert.deepEqual(answer === dropConnection ? answer : [answer.status, answer.text], [204, ''])
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

describe('cheats', () => {
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

  test('are refused to other machines, other names of this one, and pages of others', async () => {
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
        const answer = await node.call(method, path, options)
        const said = answer === dropConnection ? undefined : expectText(answer, 403)
        assert.equal(
          said,
          '{"data":{"hint":"use the address 127.0.0.1, and no web page of another origin"},"message":"cheats are only for programs on this machine"}\n',
          `${method} ${path} ${JSON.stringify(options)}`,
        )
        const headers = await headersOf(node, method, path, options)
        assert.equal(headers['access-control-allow-origin'], undefined)
      }
    }
    assert.deepEqual(node.ledger.last.round, 0n)
  })

  test('are refused without a Host', async () => {
    const node = new TestNode()
    const answer = await node.handle({
      method: 'GET',
      target: '/devnet/state',
      header: () => undefined,
      remoteAddress: () => '127.0.0.1',
      body: () => Buffer.alloc(0),
    })
    assert.equal(answer === dropConnection ? 0 : answer.status, 403)
  })

  test('are for programs on this machine, and for pages served from it at any port', async () => {
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

  test('are not offered to pages of others, when these ask before', async () => {
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

  test('need the token too', async () => {
    const node = new TestNode({ token })
    assert.equal((await node.get('/devnet/state', { headers: { 'x-algo-api-token': wrong } })).status, 401)
    assert.equal((await node.get('/devnet/state', { headers: { 'x-algo-api-token': token } })).status, 200)
    // Who may not cheat at all learns nothing of the token.
    const headers = { 'x-algo-api-token': token, origin: page }
    assert.equal((await node.get('/devnet/state', { headers })).status, 403)
  })
})

describe('what is on its way to disk', () => {
  const ask = (handle: ReturnType<typeof RequestHandler.create>, target = '/v2/status') =>
    handle({ method: 'GET', target, header: () => undefined, body: () => Buffer.alloc(0) })

  test('is told to nobody before it is there', async () => {
    const { node } = new TestNode()
    let synced = () => {}
    const handle = RequestHandler.create({ node, synced: () => new Promise<void>((resolve) => (synced = resolve)) })
    let isAnswered = false
    const answer = Promise.resolve(ask(handle)).then((answered) => {
      isAnswered = true
      return answered
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isAnswered, false)
    synced()
    const answered = await answer
    assert.equal(answered === dropConnection ? 0 : answered.status, 200)
  })

  test('and does not get there is a fault of our own, told where the devnet runs and in no detail to the client', async () => {
    const { node } = new TestNode()
    const errors: unknown[] = []
    const failure = new Error('the disk is full')
    const handle = RequestHandler.create({
      node,
      synced: () => Promise.reject(failure),
      onError: (error) => errors.push(error),
    })
    for (const target of ['/v2/status', '/v2/status/wait-for-block-after/18446744073709551615']) {
      const answer = await ask(handle, target)
      assert.deepEqual(answer === dropConnection ? answer : [answer.status, answer.body], [
        500,
        '{"message":"internal error of the devnet; see its log"}\n',
      ])
    }
    assert.deepEqual(errors, [failure, failure])
  })
})
