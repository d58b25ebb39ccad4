import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dropConnection } from '@latchkey/http'
import { errorMessageOf, expectText, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'

const newcomer = personOf(71)
const pending = '/v2/transactions/pending'

function payment(node: TestNode): Uint8Array {
  return sign(node.pay(node.funded(0), newcomer, 500_000n), node.funded(0))
}

async function add(node: TestNode, ...faults: object[]): Promise<void> {
  for (const fault of faults) expectText(await node.post('/devnet/faults', fault))
}

async function confirmedRound(node: TestNode, id: string): Promise<number | undefined> {
  return (await node.get(`${pending}/${id}`)).json['confirmed-round']
}

test('delay', async (t) => {
  await t.test('delays the response, not the effect', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode()
    await add(node, { type: 'delay', ms: 5_000 })
    let status = 0
    const response = node.submit(payment(node)).then((answered) => {
      status = answered.status
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([status, node.ledger.last.round], [0, 1n])
    t.mock.timers.tick(4_999)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(status, 0)
    t.mock.timers.tick(1)
    await response
    assert.equal(status, 200)
    // The count was 1.
    assert.equal((await node.submit(payment(node))).status, 200)
  })
})

test('drop', async (t) => {
  await t.test('closes the connection after the payment took effect', async () => {
    const node = new TestNode()
    await add(node, { type: 'drop' })
    const body = payment(node)
    assert.equal(await node.call('POST', '/v2/transactions', { body }), dropConnection)
    assert.equal(node.ledger.state.account(newcomer.key).microAlgos, 500_000n)
    // A retry is a duplicate.
    assert.match(errorMessageOf(await node.submit(body)), /transaction already in ledger/)
  })

  await t.test('applies to a submission that takes effect', async () => {
    const node = new TestNode()
    await add(node, { type: 'drop' })
    assert.equal((await node.submit(Buffer.from('garbage'))).status, 400)
    assert.equal((await node.get('/devnet/faults')).json.faults.length, 1)
  })
})

test('fail', async (t) => {
  await t.test('responds with the given status and message, without effect', async () => {
    const node = new TestNode()
    await add(node, { type: 'fail', status: 503, message: 'come <back> later' }, { type: 'fail' })
    const body = payment(node)
    assert.equal(expectText(await node.submit(body), 503), '{"message":"come \\u003cback\\u003e later"}\n')
    assert.equal(errorMessageOf(await node.submit(body), 500), 'injected fault')
    assert.equal(node.ledger.last.round, 0n)
    assert.equal((await node.submit(body)).status, 200)
    assert.deepEqual(node.errors, [])
  })
})

test('hold', async (t) => {
  await t.test('keeps a submission pending until its time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode()
    await add(node, { type: 'hold', ms: 2_000 })
    const id = await node.send(payment(node))
    assert.equal(await confirmedRound(node, id), undefined)
    assert.equal((await node.get(pending)).json['total-transactions'], 1)
    t.mock.timers.tick(1_999)
    assert.equal(node.ledger.last.round, 0n)
    t.mock.timers.tick(1)
    assert.equal(await confirmedRound(node, id), 1)
    // A second block follows, for clients that missed the first and wait for another.
    assert.equal(node.ledger.last.round, 2n)
  })

  await t.test('delays blocks at an interval', async () => {
    const node = new TestNode({ blocks: { everyMs: 10 } })
    await add(node, { type: 'hold', ms: 150 })
    const id = await node.send(payment(node))
    const startedMs = performance.now()
    while ((await confirmedRound(node, id)) === undefined) {
      assert.ok(performance.now() - startedMs < 120_000)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.ok(performance.now() - startedMs > 140)
    node.node.stop()
  })

  await t.test('does not delay mined blocks', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode({ blocks: 'manual' })
    await add(node, { type: 'hold', ms: 10 })
    const id = await node.send(payment(node))
    t.mock.timers.tick(10_000)
    assert.equal(await confirmedRound(node, id), undefined)
    await node.post('/devnet/mine')
    assert.equal(await confirmedRound(node, id), 1)
  })

  await t.test('ends with the next block', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode()
    await add(node, { type: 'hold', ms: 2_000, count: 2 })
    const first = await node.send(payment(node))
    await node.post('/devnet/mine')
    assert.equal(await confirmedRound(node, first), 1)
    const second = await node.send(payment(node))
    const third = await node.send(payment(node))
    assert.deepEqual([await confirmedRound(node, second), await confirmedRound(node, third)], [2, 2])
    // The timer of the hold makes no empty block.
    t.mock.timers.tick(10_000)
    assert.equal(node.ledger.last.round, 2n)
  })

  await t.test('is canceled when the node stops', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode()
    await add(node, { type: 'hold', ms: 2_000 })
    await node.send(payment(node))
    node.node.stop()
    t.mock.timers.tick(10_000)
    assert.equal(node.ledger.last.round, 0n)
  })
})

test('lose', async (t) => {
  await t.test('makes a lookup fail once', async () => {
    const node = new TestNode()
    await add(node, { type: 'lose', count: 2 })
    const id = await node.send(payment(node))
    // The lookup of an unknown transaction does not use the fault.
    assert.equal((await node.get(`${pending}/${'A'.repeat(52)}`)).status, 404)
    for (let time = 0; time < 2; time++) {
      const message = 'could not find the transaction in the transaction pool or in the last 1000 confirmed rounds'
      assert.equal(errorMessageOf(await node.get(`${pending}/${id}`), 404), message)
    }
    assert.equal(await confirmedRound(node, id), 1)
  })
})

test('faults', async (t) => {
  await t.test('are listed with their remaining count, and cleared', async () => {
    const node = new TestNode()
    await add(node, { type: 'fail', count: 3 }, { type: 'delay', ms: 5 }, { type: 'lose', count: 2 })
    await node.submit(payment(node))
    const expected =
      '{"faults":[{"count":2,"message":"injected fault","status":500,"type":"fail"},' +
      '{"count":1,"ms":5,"type":"delay"},{"count":2,"type":"lose"}]}\n'
    assert.equal(expectText(await node.get('/devnet/faults')), expected)
    const cleared = await node.call('DELETE', '/devnet/faults')
    assert.equal(cleared === dropConnection ? cleared : expectText(cleared), '{"faults":[]}\n')
    assert.equal((await node.submit(payment(node))).status, 200)
  })

  await t.test('of different types apply together', async () => {
    const node = new TestNode({ blocks: 'manual' })
    await add(node, { type: 'drop' }, { type: 'fail', status: 418 }, { type: 'lose' })
    const body = payment(node)
    assert.equal((await node.submit(body)).status, 418)
    assert.equal(await node.call('POST', '/v2/transactions', { body }), dropConnection)
    assert.deepEqual((await node.get('/devnet/faults')).json, { faults: [{ count: 1, type: 'lose' }] })
  })

  await t.test('are rejected if invalid', async () => {
    const node = new TestNode()
    for (const [fault, message] of [
      [{}, 'type must be one of delay, drop, fail, hold, lose'],
      [{ type: 'explode' }, 'type must be one of delay, drop, fail, hold, lose'],
      [{ type: ['drop'] }, 'type must be one of delay, drop, fail, hold, lose'],
      [{ type: 'delay' }, 'ms must be a whole number from 0 to 600000'],
      [{ type: 'delay', ms: 600_001 }, 'ms must be a whole number from 0 to 600000'],
      [{ type: 'hold', ms: -1 }, 'ms must be a whole number from 0 to 600000'],
      [{ type: 'drop', count: 0 }, 'count must be a whole number from 1 to 1000000'],
      [{ type: 'drop', count: 1_000_001 }, 'count must be a whole number from 1 to 1000000'],
      [{ type: 'fail', status: 200 }, 'status must be a whole number from 400 to 599'],
      [{ type: 'fail', status: 600 }, 'status must be a whole number from 400 to 599'],
      [{ type: 'fail', message: 7 }, 'message must be a string of at most 1000 characters'],
      [{ type: 'fail', message: 'x'.repeat(1001) }, 'message must be a string of at most 1000 characters'],
      [{ type: 'drop', after: 1 }, 'unknown member "after"; known members: type, ms, count, status, message'],
    ] as const) {
      assert.equal(errorMessageOf(await node.post('/devnet/faults', fault)), message)
    }
    assert.deepEqual((await node.get('/devnet/faults')).json, { faults: [] })
  })

  await t.test('are limited to a hundred', async () => {
    const node = new TestNode()
    for (let count = 0; count < 100; count++) await add(node, { type: 'lose' })
    assert.equal(errorMessageOf(await node.post('/devnet/faults', { type: 'lose' })), '100 faults are already pending')
  })
})
