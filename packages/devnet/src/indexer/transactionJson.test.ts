import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alice, bob, indexedHistory, jointAddress } from '../testing/indexedHistory.test.helper.js'

test('every kind of transaction has its members', async () => {
  const { node, ids, assetId } = await indexedHistory()
  const show = async (name: string) => (await node.read(`/v2/transactions/${ids.get(name)}`)).transaction
  const pay = await show('pay')
  const { signature, id, 'genesis-hash': genesisHash, ...rest } = pay
  assert.equal(id, ids.get('pay'))
  assert.equal(genesisHash, Buffer.from(node.genesis.chain.genesisHash, 'latin1').toString('base64'))
  assert.equal(Buffer.from(signature.sig, 'base64').length, 64)
  assert.deepEqual(rest, {
    'close-rewards': 0,
    'closing-amount': 0,
    'confirmed-round': 1,
    fee: 1000,
    'first-valid': 0,
    'genesis-id': 'dockernet-v1',
    'intra-round-offset': 0,
    'last-valid': 1000,
    note: Buffer.from('invoice 1').toString('base64'),
    'payment-transaction': { amount: 1000, 'close-amount': 0, receiver: bob.address },
    'receiver-rewards': 0,
    'round-time': Number(node.ledger.block(1n)!.timestamp),
    sender: alice.address,
    'sender-rewards': 0,
    'tx-type': 'pay',
  })
  assert.equal((await show('zero')).lease, Buffer.alloc(32, 7).toString('base64'))
  assert.deepEqual((await show('close'))['payment-transaction'], {
    amount: 5,
    'close-amount': 99_998_995,
    'close-remainder-to': alice.address,
    receiver: bob.address,
  })
  assert.equal((await show('close'))['closing-amount'], 99_998_995)
  assert.equal((await show('rekey'))['rekey-to'], alice.address)
  assert.equal((await show('rekeyed'))['auth-addr'], alice.address)
  const create = await show('create')
  assert.equal(create['created-asset-index'], Number(assetId))
  assert.deepEqual(create['asset-config-transaction'], {
    'asset-id': 0,
    params: {
      clawback: alice.address,
      creator: alice.address,
      decimals: 0,
      'default-frozen': false,
      freeze: alice.address,
      manager: alice.address,
      name: 'Token',
      'name-b64': Buffer.from('Token').toString('base64'),
      total: 1000,
      'unit-name': 'TOK',
      'unit-name-b64': Buffer.from('TOK').toString('base64'),
    },
  })
  assert.deepEqual((await show('destroy'))['asset-config-transaction'], { 'asset-id': Number(assetId) })
  assert.equal((await show('destroy'))['created-asset-index'], undefined)
  assert.deepEqual((await show('claw back'))['asset-transfer-transaction'], {
    amount: 100,
    'asset-id': Number(assetId),
    'close-amount': 0,
    receiver: alice.address,
    sender: bob.address,
  })
  assert.deepEqual((await show('opt out'))['asset-transfer-transaction'], {
    amount: 0,
    'asset-id': Number(assetId),
    'close-amount': 200,
    'close-to': alice.address,
    receiver: alice.address,
  })
  assert.deepEqual((await show('freeze'))['asset-freeze-transaction'], {
    address: bob.address,
    'asset-id': Number(assetId),
    'new-freeze-status': true,
  })
  assert.deepEqual((await show('key registration'))['keyreg-transaction'], {
    'non-participation': false,
    'vote-first-valid': 0,
    'vote-key-dilution': 0,
    'vote-last-valid': 0,
  })
  const joint = await show('joint')
  assert.equal(joint.sender, jointAddress)
  const { multisig } = joint.signature
  assert.deepEqual([multisig.version, multisig.threshold], [1, 1])
  assert.deepEqual(
    multisig.subsignature.map((one: object) => Object.keys(one)),
    [['public-key', 'signature'], ['public-key']],
  )
})
