import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IndexerNode } from '../testing/IndexerNode.test.helper.js'
import { alice, indexedHistory } from '../testing/indexedHistory.test.helper.js'
import { errorMessageOf } from '../testing/TestNode.test.helper.js'
import * as IndexerHandler from './IndexerHandler.js'

test('if the devnet has no token, any token is accepted', async () => {
  const node = new IndexerNode()
  for (const headers of [{}, { 'x-indexer-api-token': 'a'.repeat(64) }]) {
    assert.equal((await node.ask('/v2/transactions', { headers })).status, 200)
  }
})

test('if the devnet has a token, only that one is accepted, except for the health', async () => {
  const node = new IndexerNode({ token: 'secret' })
  for (const headers of [{}, { 'x-indexer-api-token': 'other' }, { authorization: 'Bearer other' }]) {
    assert.equal(errorMessageOf(await node.ask('/v2/transactions', { headers }), 401), 'Invalid API Token')
  }
  for (const headers of [{ 'x-indexer-api-token': 'secret' }, { authorization: 'Bearer secret' }]) {
    assert.equal((await node.ask('/v2/transactions', { headers })).status, 200)
  }
  assert.equal((await node.ask('/health')).status, 200)
})

test('pages of any origin may use it', async () => {
  const node = new IndexerNode()
  const origin = 'https://lora.example.net'
  const preflight = await node.ask('/v2/transactions', {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-headers': 'x-indexer-api-token' },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.header('access-control-allow-origin'), '*')
  assert.equal(preflight.header('access-control-allow-headers'), 'x-indexer-api-token')
  const response = await node.ask('/v2/transactions', { headers: { origin } })
  assert.equal(response.header('access-control-allow-origin'), '*')
  assert.equal((await node.ask('/v2/transactions')).header('access-control-allow-origin'), undefined)
})

test('unknown paths and methods get the errors of an indexer', async () => {
  const node = new IndexerNode()
  for (const target of ['/', '/v2/nothing', '/v2/accounts/', '/v2/transactions/', '/v2/status', '/devnet']) {
    assert.equal(errorMessageOf(await node.ask(target), 404), 'Not Found', target)
  }
  assert.equal(errorMessageOf(await node.ask('/v2/transactions', { method: 'POST' }), 405), 'Method Not Allowed')
  assert.equal((await node.ask('/v2/accounts/%zz')).status, 400)
  assert.deepEqual(node.errors, [])
})

test('the health is that of an indexer that is not behind', async () => {
  const { node } = await indexedHistory()
  const round = Number(node.ledger.last.round)
  const { version, ...health } = await node.read('/health')
  assert.match(version, /^latchkey-devnet /)
  assert.deepEqual(health, {
    data: { 'migration-required': false, 'oldest-round': 0, 'read-only-mode': true },
    'db-available': true,
    'is-migrating': false,
    message: String(round),
    round,
  })
})

test('there are no applications', async () => {
  const { node } = await indexedHistory()
  const round = Number(node.ledger.last.round)
  assert.deepEqual(await node.read('/v2/applications'), { applications: [], 'current-round': round })
  const account = `/v2/accounts/${alice.address}`
  assert.deepEqual(await node.read(`${account}/created-applications`), { applications: [], 'current-round': round })
  assert.deepEqual(await node.read(`${account}/apps-local-state`), { 'apps-local-states': [], 'current-round': round })
  assert.deepEqual(await node.read('/v2/applications/5/boxes'), { 'application-id': 5, boxes: [], round })
  assert.deepEqual(await node.read('/v2/applications/5/logs'), { 'application-id': 5, 'current-round': round })
  const cases: [target: string, status: number, message: string][] = [
    ['/v2/applications/5', 404, 'no application found for application-id: 5'],
    [
      '/v2/applications/5/box?name=int:1',
      404,
      `no application found for application-id: round=${round}, appid=5, boxName=int:1`,
    ],
    ['/v2/applications/5/box', 400, "Invalid format for parameter name: query parameter 'name' is required"],
    ['/v2/applications?next=x', 400, 'unable to parse next token: strconv.ParseUint: parsing "x": invalid syntax'],
    [
      '/v2/applications/5/logs?sender-address=x',
      400,
      'invalid input: unable to parse address: illegal base32 data at input byte 0',
    ],
  ]
  for (const [target, status, message] of cases) {
    assert.equal(errorMessageOf(await node.ask(target), status), message, target)
  }
})

test('no response is sent before the changes that it shows are on the disk', async () => {
  const { node } = await indexedHistory()
  let release: () => void = () => {}
  const pending = new Promise<void>((resolve) => {
    release = resolve
  })
  const handle = IndexerHandler.create({ ledger: node.ledger, synced: () => pending })
  const request = { method: 'GET', target: '/v2/transactions', header: () => undefined, body: () => Buffer.alloc(0) }
  let isAnswered = false
  const response = Promise.resolve(handle(request)).then((answer) => {
    isAnswered = true
    return answer
  })
  // Longer than the search itself takes.
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isAnswered, false)
  release()
  assert.equal(((await response) as { status: number }).status, 200)
})

test('an internal error is reported but not shown', async () => {
  const { node } = await indexedHistory()
  const errors: unknown[] = []
  const failure = new Error('a secret')
  const handle = IndexerHandler.create({
    ledger: node.ledger,
    synced: () => Promise.reject(failure),
    onError: (error) => errors.push(error),
  })
  const request = { method: 'GET', target: '/health', header: () => undefined, body: () => Buffer.alloc(0) }
  const { status, body } = (await handle(request)) as { status: number; body: string }
  assert.equal(status, 500)
  assert.doesNotMatch(body, /secret/)
  assert.deepEqual(errors, [failure])
})

test('a search ends when its client closes the connection', async () => {
  const node = new IndexerNode()
  const response = await node.indexer({
    method: 'GET',
    target: '/v2/transactions',
    header: () => undefined,
    body: () => Buffer.alloc(0),
    onClose: (listener) => listener(),
  })
  assert.equal((response as { status: number }).status, 503)
  assert.deepEqual(node.errors, [])
})
