/** Tests which of several nodes are queried. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { FakeNode, type FakeResponse, genesisHash, missing, ok, refused } from './FakeNode.test.helper.js'
import { Algod, type AlgodOptions } from './index.js'
import { templateOf } from './PoolNode.js'

const id = 'A'.repeat(52)
const group = [Uint8Array.of(1)]

function open(nodes: readonly FakeNode[], options: Partial<AlgodOptions> = {}): Algod {
  return new Algod({
    nodes: nodes.map((_, index) => ({ url: `http://node${index}` })),
    fetch: (url, init) => nodes[Number(new URL(url).hostname.slice(4))]!.fetch(url, init),
    ...options,
  })
}

/** A stopped clock that advances only on request. */
function stopClock(t: TestContext): { advance: (ms: number) => void } {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  return {
    advance: (ms) => {
      now += ms
    },
  }
}

/** Waits until background work has ended. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

async function until(holds: () => boolean): Promise<void> {
  for (let time = 0; time < 2_000 && !holds(); time++) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.ok(holds())
}

test('a slow node is avoided after a few requests, and used again once it is fast', async (t) => {
  const clock = stopClock(t)
  const [slow, quick] = [new FakeNode(), new FakeNode()]
  let takesMs = 3_000
  const respond = (): FakeResponse => {
    clock.advance(takesMs)
    return ok({ 'last-round': 100 })
  }
  slow.on('GET status', respond)
  const algod = open([slow, quick], { hedgeMs: 0 })
  for (let time = 0; time < 6; time++) await algod.lastRound()
  assert.deepEqual([slow.count('GET status'), quick.count('GET status')], [3, 3])
  assert.deepEqual(
    algod.nodes().map(({ isAvoided }) => isAvoided),
    [true, false],
  )
  takesMs = 0
  for (let time = 0; time < 10 && algod.nodes()[0]!.isAvoided; time++) {
    clock.advance(10_001)
    await algod.account(id)
    await settled()
  }
  const before = slow.count('GET status')
  await algod.lastRound()
  assert.equal(slow.count('GET status'), before + 1)
})

test('the next node is queried in parallel with a slow one', { timeout: 60_000 }, async () => {
  const [stalled, good] = [new FakeNode(), new FakeNode()]
  const late = gate()
  stalled.on('GET status', async () => {
    await late.opened
    return ok({ 'last-round': 1 })
  })
  const algod = open([stalled, good], { hedgeMs: 10 })
  assert.equal(await algod.lastRound(), 100n)
  assert.deepEqual([stalled.requests.length, good.requests.length], [1, 1])
  late.open()
})

test('unneeded requests are cancelled, which does not count against the node', { timeout: 60_000 }, async (t) => {
  let isClosed = false
  const server = createServer((request) => {
    request.socket.on('close', () => {
      isClosed = true
    })
  }).listen(0, '127.0.0.1')
  const quick = createServer((_, response) => response.end('{"last-round":7}')).listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), once(quick, 'listening')])
  const nodes = [server, quick].map((one) => ({ url: `http://127.0.0.1:${(one.address() as AddressInfo).port}` }))
  const algod = new Algod({ nodes, hedgeMs: 20 })
  t.after(() => {
    for (const one of [server, quick]) one.close().closeAllConnections()
    return algod.close()
  })
  assert.equal(await algod.lastRound(), 7n)
  await until(() => isClosed)
  await settled()
  const [{ isUp, failures, calls } = assert.fail()] = algod.nodes()
  assert.deepEqual([isUp, failures, calls], [true, 0, 1])
})

test('at most two nodes have a request, however long they take', { timeout: 60_000 }, async () => {
  const nodes = [new FakeNode(), new FakeNode(), new FakeNode()]
  const late = gate()
  for (const node of nodes) {
    node.on('GET status', async () => {
      await late.opened
      return ok({ 'last-round': 1 })
    })
  }
  const algod = open(nodes, { hedgeMs: 5 })
  const round = algod.lastRound()
  await until(() => nodes[1]!.requests.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  late.open()
  assert.equal(await round, 1n)
  assert.deepEqual(
    nodes.map(({ requests }) => requests.length),
    [1, 1, 0],
  )
})

test('a third node is queried if the second fails while the first is slow', { timeout: 60_000 }, async () => {
  const nodes = [new FakeNode(), new FakeNode(), new FakeNode()]
  const late = gate()
  nodes[0]!.on('GET status', async () => {
    await late.opened
    return ok({ 'last-round': 1 })
  })
  nodes[1]!.on('GET status', () => 'drop')
  assert.equal(await open(nodes, { hedgeMs: 5 }).lastRound(), 100n)
  late.open()
})

test('two nodes never have a submission at the same time', { timeout: 60_000 }, async () => {
  const [stalled, good] = [new FakeNode(), new FakeNode()]
  const late = gate()
  stalled.on('POST submit', async () => {
    await late.opened
    return ok({ txId: 'X' })
  })
  const submitting = open([stalled, good], { hedgeMs: 5 }).submit(group)
  await new Promise((resolve) => setTimeout(resolve, 50))
  late.open()
  assert.deepEqual(await submitting, { type: 'accepted' })
  assert.equal(good.requests.length, 0)
})

test('a lookup does not wait for a stalled node once another has responded', { timeout: 60_000 }, async () => {
  const [stalled, good] = [new FakeNode(), new FakeNode()]
  const late = gate()
  stalled.on('GET pending', async () => {
    await late.opened
    return missing
  })
  assert.equal((await open([stalled, good], { hedgeMs: 5 }).transaction(id)).type, 'unknown')
  assert.equal((await open([good, stalled], { hedgeMs: 5 }).transaction(id)).type, 'unknown')
  assert.equal(stalled.count('GET pending'), 2)
  late.open()
})

test('a node that is behind the others is avoided', async (t) => {
  const clock = stopClock(t)
  const [behind, current] = [new FakeNode(), new FakeNode()]
  behind.round = 50n
  const algod = open([behind, current])
  assert.equal(await algod.lastRound(), 50n)
  clock.advance(10_001)
  // The second node is checked in the background, which then reveals that the first one is behind.
  assert.equal(await algod.lastRound(), 50n)
  await settled()
  await algod.lastRound()
  assert.equal(await algod.lastRound(), 100n)
  assert.equal(algod.nodes()[0]!.roundsBehind, 50n)
  behind.round = 100n
  clock.advance(10_001)
  await algod.lastRound()
  await settled()
  const before = behind.count('GET status')
  await algod.lastRound()
  assert.equal(behind.count('GET status'), before + 1)
})

test('one of three nodes that claims a high round does not make the others look late', async (t) => {
  const clock = stopClock(t)
  const nodes = [new FakeNode(), new FakeNode(), new FakeNode()]
  nodes[2]!.round = 1_000_000n
  const algod = open(nodes)
  for (let time = 0; time < 3; time++) {
    clock.advance(10_001)
    await algod.lastRound()
    await settled()
  }
  assert.deepEqual(
    algod.nodes().map(({ round, isAvoided }) => [round, isAvoided]),
    [
      [100n, false],
      [100n, false],
      [1_000_000n, false],
    ],
  )
})

test('nodes are checked only while there are requests, and at most every 10 s', async (t) => {
  const clock = stopClock(t)
  const [used, unused] = [new FakeNode(), new FakeNode()]
  const algod = open([used, unused])
  for (let time = 0; time < 50; time++) {
    clock.advance(1_001)
    await algod.account(id)
    await settled()
  }
  assert.deepEqual(unused.requests, ['GET status', 'GET status', 'GET status', 'GET status', 'GET status'])
  clock.advance(1_000_000)
  await settled()
  assert.equal(unused.requests.length, 5)
})

test('the state of nodes contains no secret: the key of a provider may be in the path', async () => {
  const node = new FakeNode()
  node.on('GET status', () => 'drop')
  const fetch: AlgodOptions['fetch'] = (url, init) => node.fetch(url.replace(/\/KEY-\w+/, ''), init)
  const urls = ['https://provider.example:8443/KEY-one', 'https://provider.example:8443/KEY-two', 'http://[::1]:4001']
  const algod = new Algod({ nodes: urls.map((url) => ({ url, token: 'TOKEN' })), fetch })
  await assert.rejects(algod.lastRound())
  const text = JSON.stringify(algod.nodes(), (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  assert.doesNotMatch(text, /KEY|TOKEN/)
  assert.deepEqual(
    algod.nodes().map(({ name, isUp, calls, failures, round }) => [name, isUp, calls, failures, round]),
    [
      ['provider.example:8443', false, 1, 1, undefined],
      ['provider.example:8443#2', false, 1, 1, undefined],
      ['[::1]:4001', false, 1, 1, undefined],
    ],
  )
  node.on('GET status', () => ok({ 'last-round': 9 }))
  await algod.lastRound()
  const [{ isUp, errorRate, round } = assert.fail()] = algod.nodes()
  assert.deepEqual([isUp, round, errorRate > 0 && errorRate < 0.3], [true, 9n, true])
})

test('spans do not contain the key of a provider either', () => {
  assert.equal(templateOf('/v2/KEY-one/v2/status'), '/v2/status')
  assert.equal(templateOf('/KEY-one/v2/blocks/17/txids?a=b'), '/v2/blocks/{number}/txids')
  assert.equal(templateOf('/v2/status'), '/v2/status')
  assert.equal(templateOf('/KEY-one/devnet/fund'), '/devnet/fund')
})

test('a quorum needs as many different nodes', () => {
  const nodes = [{ url: 'http://a' }, { url: 'http://b' }]
  assert.equal(new Algod({ nodes, quorum: 2 }).quorum, 2)
  const twice = [{ url: 'http://a' }, { url: 'http://A/' }]
  const attempts: [AlgodOptions, RegExp][] = [
    [{ nodes, quorum: 3 }, /3 requires as many different nodes, but 2 are given/],
    [{ nodes: twice, quorum: 2 }, /but 1 are given/],
    [{ nodes, quorum: 0 }, /whole number/],
    [{ nodes, quorum: 1.5 }, /whole number/],
  ]
  for (const [options, message] of attempts) {
    assert.throws(() => new Algod(options), { code: 'invalid_options', message })
  }
})

test('every node is asked for its round and for the transaction', async () => {
  const nodes = [new FakeNode(), new FakeNode(), new FakeNode(), new FakeNode()]
  nodes.forEach((node, index) => {
    node.round = BigInt(100 + index)
  })
  nodes[1]!.on('GET pending', () => ok({ 'pool-error': 'evicted' }))
  nodes[2]!.on('GET pending', () => 'drop')
  const params = { 'genesis-hash': Buffer.alloc(32, 9).toString('base64'), 'genesis-id': 'other', 'last-round': 900 }
  nodes[3]!.on('GET params', () => ok({ ...params, 'min-fee': 1000, fee: 0 }))
  const algod = open(nodes, { quorum: 2 })
  algod.setGenesis(Buffer.from(genesisHash, 'base64'))
  const absences = [
    { node: 0, round: 100n },
    { node: 1, round: 101n },
  ]
  const dropped = { type: 'dropped', reason: 'evicted' }
  assert.deepEqual(await algod.lookUpEverywhere(id), { state: dropped, absences }, 'without one of another network')
  nodes[0]!.on('GET pending', () => ok({ 'confirmed-round': 7 }))
  const { state } = await algod.lookUpEverywhere(id)
  assert.deepEqual(state, { type: 'confirmed', round: 7n })
  for (const node of nodes) node.on('GET params', () => 'drop')
  await assert.rejects(algod.lookUpEverywhere(id), { code: 'unreachable' })
})

test('a lookup names the nodes that do not have the transaction, with the round they reported before it', async () => {
  const [first, second] = [new FakeNode(), new FakeNode()]
  const algod = open([first, second])
  assert.deepEqual(await algod.lookUp(id), { state: { type: 'unknown' }, absences: [] })
  await algod.lastRound()
  first.on('GET pending', () => {
    first.round = 105n
    return missing
  })
  assert.deepEqual((await algod.lookUp(id)).absences, [{ node: 0, round: 100n }])
})

test('with a quorum, a single refusal is ambiguous, and an acceptance counts', async () => {
  const [first, second] = [new FakeNode(), new FakeNode()]
  const algod = open([first, second], { quorum: 2 })
  const submit = async () => {
    const result = await algod.submit(group)
    return [result.type, 'isAmbiguous' in result && result.isAmbiguous, 'code' in result && result.code]
  }
  first.on('POST submit', () => refused('overspend'))
  assert.deepEqual(await submit(), ['accepted', false, false])
  second.on('POST submit', () => refused('overspend'))
  assert.deepEqual(await submit(), ['refused', false, 'other'])
  second.on('POST submit', () => refused('TransactionPool.Remember: transaction already in ledger: X'))
  assert.deepEqual(await submit(), ['refused', false, 'already_in_ledger'], 'says more than the refusal')
  second.on('POST submit', () => 'refuse')
  assert.deepEqual(await submit(), ['refused', true, 'other'])
})

test('a block counts as read when a quorum of nodes has it', async () => {
  const [first, second] = [new FakeNode(), new FakeNode()]
  const algod = open([first, second], { quorum: 2 })
  second.on('GET block', () => ok({ blockTxids: [id, 5] }))
  assert.equal(await algod.isInBlock(id, 5n), true, 'one node that has it is enough')
  assert.deepEqual(await algod.blockTransactionIds(5n), [])
  assert.deepEqual(await algod.blockTransactionIds(5n, 2), [id])
  second.on('GET block', () => missing)
  await assert.rejects(algod.isInBlock(id, 5n), { code: 'no_quorum' })
  first.on('GET block', () => missing)
  await assert.rejects(algod.isInBlock(id, 5n), { code: 'not_found' })
})

test('a wait for a block ends with the block or on timeout', async () => {
  const node = new FakeNode()
  const algod = open([node])
  const next = gate()
  node.on('GET wait', async () => {
    await next.opened
    return ok({ 'last-round': 101 })
  })
  const waiting = algod.waitForBlock(100n, { timeoutMs: 10_000 })
  next.open()
  assert.equal(await waiting, 101n)
  assert.equal(algod.nodes()[0]!.round, 101n)
  node.on('GET wait', () => 'hang')
  assert.equal(await algod.waitForBlock(101n, { timeoutMs: 20 }), undefined)
  assert.deepEqual(
    algod.nodes().map(({ latencyMs, failures, isUp }) => [latencyMs, failures, isUp]),
    [[undefined, 0, true]],
    'which says nothing about the node',
  )
})

for (const [what, response] of [
  ['has no such path', missing],
  ['limits long requests', { status: 429, body: {} }],
  ['answers at once', ok({ 'last-round': 100 })],
] as const) {
  test(`a node that ${what} is not waited on for a minute`, async (t) => {
    const clock = stopClock(t)
    const [bad, good] = [new FakeNode(), new FakeNode()]
    bad.on('GET wait', () => response)
    good.on('GET wait', () => ok({ 'last-round': 101 }))
    const algod = open([bad, good])
    for (let time = 0; time < 3; time++) assert.equal(await algod.waitForBlock(100n, { timeoutMs: 1_000 }), 101n)
    assert.equal(bad.count('GET wait'), 1)
    clock.advance(60_001)
    await algod.waitForBlock(100n, { timeoutMs: 1_000 })
    assert.equal(bad.count('GET wait'), 2)
    const alone = open([bad])
    for (let time = 0; time < 3; time++) await assert.rejects(alone.waitForBlock(100n, { timeoutMs: 1_000 }))
    assert.equal(bad.count('GET wait'), 3)
  })
}

test('after a wait without a block, the next one is on another node; a single node is waited on again', async () => {
  const [hung, good] = [new FakeNode(), new FakeNode()]
  hung.on('GET wait', () => 'hang')
  good.on('GET wait', () => ok({ 'last-round': 101 }))
  const algod = open([hung, good])
  assert.equal(await algod.waitForBlock(100n, { timeoutMs: 20 }), undefined)
  assert.equal(await algod.waitForBlock(100n, { timeoutMs: 60_000 }), 101n)
  good.on('GET wait', () => 'hang')
  for (let time = 0; time < 2; time++) assert.equal(await algod.waitForBlock(101n, { timeoutMs: 20 }), undefined)
  assert.deepEqual([hung.count('GET wait'), good.count('GET wait')], [1, 3])
})

test('a cancelled wait fails immediately, and the node is waited on again', async () => {
  const node = new FakeNode()
  const algod = open([node])
  node.on('GET wait', () => 'hang')
  const cancelled = algod.waitForBlock(1n, { timeoutMs: 600_000, onStart: (cancel) => setImmediate(cancel) })
  await assert.rejects(cancelled, { code: 'unreachable' })
  node.on('GET wait', () => ok({ 'last-round': 2 }))
  assert.equal(await algod.waitForBlock(1n, { timeoutMs: 1_000 }), 2n)
})
