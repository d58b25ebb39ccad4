/** Tests responses over real connections, with both transports. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Address } from '@latchkey/algorand'
import { Algod, AlgodError, type AlgodOptions, type Fetch } from './index.js'

const alice = Address.encode(new Uint8Array(32).fill(1))
const bob = Address.encode(new Uint8Array(32).fill(2))

type Reply = string | ((request: IncomingMessage, response: ServerResponse) => void)

type NodeOptions = Partial<AlgodOptions> & { url?: string; token?: string }

const transports: { [name: string]: { fetch?: Fetch } } = {
  'node:http': {},
  fetch: { fetch: (url, init) => fetch(url, init) },
}

/** Starts a server with a reply for each path, and 404 for others. */
async function listen(t: TestContext, replies: { [path: string]: Reply }, transport: { fetch?: Fetch } = {}) {
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
  const node = ({ url: address = url, token, ...options }: NodeOptions = {}): Algod => {
    const algod = new Algod({ nodes: [{ url: address, token }], ...transport, ...options })
    t.after(() => algod.close())
    return algod
  }
  return { url, port, seen, replies, node, open, close, sockets }
}

const hash = Buffer.alloc(32, 1).toString('base64')
const otherHash = Buffer.alloc(32, 2).toString('base64')
const fees = { 'min-fee': 1000, fee: 0 }
const params = (round: number, genesisHash = hash): string =>
  JSON.stringify({ 'genesis-id': 'dev-v1', 'genesis-hash': genesisHash, 'last-round': round, ...fees })
const asset = (decimals: number, unit?: string): string =>
  JSON.stringify({ index: 1, params: { decimals, 'unit-name': unit, total: 1 } })
const account = (members: object): string => JSON.stringify({ amount: 5, 'min-balance': 1, ...members })

test('parameters are requested with the token of the node', async (t) => {
  const { node, seen } = await listen(t, { '/v2/transactions/params': params(12) })
  assert.deepEqual(await node({ token: 'secret' }).parameters(), {
    genesisId: 'dev-v1',
    genesisHash: new Uint8Array(32).fill(1),
    lastRound: 12n,
    minFee: 1000n,
    feePerByte: 0n,
  })
  assert.equal(seen[0]!.headers['x-algo-api-token'], 'secret')
  await node().parameters()
  assert.equal(seen[1]!.headers['x-algo-api-token'], undefined)
})

test('a path of the URL is prepended to the paths of the API', async (t) => {
  const { node, url } = await listen(t, { '/ps2/v2/transactions/params': params(1) })
  for (const path of ['/ps2', '/ps2/']) assert.equal((await node({ url: url + path }).parameters()).lastRound, 1n)
})

test('64-bit amounts are exact', async (t) => {
  const whole = `{"amount":18446744073709551615,"min-balance":300000,"auth-addr":"${bob}","total-assets-opted-in":2,
    "assets":[{"asset-id":9007199254740993,"amount":18446744073709551614,"is-frozen":true},
              {"asset-id":7,"amount":0,"is-frozen":false}]}`
  const { node } = await listen(t, { [`/v2/accounts/${alice}`]: whole })
  assert.deepEqual(await node().accountWithHoldings(alice), {
    microAlgos: 2n ** 64n - 1n,
    minBalance: 300_000n,
    authAddress: bob,
    holdings: [
      { assetId: 9007199254740993n, amount: 2n ** 64n - 2n, isFrozen: true },
      { assetId: 7n, amount: 0n, isFrozen: false },
    ],
    holdingCount: 2,
  })
})

test('an account that was rekeyed to itself has no auth address', async (t) => {
  const { node } = await listen(t, { [`/v2/accounts/${alice}`]: account({ 'auth-addr': alice }) })
  assert.equal((await node().accountWithHoldings(alice)).authAddress, undefined)
})

test('at most 200 holdings are listed, and the rest is counted', async (t) => {
  const assets = Array.from({ length: 250 }, (_, id) => ({ 'asset-id': id + 1, amount: 1 }))
  const { node } = await listen(t, { [`/v2/accounts/${alice}`]: account({ assets, 'total-assets-opted-in': 250 }) })
  const { holdings, holdingCount } = await node().accountWithHoldings(alice)
  assert.deepEqual([holdings.length, holdingCount], [200, 250])
})

test('an account whose response would be too long is read without its assets', async (t) => {
  const path = `/v2/accounts/${alice}`
  const short = account({ 'total-assets-opted-in': 100_001 })
  const { node, replies } = await listen(t, {
    [path]: (_, response) => response.writeHead(400).end('{"message":"Result limit exceeded"}'),
    [`${path}?exclude=all`]: short,
  })
  const expected = { microAlgos: 5n, minBalance: 1n, authAddress: undefined, holdings: [], holdingCount: 100_001 }
  assert.deepEqual(await node().accountWithHoldings(alice), expected)
  replies[path] = ' '.repeat(2_000)
  assert.deepEqual(await node({ maxResponseBytes: 1_000 }).accountWithHoldings(alice), expected)
})

const unnamed = { name: undefined, creator: undefined, isFrozenByDefault: false }

test('an asset is requested once', async (t) => {
  const { node, seen } = await listen(t, { '/v2/assets/7': asset(6, 'USDC'), '/v2/assets/8': asset(0) })
  const algod = node()
  const [one, two] = await Promise.all([algod.asset(7n), algod.asset(7n)])
  assert.deepEqual([one, two, await algod.asset(7n)], Array(3).fill({ decimals: 6, unitName: 'USDC', ...unnamed }))
  assert.deepEqual(await algod.asset(8n), { decimals: 0, unitName: undefined, ...unnamed })
  assert.deepEqual(
    seen.map(({ path }) => path),
    ['/v2/assets/7', '/v2/assets/8'],
  )
})

test('an asset that does not exist, or whose request failed, is requested again', async (t) => {
  const { node, replies } = await listen(t, {})
  const algod = node()
  assert.equal(await algod.asset(7n), undefined)
  replies['/v2/assets/7'] = (_, response) => response.writeHead(500).end()
  await assert.rejects(algod.asset(7n), { code: 'unexpected_status' })
  replies['/v2/assets/7'] = asset(3, 'X')
  assert.deepEqual(await algod.asset(7n), { decimals: 3, unitName: 'X', ...unnamed })
})

test('assets are requested again after the ledger was reset or replaced', async (t) => {
  const { node, replies } = await listen(t, { '/v2/assets/7': asset(1, 'A') })
  const algod = node()
  for (const [unit, status, isNew] of [
    ['A', params(10), true],
    ['B', params(10), false],
    ['C', params(11), false],
    ['D', params(3), true],
    ['E', params(3, otherHash), true],
  ] as const) {
    const before = (await algod.asset(7n))?.unitName
    replies['/v2/transactions/params'] = status
    replies['/v2/assets/7'] = asset(1, unit)
    await algod.parameters()
    assert.equal((await algod.asset(7n))?.unitName, isNew ? unit : before)
  }
})

const id = 'A'.repeat(52)
const states: [reply: string | undefined, expected: object][] = [
  ['{"confirmed-round":7,"pool-error":"","txn":{}}', { type: 'confirmed', round: 7n }],
  ['{"pool-error":"","txn":{}}', { type: 'pending' }],
  ['{"confirmed-round":0,"txn":{}}', { type: 'pending' }],
  ['{"pool-error":"overspend","txn":{}}', { type: 'dropped', reason: 'overspend' }],
  [undefined, { type: 'unknown' }],
]
for (const [reply, expected] of states) {
  test(`a transaction with the response ${reply} is ${Object.values(expected)[0]}`, async (t) => {
    const { node } = await listen(t, reply === undefined ? {} : { [`/v2/transactions/pending/${id}`]: reply })
    assert.deepEqual(await node().transaction(id), expected)
  })
}

const notNodes: { [what: string]: Reply } = {
  'a page': '<!doctype html>',
  'a list': '[]',
  'no round': JSON.stringify({ 'genesis-id': 'a', 'genesis-hash': hash, ...fees }),
  'a negative round': params(-1),
  'a round as text': params(1).replace(':1,', ':"1",'),
  'a round beyond the safe integers': params(1).replace(':1,', ':18446744073709551615,'),
  'an endless name': params(1).replace('dev-v1', 'x'.repeat(1000)),
  'a short genesis hash': params(1, 'hash='),
  nothing: '',
}
for (const [what, reply] of Object.entries(notNodes)) {
  test(`${what} is not a response of a node`, async (t) => {
    const { node, url } = await listen(t, { '/v2/transactions/params': reply })
    const message = `the server at ${url} is not an Algorand node`
    await assert.rejects(node().parameters(), { name: 'AlgodError', code: 'not_a_node', message })
  })
}

test('invalid accounts and assets are refused', async (t) => {
  const path = `/v2/accounts/${alice}`
  const { node, replies } = await listen(t, {})
  for (const wrong of [
    ...[account({ amount: -1 }), account({ 'auth-addr': 'x' }), account({ assets: {} }), account({ assets: [1] })],
    ...[account({ assets: [{ 'asset-id': 1 }] }), account({ 'auth-addr': 5 })],
  ]) {
    replies[path] = wrong
    await assert.rejects(node().accountWithHoldings(alice), /is not an Algorand node/, wrong)
  }
  for (const wrong of ['{}', asset(20), asset(-1), '{"params":[]}']) {
    replies['/v2/assets/7'] = wrong
    await assert.rejects(node().asset(7n), /is not an Algorand node/, wrong)
  }
})

test('a failure has the text of the node, and a refused token has its own code', async (t) => {
  const { node, url, replies } = await listen(t, {})
  const status = (code: number, body: string): void => {
    replies['/v2/transactions/params'] = (_, response) => response.writeHead(code).end(body)
  }
  status(503, '{"message":"catching up"}')
  await assert.rejects(node().parameters(), { message: `the node at ${url} returned status 503: catching up` })
  status(500, 'x')
  await assert.rejects(node().parameters(), { message: `the node at ${url} returned status 500` })
  status(401, '{"message":"Invalid API Token"}')
  await assert.rejects(node({ token: 'wrong' }).parameters(), (error: AlgodError) => {
    assert.equal(error.code, 'refused_token')
    assert.match(error.message, /does not accept the token \(status 401\)$/)
    assert.doesNotMatch(error.message, /wrong/)
    return true
  })
})

for (const [name, transport] of Object.entries(transports)) {
  test(`redirects are not followed over ${name}`, async (t) => {
    const { node, url, replies, seen } = await listen(t, { '/elsewhere': params(1) }, transport)
    replies['/v2/transactions/params'] = (_, response) =>
      response.writeHead(302, { location: `${url}/elsewhere` }).end()
    await assert.rejects(node().parameters(), { code: 'redirected', message: /returned status 302/ })
    assert.equal(seen.length, 1)
  })

  test(`a response that is late, at its start or in the middle, times out over ${name}`, async (t) => {
    const { node, replies } = await listen(t, {}, transport)
    const stalls: Reply[] = [() => {}, (_, response) => void response.write('{"genesis-id":')]
    for (const stall of stalls) {
      replies['/v2/transactions/params'] = stall
      await assert.rejects(node({ timeoutMs: 50 }).parameters(), {
        code: 'timeout',
        message: /did not respond within 50 ms$/,
      })
    }
  })

  test(`a response that is too long is cut off over ${name}`, async (t) => {
    const endless = (_: IncomingMessage, response: ServerResponse): void => {
      const write = (): void => {
        while (!response.destroyed && response.write(' '.repeat(10_000)));
      }
      response.on('drain', write)
      write()
    }
    const { node } = await listen(t, { '/v2/transactions/params': endless }, transport)
    await assert.rejects(node().parameters(), { code: 'too_large' })
  })

  test(`a truncated response is a failure over ${name}`, async (t) => {
    const broken: Reply = (request, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write('{"genesis-id":')
      setImmediate(() => request.socket.destroy())
    }
    const { node } = await listen(t, { '/v2/transactions/params': broken }, transport)
    await assert.rejects(node().parameters(), {
      code: 'unreachable',
      message: /cannot be reached \((ECONNRESET|UND_ERR_SOCKET)\)/,
    })
  })

  test(`a node that is down is named, and used again when it is back, over ${name}`, async (t) => {
    const { node, url, port, open, close } = await listen(t, { '/v2/transactions/params': params(1) }, transport)
    const algod = node()
    await algod.parameters()
    await close()
    const message = `the node at ${url} cannot be reached (ECONNREFUSED)`
    await assert.rejects(algod.parameters(), { code: 'unreachable', message })
    await open(port)
    assert.equal((await algod.parameters()).lastRound, 1n)
  })
}

test('a request is repeated on a new connection if the node has closed the idle one', async (t) => {
  let answered = 0
  const hangUp: Reply = (request, response) => {
    if (answered++ === 1) request.socket.destroy()
    else response.end(params(answered))
  }
  const { node } = await listen(t, { '/v2/transactions/params': hangUp })
  const algod = node()
  assert.equal((await algod.parameters()).lastRound, 1n)
  assert.equal((await algod.parameters()).lastRound, 3n)
})

test('invalid addresses and tokens are refused without being quoted', () => {
  const create = (url: string, token?: string): Algod => new Algod({ nodes: [{ url, token }] })
  const invalid = { name: 'AlgodError', code: 'invalid_options' }
  for (const url of ['', 'node', '127.0.0.1:8080', 'ftp://node', 'file:///etc']) {
    assert.throws(() => create(url), { ...invalid, message: 'the node must be an http or https URL' }, url)
  }
  for (const url of ['http://me:secret@node', 'http://secret@node', 'http://node/?key=secret', 'http://node/#secret']) {
    assert.throws(
      () => create(url),
      (error) => error instanceof AlgodError && error.code === 'invalid_options' && !error.message.includes('secret'),
    )
  }
  assert.throws(() => create('http://node', 'a\r\nb'), invalid)
  create('https://node.example/')
  create('http://[::1]:8080/x')
})
