import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Address } from '@latchkey/algorand'
import { FakeNode, type FakeResponse, missing, ok, refused } from './FakeNode.test.helper.js'
import { Algod, AlgodError, type AlgodErrorCode } from './index.js'

const id = 'A'.repeat(52)
const group = [Uint8Array.of(1, 2), Uint8Array.of(3)]

function algodOf(...nodes: FakeNode[]): Algod {
  return new Algod({
    nodes: nodes.map((_, index) => ({ url: `http://node${index}/` })),
    timeoutMs: 100,
    fetch: (input, init) => nodes[Number(new URL(String(input)).hostname.slice(4))]!.fetch(String(input), init ?? {}),
  })
}

/** Two nodes, the first of which returns one response to everything. */
function withBad(response: FakeResponse): { algod: Algod; bad: FakeNode; good: FakeNode } {
  const [bad, good] = [new FakeNode(), new FakeNode()]
  for (const kind of ['GET params', 'GET status', 'POST simulate', 'POST submit', 'GET pending']) {
    bad.on(kind, () => response)
  }
  return { algod: algodOf(bad, good), bad, good }
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a network needs a node', () => {
  assert.throws(() => new Algod({ nodes: [] }), { name: 'AlgodError', code: 'invalid_options' })
})

for (const [what, response, code] of [
  ['answers 500', { status: 500, body: {} }, 'unexpected_status'],
  ['is overloaded', { status: 429, body: {} }, 'unexpected_status'],
  ['wants another token', { status: 401, body: {} }, 'refused_token'],
  ['is a proxy that says forbidden', { status: 403, body: 'no' }, 'refused_token'],
  ['is a proxy that says 400 with a page', { status: 400, body: '<html>' }, 'unexpected_status'],
  ['is a page', { status: 200, body: '<html>' }, 'not_a_node'],
  ['closes the connection', 'drop', 'unreachable'],
  ['does not listen', 'refuse', 'unreachable'],
  ['does not answer', 'hang', 'timeout'],
] as const satisfies [string, FakeResponse, AlgodErrorCode][]) {
  test(`a node that ${what} is skipped, and rests`, async () => {
    const { algod, bad, good } = withBad(response)
    assert.equal(await algod.lastRound(), 100n)
    assert.equal(await algod.lastRound(), 100n)
    assert.deepEqual([bad.requests.length, good.requests.length], [1, 2])
    await assert.rejects(algodOf(bad).lastRound(), { name: 'AlgodError', code })
  })
}

test('a resting node is used if there is no other, and is back once it answers', async () => {
  const node = new FakeNode()
  node.on('GET status', () => 'drop')
  const algod = algodOf(node)
  await assert.rejects(algod.lastRound(), AlgodError)
  node.on('GET status', () => ok({ 'last-round': 7 }))
  assert.equal(await algod.lastRound(), 7n)
})

test('requests beyond the limit are refused immediately', async () => {
  const node = new FakeNode()
  node.on('GET status', () => 'hang')
  const algod = new Algod({ nodes: [{ url: 'http://n' }], timeoutMs: 50, maxWaiting: 2, fetch: node.fetch })
  const waiting = [algod.lastRound(), algod.lastRound()]
  await assert.rejects(algod.lastRound(), { code: 'too_many_waiting', mayHaveArrived: false })
  for (const request of waiting) await assert.rejects(request, { code: 'timeout' })
  node.on('GET status', () => ok({ 'last-round': 1 }))
  assert.equal(await algod.lastRound(), 1n)
})

test('a submission is accepted, or refused with the text of the node and a code', async () => {
  const node = new FakeNode()
  const algod = algodOf(node)
  assert.deepEqual(await algod.submit(group), { type: 'accepted' })
  assert.deepEqual(node.submitted, [Buffer.of(1, 2, 3)])
  node.on('POST submit', () => refused('overspend'))
  assert.deepEqual(await algod.submit(group), {
    type: 'refused',
    reason: 'overspend',
    code: 'other',
    isAmbiguous: false,
  })
  node.on('POST submit', () => refused('x'.repeat(10_000)))
  assert.equal(((await algod.submit(group)) as { reason: string }).reason.length, 500)
})

for (const [what, response, isAmbiguous] of [
  ['5xx', { status: 502, body: {} }, true],
  ['a lost response', 'drop', true],
  ['a time-out', 'hang', true],
  ['a refused connection', 'refuse', false],
  ['too many requests', { status: 429, body: {} }, false],
  ['a proxy that knows no such path', { status: 404, body: {} }, false],
] as const) {
  test(`after ${what}, a refusal by the next node is ${isAmbiguous ? 'ambiguous' : 'certain'}`, async () => {
    const { algod, good } = withBad(response)
    const reason = 'TransactionPool.Remember: transaction already in ledger: X'
    good.on('POST submit', () => refused(reason))
    const expected = { type: 'refused', reason, code: 'already_in_ledger', isAmbiguous }
    assert.deepEqual(await algod.submit(group), expected)
  })

  test(`after ${what} by every node, a submission is unanswered`, async () => {
    const { bad } = withBad(response)
    const result = await algodOf(bad).submit(group)
    assert.deepEqual([result.type, 'isAmbiguous' in result && result.isAmbiguous], ['unanswered', isAmbiguous])
  })
}

test('a transaction is confirmed, pending, dropped or unknown', async () => {
  const node = new FakeNode()
  const algod = algodOf(node)
  assert.deepEqual(await algod.transaction(id), { type: 'unknown' })
  const answers = [
    [
      { 'pool-error': '', 'confirmed-round': 5 },
      { type: 'confirmed', round: 5n },
    ],
    [{ 'pool-error': '', 'confirmed-round': 0 }, { type: 'pending' }],
    [{ 'pool-error': '' }, { type: 'pending' }],
    [{ 'pool-error': 'overspend' }, { type: 'dropped', reason: 'overspend' }],
  ] as const
  for (const [body, state] of answers) {
    node.on('GET pending', () => ok(body))
    assert.deepEqual(await algod.transaction(id), state)
  }
})

test('a transaction that is unknown to one node is looked up on the next; the most certain answer counts', async () => {
  const nodes = [new FakeNode(), new FakeNode(), new FakeNode()]
  const [first, second, third] = nodes as [FakeNode, FakeNode, FakeNode]
  const algod = algodOf(...nodes)
  const answers = (...bodies: (object | undefined)[]): void => {
    for (const [index, body] of bodies.entries()) {
      nodes[index]!.on('GET pending', () => (body === undefined ? missing : ok(body)))
    }
  }
  const [pending, dropped, confirmed] = [{ 'pool-error': '' }, { 'pool-error': 'overspend' }, { 'confirmed-round': 7 }]
  answers(undefined, dropped, confirmed)
  assert.deepEqual(await algod.transaction(id), { type: 'confirmed', round: 7n })
  answers(undefined, dropped, undefined)
  assert.equal((await algod.transaction(id)).type, 'dropped')
  answers(pending, confirmed, undefined)
  assert.equal((await algod.transaction(id)).type, 'pending')
  assert.equal((await algod.transaction(id, { untilConfirmed: true })).type, 'confirmed')
  assert.equal(third.count('GET pending'), 2, 'not asked after the answer')
  second.on('GET pending', () => 'drop')
  answers(undefined)
  assert.equal((await algod.transaction(id)).type, 'unknown', 'one that says so is enough')
  const before = second.count('GET pending')
  assert.equal((await algod.transaction(id)).type, 'unknown')
  assert.equal(second.count('GET pending'), before, 'one that failed lately is left out')
  for (const node of nodes) node.on('GET pending', () => 'drop')
  await assert.rejects(algod.transaction(id), { code: 'unreachable' })
  assert.ok(first.count('GET pending') > 0)
})

test('with toAll, a group goes to every node, and an acceptance counts', async () => {
  const [first, second, third] = [new FakeNode(), new FakeNode(), new FakeNode()]
  second.on('POST submit', () => refused('overspend'))
  third.on('POST submit', () => 'drop')
  const algod = algodOf(first, second, third)
  assert.deepEqual(await algod.submit(group), { type: 'accepted' })
  assert.deepEqual([second.count('POST submit'), third.count('POST submit')], [0, 0])
  assert.deepEqual(await algod.submit(group, { toAll: true }), { type: 'accepted' })
  assert.deepEqual(
    [first, second, third].map((node) => node.count('POST submit')),
    [2, 1, 1],
  )
  first.on('POST submit', () => refused('overspend'))
  assert.equal((await algod.submit(group, { toAll: true })).type, 'refused')
})

test('a simulation returns why and where the group fails, also if the node rejects the request', async () => {
  const node = new FakeNode()
  const algod = algodOf(node)
  assert.equal(await algod.simulate(group), undefined)
  node.on('POST simulate', () => ok({ 'txn-groups': [{ 'failure-message': 'overspend', 'failed-at': [1] }] }))
  assert.deepEqual(await algod.simulate(group), { message: 'overspend', code: 'other', failedAt: 1 })
  node.on('POST simulate', () => refused('malformed'))
  assert.deepEqual(await algod.simulate(group), { message: 'malformed', code: 'other', failedAt: undefined })
  node.on('POST simulate', () => missing)
  await assert.rejects(algod.simulate(group), AlgodError)
})

test('a block that one node no longer has is read from the next', async () => {
  const [young, archive] = [new FakeNode(), new FakeNode()]
  young.on('GET block', () => missing)
  archive.on('GET block', () => ok({ blockTxids: [id] }))
  const algod = algodOf(young, archive)
  assert.equal(await algod.isInBlock(id, 5n), true)
  assert.equal(await algod.isInBlock('B', 5n), false)
  await assert.rejects(algodOf(young).isInBlock(id, 5n), { code: 'not_found' })
})

test('integers beyond the safe integers are exact', async () => {
  const node = new FakeNode()
  node.on('GET account', () => ({
    status: 200,
    body: '{"amount":18446744073709551615,"min-balance":100000,"s":"12345678901234567890"}',
  }))
  assert.equal((await algodOf(node).account(id)).microAlgos, 2n ** 64n - 1n)
})

for (const body of ['', '[]', 'null', '{"last-round":-1}', '{"last-round":1.5}', '{"last-round":"x"}', '{}', '"\\"']) {
  test(`${JSON.stringify(body)} is not a response of a node`, async () => {
    const node = new FakeNode()
    node.on('GET status', () => ({ status: 200, body }))
    await assert.rejects(algodOf(node).lastRound(), { code: 'not_a_node' })
  })
}

test('the auth address of an account is the one it was rekeyed to', async () => {
  const node = new FakeNode()
  const [own, other] = [7, 8].map((byte) => Address.encode(new Uint8Array(32).fill(byte)))
  const account = (authAddress: unknown) => {
    node.on('GET account', () => ok({ amount: 1, 'min-balance': 0, 'auth-addr': authAddress }))
    return algodOf(node).account(own!)
  }
  assert.equal((await account(other)).authAddress, other)
  for (const none of [undefined, '', own]) assert.equal((await account(none)).authAddress, undefined)
  for (const wrong of [own!.slice(1), 5]) await assert.rejects(account(wrong), { code: 'not_a_node' })
})

test('the token is sent, but not to the target of a redirect', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await serve(t, (request, response) => {
    seen.push(request.headers['x-algo-api-token'] as string | undefined)
    if (request.url === '/v2/status') response.writeHead(307, { Location: '/elsewhere' }).end()
    else response.end('{"last-round":1}')
  })
  const algod = new Algod({ nodes: [{ url, token: 'secret' }] })
  await assert.rejects(algod.lastRound(), { code: 'redirected' })
  assert.deepEqual(seen, ['secret'])
})

test('an endless response is cut off, and a slow one too', async (t) => {
  let sent = 0
  const url = await serve(t, (request, response) => {
    if (request.url !== '/v2/status') return void response.write('{')
    const piece = Buffer.alloc(256 * 1024, 32)
    const more = (): void => {
      sent += piece.length
      if (!response.destroyed) response.write(piece, () => setImmediate(more))
    }
    more()
  })
  const algod = new Algod({ nodes: [{ url }], timeoutMs: 3_000 })
  await assert.rejects(algod.lastRound(), { code: 'too_large' })
  assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were taken`)
  const hasty = new Algod({ nodes: [{ url }], timeoutMs: 100 })
  await assert.rejects(hasty.parameters(), { code: 'timeout' })
})
