import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import {
  createAsset,
  fund,
  type Person,
  personOf,
  sign,
  signGroup,
  TestNode,
} from '../../testing/TestNode.test.helper.js'
import type { Asset } from '../Account.js'
import * as Genesis from '../Genesis.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import { StateOverlay } from '../StateOverlay.js'
import { assetConfig } from './AssetConfig.js'

type Parameters = NonNullable<Transaction.Transaction['apar']>

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

function setUp() {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const change = (caid: bigint, apar: Parameters | undefined, by: Person = alice): Promise<string> =>
    node.send(sign(node.txn('acfg', by, { caid, apar }), by))
  const rolesOf = (id: bigint): string => {
    const { manager, reserve, freeze, clawback } = node.ledger.state.asset(id)!
    const names = new Map([
      [alice.key, 'a'],
      [bob.key, 'b'],
      [MapKey.zero, '-'],
    ])
    return [manager, reserve, freeze, clawback].map((key) => names.get(key)).join('')
  }
  return { node, alice, bob, change, rolesOf }
}

test('creation sets all parameters, and the creator holds the total, unfrozen', async () => {
  const { node, alice, bob } = setUp()
  const metadataHash = new Uint8Array(32).fill(5)
  const id = await createAsset(node, alice, {
    t: 2n ** 64n - 1n,
    dc: 19,
    df: true,
    un: 'u'.repeat(8),
    an: new Uint8Array(32).fill(0xff),
    au: 'h'.repeat(96),
    am: metadataHash,
    m: bob.publicKey,
  })
  const { metadataHash: itsHash, ...rest } = node.ledger.state.asset(id)!
  assert.deepEqual(Buffer.from(itsHash!), Buffer.from(metadataHash))
  const expected: Asset = {
    creator: alice.key,
    total: 2n ** 64n - 1n,
    decimals: 19,
    defaultFrozen: true,
    unitName: bytes('u'.repeat(8)),
    name: new Uint8Array(32).fill(0xff),
    url: bytes('h'.repeat(96)),
    manager: bob.key,
    reserve: MapKey.zero,
    freeze: MapKey.zero,
    clawback: MapKey.zero,
  }
  assert.deepEqual(rest, expected)
  assert.deepEqual(node.ledger.state.holding(alice.key, id), { amount: 2n ** 64n - 1n, frozen: false })
  const { assetsHeld, assetsCreated } = node.ledger.state.account(alice.key)
  assert.deepEqual([assetsHeld, assetsCreated], [3, 1])
})

test('all parameters are optional', async () => {
  const { node, alice } = setUp()
  const id = await createAsset(node, alice)
  assert.equal(node.ledger.state.asset(id)!.total, 0n)
  assert.deepEqual(node.ledger.state.holding(alice.key, id), { amount: 0n, frozen: false })
})

test('the asset id is the number of the creating transaction', async () => {
  const { node, alice } = setUp()
  assert.equal(await createAsset(node, alice), 1001n)
  const make = () => node.txn('acfg', alice, { apar: { t: 1n } })
  const group = signGroup([make(), node.pay(alice, alice, 1n), make()].map((txn) => [txn, alice] as const))
  const simulated = (await node.simulate(group)).json['txn-groups'][0]['txn-results']
  const foreseen = simulated.map((result: { 'txn-result': object }) => Reflect.get(result['txn-result'], 'asset-index'))
  assert.deepEqual(foreseen, [1002, undefined, 1004])
  const first = await node.send(...group)
  assert.equal((await node.get(`/v2/transactions/pending/${first}`)).json['asset-index'], 1002)
  assert.deepEqual(node.ledger.state.createdBy(alice.key), [1001n, 1002n, 1004n])
})

test('rejects the id of a genesis asset', () => {
  const { node, alice } = setUp()
  const overlay = new StateOverlay(node.ledger.state)
  overlay.transactionCount = () => Genesis.dollarIds[1]! - 1n
  assert.throws(
    () => assetConfig(node.txn('acfg', alice), { sender: alice.key, overlay, round: 1n, outcome: {} }),
    new LedgerError('rule_violation', `already found asset with index ${Genesis.dollarIds[1]}`),
  )
})

test('the manager replaces the four addresses; omitted ones are cleared permanently', async () => {
  const { node, alice, bob, change, rolesOf } = setUp()
  const [a, b] = [alice.publicKey, bob.publicKey]
  const id = await createAsset(node, alice, { t: 5n, m: a, r: a, f: a, c: a })
  await change(id, { m: a, r: b, f: b, c: a })
  assert.equal(rolesOf(id), 'abba')
  await change(id, { m: b, c: b })
  assert.equal(rolesOf(id), 'b--b')
  await change(id, { m: b, r: a, f: a, c: a }, bob)
  assert.equal(rolesOf(id), 'b--a')
})

test('reconfiguration changes only addresses', async () => {
  const { node, alice, change } = setUp()
  const m = alice.publicKey
  const id = await createAsset(node, alice, { t: 5n, dc: 1, un: 'A', an: 'Aa', au: 'a', m })
  const before = node.ledger.state.asset(id)
  await change(id, { t: 6n, dc: 2, df: true, un: 'B', an: 'Bb', au: 'b', am: new Uint8Array(32).fill(1), m })
  assert.deepEqual(node.ledger.state.asset(id), before)
})

test('without a manager an asset cannot be changed', async () => {
  const { node, alice, bob, change, rolesOf } = setUp()
  const id = await createAsset(node, alice, { t: 5n, m: alice.publicKey, c: bob.publicKey })
  await change(id, { c: bob.publicKey })
  assert.equal(rolesOf(id), '---b')
  await assert.rejects(change(id, { c: alice.publicKey }), /should be issued by the manager/)
})

test("destruction removes the asset and the creator's holding", async () => {
  const { node, bob, change } = setUp()
  const maker = fund(node, personOf(71), 1_000_000n)
  const id = await createAsset(node, maker, { t: 5n, m: bob.publicKey })
  await change(id, undefined, bob)
  const { state } = node.ledger
  assert.equal(state.asset(id), undefined)
  assert.equal(state.holding(maker.key, id), undefined)
  const { assetsHeld, assetsCreated } = state.account(maker.key)
  assert.deepEqual([assetsHeld, assetsCreated, state.createdBy(maker.key)], [0, 0, []])
  assert.equal((await node.get(`/v2/assets/${id}`)).status, 404)
})
