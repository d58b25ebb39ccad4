import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Address } from '@latchkey/algorand'
import { Algod, AlgodError } from './Algod.js'
import { type FakeAnswer, FakeNode, missing, ok, refused } from './FakeNode.test.helper.js'

const id = 'A'.repeat(52)
const group = [Uint8Array.of(1, 2), Uint8Array.of(3)]

function algodOf(...nodes: FakeNode[]): Algod {
  return new Algod({
    nodes: nodes.map((_, index) => ({ url: `http://node${index}/` })),
    timeoutMs: 100,
    fetch: (input, init) => nodes[Number(new URL(String(input)).hostname.slice(4))]!.fetch(String(input), init ?? {}),
  })
}

/** Two nodes, the first of which answers this to everything. */
function withBad(answer: FakeAnswer): { algod: Algod; bad: FakeNode; good: FakeNode } {
  const [bad, good] = [new FakeNode(), new FakeNode()]
  for (const question of ['GET params', 'GET status', 'POST simulate', 'POST submit', 'GET pending']) {
    bad.on(question, () => answer)
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

test('a network needs a node', () => assert.throws(() => new Algod({ nodes: [] }), RangeError))

for (const [what, answer] of [
  ['answers 500', { status: 500, body: {} }],
  ['is overloaded', { status: 429, body: {} }],
  ['wants another token', { status: 401, body: {} }],
  ['is a proxy that says forbidden', { status: 403, body: 'no' }],
  ['is a proxy that says 400 with a page', { status: 400, body: '<html>' }],
  ['closes the connection', 'drop'],
  ['does not listen', 'refuse'],
  ['does not answer', 'hang'],
] as const) {
  test(`a node that ${what} is passed over, and rested`, async () => {
    const { algod, bad, good } = withBad(answer)
    assert.equal(await algod.lastRound(), 100n)
    assert.equal(await algod.lastRound(), 100n)
    assert.deepEqual([bad.asked.length, good.asked.length], [1, 2])
  })
}

test('a node that is resting is asked if there is no other, and is back once it answers', async () => {
  const node = new FakeNode()
  node.on('GET status', () => 'drop')
  const algod = algodOf(node)
  await assert.rejects(algod.lastRound(), AlgodError)
  node.on('GET status', () => ok({ 'last-round': 7 }))
  assert.equal(await algod.lastRound(), 7n)
})

test('when no node answers, the error is told as of the nodes', async () => {
  const { algod } = withBad('drop')
  const alone = algodOf(withBad('hang').bad)
  assert.equal(await algod.lastRound(), 100n)
  await assert.rejects(
    alone.lastRound(),
    (error: Error) => error instanceof AlgodError && /too long/.test(error.message),
  )
})

test('a submission is accepted, or refused in the words of the node', async () => {
  const node = new FakeNode()
  const algod = algodOf(node)
  assert.deepEqual(await algod.submit(group), { type: 'accepted' })
  assert.deepEqual(node.submitted, [Buffer.of(1, 2, 3)])
  node.on('POST submit', () => refused('overspend'))
  assert.deepEqual(await algod.submit(group), { type: 'refused', reason: 'overspend', isAmbiguous: false })
  node.on('POST submit', () => refused('x'.repeat(10_000)))
  assert.equal(((await algod.submit(group)) as { reason: string }).reason.length, 500)
})

for (const [what, answer, isAmbiguous] of [
  ['5xx', { status: 502, body: {} }, true],
  ['a lost answer', 'drop', true],
  ['a time-out', 'hang', true],
  ['nobody listening', 'refuse', false],
  ['too many requests', { status: 429, body: {} }, false],
  ['a proxy that knows no such path', { status: 404, body: {} }, false],
] as const) {
  test(`after ${what}, a refusal by the next node is ${isAmbiguous ? 'ambiguous' : 'certain'}`, async () => {
    const { algod, good } = withBad(answer)
    good.on('POST submit', () => refused('already in ledger'))
    assert.deepEqual(await algod.submit(group), { type: 'refused', reason: 'already in ledger', isAmbiguous })
  })

  test(`after ${what} by every node, a submission is unanswered`, async () => {
    const { bad } = withBad(answer)
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

test('a simulation says why and where, also as a refusal of the question', async () => {
  const node = new FakeNode()
  const algod = algodOf(node)
  assert.equal(await algod.simulate(group), undefined)
  node.on('POST simulate', () => ok({ 'txn-groups': [{ 'failure-message': 'overspend', 'failed-at': [1] }] }))
  assert.deepEqual(await algod.simulate(group), { message: 'overspend', failedAt: 1 })
  node.on('POST simulate', () => refused('malformed'))
  assert.deepEqual(await algod.simulate(group), { message: 'malformed', failedAt: undefined })
  node.on('POST simulate', () => missing)
  await assert.rejects(algod.simulate(group), AlgodError)
})

test('a block that one node has let go is asked of the next', async () => {
  const [young, archive] = [new FakeNode(), new FakeNode()]
  young.on('GET block', () => missing)
  archive.on('GET block', () => ok({ blockTxids: [id] }))
  const algod = algodOf(young, archive)
  assert.equal(await algod.isInBlock(id, 5n), true)
  assert.equal(await algod.isInBlock('B', 5n), false)
  await assert.rejects(algodOf(young).isInBlock(id, 5n), AlgodError)
})

test('integers beyond what a number holds are exact', async () => {
  const node = new FakeNode()
  node.on('GET account', () => ({
    status: 200,
    body: '{"amount":18446744073709551615,"min-balance":100000,"s":"12345678901234567890"}',
  }))
  assert.equal((await algodOf(node).account(id)).microAlgos, 2n ** 64n - 1n)
})

for (const body of ['', '[]', 'null', '{"last-round":-1}', '{"last-round":1.5}', '{"last-round":"x"}', '{}', '"\\"']) {
  test(`${JSON.stringify(body)} is no answer`, async () => {
    const node = new FakeNode()
    node.on('GET status', () => ({ status: 200, body }))
    await assert.rejects(algodOf(node).lastRound(), AlgodError)
  })
}

test('whom an account answers to is told', async () => {
  const node = new FakeNode()
  const address = Address.encode(new Uint8Array(32).fill(7))
  for (const [given, told] of [
    [address, address],
    [address.slice(1), undefined],
    [5, undefined],
  ]) {
    node.on('GET account', () => ok({ amount: 1, 'min-balance': 0, 'auth-addr': given }))
    assert.equal((await algodOf(node).account(id)).authorizer, told)
  }
})

test('the token is sent, and never to where a redirect points', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await serve(t, (request, response) => {
    seen.push(request.headers['x-algo-api-token'] as string | undefined)
    if (request.url === '/v2/status') response.writeHead(307, { Location: '/elsewhere' }).end()
    else response.end('{"last-round":1}')
  })
  const algod = new Algod({ nodes: [{ url, token: 'secret' }] })
  await assert.rejects(algod.lastRound(), AlgodError)
  assert.deepEqual(seen, ['secret'])
})

test('an answer without end is cut off, and a slow one too', async (t) => {
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
  await assert.rejects(algod.lastRound(), /too long/)
  assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were taken`)
  const hasty = new Algod({ nodes: [{ url }], timeoutMs: 100 })
  await assert.rejects(hasty.parameters(), AlgodError)
})
