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
import * as Assets from './Assets.js'

test('freezes and unfreezes one holding without changing its amount', async () => {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), personOf(81)]
  const asset = await createAsset(node, alice, { t: 1000n, f: alice.publicKey })
  fund(node, bob, 1_000_000n, [{ assetId: asset, amount: 7n }])
  const freeze = (who: Person, afrz: true | undefined): Promise<string> =>
    node.send(sign(node.txn('afrz', alice, { faid: asset, fadd: who.publicKey, afrz }), alice))
  const { state } = node.ledger

  await freeze(bob, true)
  assert.deepEqual(state.holding(bob.key, asset), { amount: 7n, frozen: true })
  assert.deepEqual(state.holding(alice.key, asset), { amount: 993n, frozen: false })
  await freeze(alice, true)
  assert.deepEqual(state.holding(alice.key, asset), { amount: 993n, frozen: true })
  await freeze(bob, undefined)
  assert.deepEqual(state.holding(bob.key, asset), { amount: 7n, frozen: false })
})

type Fields = Partial<Transaction.Transaction>

/** Alice created 1000 units of an asset, of which bob holds 100 and carol 0. */
async function scene(apar: NonNullable<Fields['apar']> = {}) {
  const node = new TestNode()
  const alice = node.funded(0)
  const { publicKey } = alice
  const asset = await createAsset(node, alice, { t: 1000n, m: publicKey, f: publicKey, c: publicKey, ...apar })
  const bob = fund(node, personOf(61), 1_000_000n, [{ assetId: asset, amount: 100n }])
  const carol = fund(node, personOf(62), 1_000_000n, [{ assetId: asset, amount: 0n }])
  const send = (from: Person, fields: Fields): Promise<string> =>
    node.send(sign(node.txn('axfer', from, { xaid: asset, ...fields }), from))
  const freeze = (who: Person): Promise<string> =>
    node.send(sign(node.txn('afrz', alice, { faid: asset, fadd: who.publicKey, afrz: true }), alice))
  const amounts = (): (bigint | undefined)[] =>
    [alice, bob, carol].map(({ key }) => node.ledger.state.holding(key, asset)?.amount)
  return { node, alice, bob, carol, asset, send, freeze, amounts }
}

test('opting in creates an empty holding and raises the minimum balance once', async () => {
  const { node, asset, send } = await scene()
  const dave = fund(node, personOf(63), 1_000_000n)
  await send(dave, { arcv: dave.publicKey })
  await send(dave, { arcv: dave.publicKey })
  assert.deepEqual(node.ledger.state.holding(dave.key, asset), { amount: 0n, frozen: false })
  assert.equal(node.ledger.state.account(dave.key).assetsHeld, 1)
  const { json } = await node.get(`/v2/accounts/${dave.address}`)
  assert.deepEqual([json['min-balance'], json['total-assets-opted-in']], [200_000, 1])
})

test('opting in to a default-frozen asset creates a frozen holding', async () => {
  const { node, asset, send } = await scene({ df: true })
  const dave = fund(node, personOf(63), 1_000_000n)
  await send(dave, { arcv: dave.publicKey })
  assert.deepEqual(node.ledger.state.holding(dave.key, asset), { amount: 0n, frozen: true })
})

test('moves an amount, also to itself', async () => {
  const { bob, carol, send, amounts } = await scene()
  await send(bob, { arcv: carol.publicKey, aamt: 30n })
  await send(bob, { arcv: bob.publicKey, aamt: 70n })
  assert.deepEqual(amounts(), [900n, 70n, 30n])
})

test('a transfer of 0 passes between any accounts', async () => {
  const { node, bob, send, amounts, freeze } = await scene()
  const dave = fund(node, personOf(63), 1_000_000n)
  await freeze(bob)
  await send(bob, { arcv: dave.publicKey })
  await send(dave, { arcv: bob.publicKey })
  await send(dave, { xaid: 999_999n, arcv: bob.publicKey })
  await send(dave, { xaid: undefined })
  assert.deepEqual(amounts(), [900n, 100n, 0n])
  assert.equal(node.ledger.state.account(dave.key).assetsHeld, 0)
})

test('clawback moves an amount, frozen or not', async () => {
  const { alice, bob, carol, send, amounts, freeze } = await scene()
  await send(alice, { asnd: bob.publicKey, arcv: carol.publicKey, aamt: 10n })
  await freeze(bob)
  await freeze(carol)
  await send(alice, { asnd: bob.publicKey, arcv: carol.publicKey, aamt: 10n })
  assert.deepEqual(amounts(), [900n, 80n, 20n])
})

test('a clawback of 0 does not opt in', async () => {
  const { node, alice, asset, send } = await scene()
  const dave = fund(node, personOf(63), 1_000_000n)
  await send(alice, { asnd: dave.publicKey, arcv: dave.publicKey })
  assert.equal(node.ledger.state.holding(dave.key, asset), undefined)
})

test('closing out moves the remainder after the amount and removes the holding', async () => {
  const { node, bob, alice, carol, send, amounts } = await scene()
  const id = await send(bob, { arcv: alice.publicKey, aamt: 1n, aclose: carol.publicKey })
  assert.deepEqual(amounts(), [901n, undefined, 99n])
  assert.equal(node.ledger.state.account(bob.key).assetsHeld, 0)
  assert.equal((await node.get(`/v2/transactions/pending/${id}`)).json['asset-closing-amount'], 99)
})

test('an empty holding can be closed out to any account', async () => {
  const { node, carol, asset, send } = await scene()
  await send(carol, { aclose: personOf(64).publicKey })
  assert.equal(node.ledger.state.holding(carol.key, asset), undefined)
})

test('a frozen holding can be closed out to the creator', async () => {
  const { alice, bob, send, amounts, freeze } = await scene()
  await freeze(bob)
  await send(bob, { aclose: alice.publicKey })
  assert.deepEqual(amounts(), [1000n, undefined, 0n])
})

test('a holding of a destroyed asset can be closed out', async () => {
  const { node, alice, bob, carol, asset, send, amounts } = await scene()
  await send(bob, { arcv: alice.publicKey, aamt: 100n })
  await node.send(sign(node.txn('acfg', alice, { caid: asset }), alice))
  assert.deepEqual(amounts(), [undefined, 0n, 0n])
  await send(bob, { aclose: carol.publicKey })
  assert.deepEqual(amounts(), [undefined, undefined, 0n])
  assert.equal(node.ledger.state.account(bob.key).assetsHeld, 0)
})

test('rejects a holding above 64 bits', () => {
  const { ledger } = new TestNode()
  const overlay = new StateOverlay(ledger.state)
  overlay.putHolding('a', 7n, { amount: 2n ** 64n - 2n, frozen: false })
  Assets.putIn(overlay, 'a', 7n, 1n, false)
  const overflow = new LedgerError('rule_violation', `overflow on adding 1 to receiver amount ${2n ** 64n - 1n}`)
  assert.throws(() => Assets.putIn(overlay, 'a', 7n, 1n, false), overflow)
})

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
    () => Assets.assetConfig(node.txn('acfg', alice), { sender: alice.key, overlay, round: 1n, outcome: {} }),
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
