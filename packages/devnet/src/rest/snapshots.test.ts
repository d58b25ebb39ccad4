import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorMessageOf, expectText, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'

const newcomer = personOf(61)
const pending = '/v2/transactions/pending'

const stateHash = async (node: TestNode) => (await node.get('/devnet/state')).json['state-hash']

test('a snapshot', async (t) => {
  await t.test('can be restored any number of times', async () => {
    const node = new TestNode()
    await node.post('/devnet/mine', { rounds: 2 })
    const hash = await stateHash(node)
    assert.equal(expectText(await node.post('/devnet/snapshot')), '{"round":2,"snapshot":1}\n')
    const person = node.funded(0)
    for (let time = 0; time < 2; time++) {
      const signed = sign(node.pay(person, newcomer, 500_000n), person)
      const id = await node.send(signed)
      await node.post('/devnet/time', { advanceSeconds: 500 })
      assert.notEqual(await stateHash(node), hash)
      assert.equal(expectText(await node.post('/devnet/revert', { snapshot: 1 })), '{"round":2,"snapshot":1}\n')
      assert.equal(await stateHash(node), hash)
      assert.equal((await node.get(`${pending}/${id}`)).status, 404)
      assert.equal((await node.get('/v2/blocks/3')).status, 404)
      // A reverted transaction can be submitted again.
      assert.equal(await node.send(signed), id)
    }
  })

  await t.test('deletes later snapshots when it is restored', async () => {
    const node = new TestNode()
    for (let id = 1; id <= 3; id++) {
      assert.equal((await node.post('/devnet/snapshot')).json.snapshot, id)
      await node.post('/devnet/mine')
    }
    assert.equal((await node.post('/devnet/revert', { snapshot: 2 })).json.round, 1)
    assert.equal(errorMessageOf(await node.post('/devnet/revert', { snapshot: 3 }), 404), 'there is no snapshot 3')
    assert.equal((await node.post('/devnet/revert', { snapshot: 2 })).status, 200)
    assert.equal((await node.post('/devnet/revert', { snapshot: 1 })).json.round, 0)
    // Numbers are not reused.
    assert.equal((await node.post('/devnet/snapshot')).json.snapshot, 4)
  })

  await t.test('is 404 if unknown, and 400 if invalid', async () => {
    const node = new TestNode()
    for (const snapshot of [0, 1, '18446744073709551615']) {
      assert.equal(
        errorMessageOf(await node.post('/devnet/revert', { snapshot }), 404),
        `there is no snapshot ${snapshot}`,
      )
    }
    for (const body of [{}, { snapshot: 'x' }, { snapshot: -1 }, { snapshot: 1.5 }]) {
      assert.match(errorMessageOf(await node.post('/devnet/revert', body)), /^snapshot must be a whole number /)
    }
    assert.equal(
      errorMessageOf(await node.post('/devnet/snapshot', { id: 1 })),
      'unknown member "id"; known members: none',
    )
  })

  await t.test('is deleted after a hundred newer ones', async () => {
    const node = new TestNode()
    for (let count = 0; count < 101; count++) await node.post('/devnet/snapshot')
    assert.equal((await node.post('/devnet/revert', { snapshot: 1 })).status, 404)
    assert.equal((await node.post('/devnet/revert', { snapshot: 2 })).status, 200)
  })

  await t.test('includes pending transactions', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    const id = await node.send(sign(node.pay(person, newcomer, 500_000n), person))
    await node.post('/devnet/snapshot')
    await node.post('/devnet/mine')
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], 1)
    await node.post('/devnet/revert', { snapshot: 1 })
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], undefined)
    await node.post('/devnet/mine')
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], 1)
  })
})

test('a reset', async (t) => {
  await t.test('restores genesis, without snapshots, faults and offset', async () => {
    const node = new TestNode()
    const hash = await stateHash(node)
    await node.post('/devnet/snapshot')
    await node.post('/devnet/faults', { type: 'drop' })
    await node.post('/v2/devmode/blocks/offset/5')
    await node.post('/devnet/fund', { address: newcomer.address, algos: 1 })
    await node.post('/devnet/mine', { rounds: 5 })
    assert.equal(expectText(await node.post('/devnet/reset')), '{"round":0}\n')
    assert.equal(await stateHash(node), hash)
    assert.equal((await node.post('/devnet/revert', { snapshot: 1 })).status, 404)
    assert.deepEqual((await node.get('/devnet/faults')).json, { faults: [] })
    assert.equal((await node.get('/v2/devmode/blocks/offset')).status, 404)
    assert.equal(
      errorMessageOf(await node.post('/devnet/reset', { hard: true })),
      'unknown member "hard"; known members: none',
    )
  })

  await t.test('cancels a held block', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    const hold = () => sign(node.pay(person, newcomer, 500_000n), person)
    await node.post('/devnet/faults', { type: 'hold', ms: 1_000 })
    await node.send(hold())
    await node.post('/devnet/reset')
    await node.send(hold())
    t.mock.timers.tick(5_000)
    assert.deepEqual([node.ledger.last.round, node.ledger.pendingGroups().length], [0n, 1])
  })
})

test('a dump', async (t) => {
  await t.test('gives another devnet the same state', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    await node.post('/devnet/fund', { address: newcomer.address, algos: 3, dollars: 2 })
    const id = await node.send(sign(node.pay(person, newcomer, 500_000n), person))
    await node.send(sign(node.txn('acfg', person, { apar: { t: 2n ** 64n - 1n, an: 'Name' } }), person))
    const text = expectText(await node.get('/devnet/dump'))
    const other = new TestNode()
    const response = await other.post('/devnet/load', text)
    assert.deepEqual(response.json, (await node.get('/devnet/state')).json)
    for (const path of [`/v2/accounts/${newcomer.address}`, `${pending}/${id}`, '/v2/blocks/2', '/v2/assets/1002']) {
      assert.equal((await other.get(path)).text, (await node.get(path)).text)
    }
    assert.equal((await other.get('/devnet/dump')).text, text)
  })

  await t.test('is rejected if invalid, and changes nothing', async () => {
    const node = new TestNode()
    await node.post('/devnet/mine')
    const hash = await stateHash(node)
    const text = (await node.get('/devnet/dump')).text
    for (const body of ['', '{}', 'null', '[]', 'garbage', '{"version":1}', text.slice(0, -20), '['.repeat(100_000)]) {
      assert.equal((await node.post('/devnet/load', body)).status, 400, body.slice(0, 20))
    }
    assert.equal(await stateHash(node), hash)
    const foreign = await new TestNode({ accountCount: 1 }).get('/devnet/dump')
    assert.equal((await node.post('/devnet/load', foreign.text)).status, 400)
    assert.deepEqual(node.errors, [])
  })
})
