import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Address } from '@latchkey/algorand'
import { Node, NodeError, type NodeOptions, SettingError } from './Node.js'

const alice = Address.encode(new Uint8Array(32).fill(1))
const bob = Address.encode(new Uint8Array(32).fill(2))

type Reply = string | ((request: IncomingMessage, response: ServerResponse) => void)

/** Something that listens and answers each path as told; 404 otherwise. */
async function listen(t: TestContext, replies: { [path: string]: Reply }) {
  const seen: { path: string; headers: IncomingMessage['headers'] }[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    seen.push({ path: request.url!, headers: request.headers })
    const reply = replies[request.url!]
    if (typeof reply === 'function') reply(request, response)
    else if (reply === undefined) response.writeHead(404).end('{"message":"not found"}')
    else response.end(reply)
  })
  server.on('connection', (socket) => sockets.add(socket))
  const open = async (port = 0): Promise<void> => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  }
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await open()
  t.after(close)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const node = (options: Partial<NodeOptions> = {}): Node => {
    const made = new Node({ url, ...options })
    t.after(() => made.close())
    return made
  }
  return { url, port, seen, replies, node, open, close, sockets }
}

const params = (round: number, hash = 'hash='): string =>
  JSON.stringify({ 'genesis-id': 'dev-v1', 'genesis-hash': hash, 'last-round': round })
const asset = (decimals: number, unit?: string): string =>
  JSON.stringify({ index: 1, params: { decimals, 'unit-name': unit, total: 1 } })
const account = (members: object): string => JSON.stringify({ amount: 5, 'min-balance': 1, ...members })

test('the status of a node, with the token it asks for', async (t) => {
  const { node, seen } = await listen(t, { '/v2/transactions/params': params(12) })
  const status = await node({ token: 'secret' }).status()
  assert.deepEqual(status, { genesisId: 'dev-v1', genesisHash: 'hash=', lastRound: 12 })
  assert.equal(seen[0]!.headers['x-algo-api-token'], 'secret')
  await node().status()
  assert.equal(seen[1]!.headers['x-algo-api-token'], undefined)
})

test('a path of the address comes before those of the API', async (t) => {
  const { node, url } = await listen(t, { '/ps2/v2/transactions/params': params(1) })
  for (const path of ['/ps2', '/ps2/']) assert.equal((await node({ url: url + path }).status()).lastRound, 1)
})

test('an account is read to the last microAlgo', async (t) => {
  const whole = `{"amount":18446744073709551615,"min-balance":300000,"auth-addr":"${bob}","total-assets-opted-in":2,
    "assets":[{"asset-id":9007199254740993,"amount":18446744073709551614,"is-frozen":true},
              {"asset-id":7,"amount":0,"is-frozen":false}]}`
  const { node } = await listen(t, { [`/v2/accounts/${alice}`]: whole })
  assert.deepEqual(await node().account(alice), {
    microAlgos: 2n ** 64n - 1n,
    minMicroAlgos: 300_000n,
    rekeyedTo: bob,
    holdings: [
      { assetId: 9007199254740993n, amount: 2n ** 64n - 2n, isFrozen: true },
      { assetId: 7n, amount: 0n, isFrozen: false },
    ],
    holdingCount: 2,
  })
})

test('an account that was rekeyed to itself was not', async (t) => {
  const { node } = await listen(t, { [`/v2/accounts/${alice}`]: account({ 'auth-addr': alice }) })
  assert.equal((await node().account(alice)).rekeyedTo, '')
})

test('of an account that holds very much, so many assets are told and the rest counted', async (t) => {
  const assets = Array.from({ length: 250 }, (_, id) => ({ 'asset-id': id + 1, amount: 1 }))
  const { node } = await listen(t, { [`/v2/accounts/${alice}`]: account({ assets, 'total-assets-opted-in': 250 }) })
  const { holdings, holdingCount } = await node().account(alice)
  assert.deepEqual([holdings.length, holdingCount], [200, 250])
})

test('an account whose answer would be too long is asked for without its assets', async (t) => {
  const path = `/v2/accounts/${alice}`
  const short = account({ 'total-assets-opted-in': 100_001 })
  const { node, replies } = await listen(t, {
    [path]: (_, response) => response.writeHead(400).end('{"message":"Result limit exceeded"}'),
    [`${path}?exclude=all`]: short,
  })
  const expected = { microAlgos: 5n, minMicroAlgos: 1n, rekeyedTo: '', holdings: [], holdingCount: 100_001 }
  assert.deepEqual(await node().account(alice), expected)
  replies[path] = ' '.repeat(2_000)
  assert.deepEqual(await node({ maxAnswerBytes: 1_000 }).account(alice), expected)
})

test('parameters of an asset are asked for once', async (t) => {
  const { node, seen } = await listen(t, { '/v2/assets/7': asset(6, 'USDC'), '/v2/assets/8': asset(0) })
  const asked = node()
  const [one, two] = await Promise.all([asked.asset(7n), asked.asset(7n)])
  assert.deepEqual([one, two, await asked.asset(7n)], Array(3).fill({ decimals: 6, unitName: 'USDC' }))
  assert.deepEqual(await asked.asset(8n), { decimals: 0, unitName: '' })
  assert.deepEqual(
    seen.map(({ path }) => path),
    ['/v2/assets/7', '/v2/assets/8'],
  )
})

test('an asset that is not there, or was not told, is asked for again', async (t) => {
  const { node, replies } = await listen(t, {})
  const asked = node()
  assert.deepEqual(await asked.asset(7n), { decimals: 0, unitName: '' })
  replies['/v2/assets/7'] = (_, response) => response.writeHead(500).end()
  await assert.rejects(asked.asset(7n), NodeError)
  replies['/v2/assets/7'] = asset(3, 'X')
  assert.deepEqual(await asked.asset(7n), { decimals: 3, unitName: 'X' })
})

test('assets of a ledger that was put back, or of another one, are asked for again', async (t) => {
  const { node, replies } = await listen(t, { '/v2/assets/7': asset(1, 'A') })
  const asked = node()
  for (const [unit, status, isNew] of [
    ['A', params(10), true],
    ['B', params(10), false],
    ['C', params(11), false],
    ['D', params(3), true],
    ['E', params(3, 'other='), true],
  ] as const) {
    const before = (await asked.asset(7n)).unitName
    replies['/v2/transactions/params'] = status
    replies['/v2/assets/7'] = asset(1, unit)
    await asked.status()
    assert.equal((await asked.asset(7n)).unitName, isNew ? unit : before)
  }
})

const id = 'A'.repeat(52)
const states: [answer: string | undefined, expected: object][] = [
  ['{"confirmed-round":7,"pool-error":"","txn":{}}', { state: 'confirmed', round: 7 }],
  ['{"pool-error":"","txn":{}}', { state: 'pending', round: 0 }],
  ['{"confirmed-round":0,"txn":{}}', { state: 'pending', round: 0 }],
  ['{"pool-error":"overspend","txn":{}}', { state: 'unknown', round: 0 }],
  [undefined, { state: 'unknown', round: 0 }],
]
for (const [answer, expected] of states) {
  test(`a transaction answered with ${answer} is ${JSON.stringify(expected)}`, async (t) => {
    const { node } = await listen(t, answer === undefined ? {} : { [`/v2/transactions/pending/${id}`]: answer })
    assert.deepEqual(await node().transaction(id), expected)
  })
}

const notNodes: { [what: string]: Reply } = {
  'a page': '<!doctype html>',
  'a list': '[]',
  'no round': '{"genesis-id":"a","genesis-hash":"b"}',
  'a negative round': params(-1),
  'a round as text': '{"genesis-id":"a","genesis-hash":"b","last-round":"1"}',
  'a round past counting': '{"genesis-id":"a","genesis-hash":"b","last-round":18446744073709551615}',
  'an endless name': JSON.stringify({ 'genesis-id': 'x'.repeat(1000), 'genesis-hash': 'b', 'last-round': 1 }),
  nothing: '',
}
for (const [what, reply] of Object.entries(notNodes)) {
  test(`${what} is no answer of a node`, async (t) => {
    const { node, url } = await listen(t, { '/v2/transactions/params': reply })
    const message = `what answers at ${url} is not an Algorand node; check the address`
    await assert.rejects(node().status(), { name: 'Node.NodeError', message })
  })
}

test('nonsense in accounts and assets is refused', async (t) => {
  const path = `/v2/accounts/${alice}`
  const { node, replies } = await listen(t, {})
  for (const wrong of [
    ...[account({ amount: -1 }), account({ 'auth-addr': 'x' }), account({ assets: {} }), account({ assets: [1] })],
    ...[account({ assets: [{ 'asset-id': 1 }] }), account({ 'auth-addr': 5 })],
  ]) {
    replies[path] = wrong
    await assert.rejects(node().account(alice), /is not an Algorand node/, wrong)
  }
  for (const wrong of ['{}', asset(20), asset(-1), '{"params":[]}']) {
    replies['/v2/assets/7'] = wrong
    await assert.rejects(node().asset(7n), /is not an Algorand node/, wrong)
  }
})

test('a refusal is told in the words of the node, and one of the token as that', async (t) => {
  const { node, url, replies } = await listen(t, {})
  const status = (code: number, body: string): void => {
    replies['/v2/transactions/params'] = (_, response) => response.writeHead(code).end(body)
  }
  status(503, '{"message":"catching up"}')
  await assert.rejects(node().status(), { message: `the node at ${url} answered with status 503: catching up` })
  status(500, 'x')
  await assert.rejects(node().status(), { message: `the node at ${url} answered with status 500` })
  status(401, '{"message":"Invalid API Token"}')
  await assert.rejects(node({ token: 'wrong' }).status(), (error: Error) => {
    assert.match(error.message, /refuses the token \(status 401\); set the one in its algod\.token$/)
    assert.doesNotMatch(error.message, /wrong/)
    return true
  })
})

test('redirects are not followed', async (t) => {
  const { node, url, replies, seen } = await listen(t, { '/elsewhere': params(1) })
  replies['/v2/transactions/params'] = (_, response) => response.writeHead(302, { location: `${url}/elsewhere` }).end()
  await assert.rejects(node().status(), /answered with status 302/)
  assert.equal(seen.length, 1)
})

test('an answer that takes too long, at its start or in its middle, is none', async (t) => {
  const { node, replies } = await listen(t, {})
  const stalls: Reply[] = [() => {}, (_, response) => void response.write('{"genesis-id":')]
  for (const stall of stalls) {
    replies['/v2/transactions/params'] = stall
    await assert.rejects(node({ timeoutMs: 50 }).status(), /did not answer within 50 ms; see whether it runs/)
  }
})

test('an answer that is too long is given up on', async (t) => {
  const endless = (_: IncomingMessage, response: ServerResponse): void => {
    const write = (): void => {
      while (!response.destroyed && response.write(' '.repeat(10_000)));
    }
    response.on('drain', write)
    write()
  }
  const { node } = await listen(t, { '/v2/transactions/params': endless })
  await assert.rejects(node().status(), /sends an answer that is too long/)
})

test('an answer that breaks off is none', async (t) => {
  const broken: Reply = (request, response) => {
    response.writeHead(200, { 'content-length': 1000 }).write('{"genesis-id":')
    setImmediate(() => request.socket.destroy())
  }
  const { node } = await listen(t, { '/v2/transactions/params': broken })
  await assert.rejects(node().status(), /cannot be reached \(ECONNRESET\)/)
})

test('a node that is down is named, and asked again when it is back', async (t) => {
  const { node, url, port, open, close } = await listen(t, { '/v2/transactions/params': params(1) })
  const asked = node()
  await asked.status()
  await close()
  const message = `the node at ${url} cannot be reached (ECONNREFUSED); see whether it runs, and whether this is its address`
  await assert.rejects(asked.status(), { message })
  await open(port)
  assert.equal((await asked.status()).lastRound, 1)
})

test('a connection that the node has ended meanwhile is no failure', async (t) => {
  let answered = 0
  const hangUp: Reply = (request, response) => {
    // The second question of a connection finds it ended.
    if (answered++ === 1) request.socket.destroy()
    else response.end(params(answered))
  }
  const { node } = await listen(t, { '/v2/transactions/params': hangUp })
  const asked = node()
  assert.equal((await asked.status()).lastRound, 1)
  assert.equal((await asked.status()).lastRound, 3)
})

test('addresses that are none are refused without being repeated', () => {
  for (const url of ['', 'node', '127.0.0.1:8080', 'ftp://node', 'file:///etc']) {
    assert.throws(() => new Node({ url }), /^Node.SettingError: the node must be an http or https URL$/, url)
  }
  for (const url of ['http://me:secret@node', 'http://secret@node', 'http://node/?key=secret', 'http://node/#secret']) {
    assert.throws(
      () => new Node({ url }),
      (error) => error instanceof SettingError && !error.message.includes('secret'),
    )
  }
  assert.throws(() => new Node({ url: 'http://node', token: 'a\r\nb' }), SettingError)
  assert.equal(new Node({ url: 'https://node.example/' }).name, 'https://node.example')
  assert.equal(new Node({ url: 'http://[::1]:8080/x' }).name, 'http://[::1]:8080/x')
})
