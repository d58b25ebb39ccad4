import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Bytes, Ed25519, Group, SignedTransaction, Transaction } from '@latchkey/algorand'
import { wires } from '@latchkey/kmd-api'
import { createApp, parametersOf, unusedNode } from '../testing/TestApp.test.helper.js'
import type { NodeClient } from './NodeClient.js'

const path = '/latchkey/v1/transaction/describe'
const { publicKey: alice, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(1))
const bob = Ed25519.publicKey(new Uint8Array(32).fill(2))
const payment = { type: 'pay', snd: alice, rcv: bob, amt: 1_000_000n, fee: 1000n, fv: 1n, lv: 9n, gh: bob }
const rekey = { ...payment, type: 'axfer', rcv: undefined, amt: undefined, xaid: 7n, arcv: alice, rekey: bob }
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

for (const wire of wires) {
  test(`a transaction is described in plain language (${wire})`, async (t) => {
    const app = createApp(t, { wire })
    const bytes = Transaction.encode(payment)
    const { status, json } = await app.post(path, { transaction: base64(bytes) })
    assert.equal(status, 200)
    const [described, ...others] = json.transactions
    assert.deepEqual(others, [])
    assert.deepEqual(described.words.slice(0, 2), [
      `Pays 1 ALGO to ${Address.encode(bob)}.`,
      `The sender is ${Address.encode(alice)}.`,
    ])
    assert.deepEqual(
      { ...described, words: [] },
      {
        transaction_id: Transaction.id(bytes),
        type: 'pay',
        sender: Address.encode(alice),
        words: [],
        warnings: [],
        final_warnings: [],
        is_signed: false,
        transaction: base64(bytes),
      },
    )
    assert.deepEqual(json.group_warnings ?? [], [])
  })
}

test('a partially signed group is described with its warnings', async (t) => {
  const app = createApp(t)
  const [first, second] = Group.assign([payment, rekey]) as [Transaction.Transaction, Transaction.Transaction]
  const sig = Ed25519.sign(Transaction.bytesToSign(Transaction.encode(first)), secretKey)
  const group = Bytes.concat([SignedTransaction.encode({ sig, txn: first }), Transaction.encode(second)])
  const { json } = await app.post(path, { transaction: base64(group) })
  assert.deepEqual(
    json.transactions.map((described: { is_signed: boolean }) => described.is_signed),
    [true, false],
  )
  assert.equal(json.transactions[0].transaction, base64(Transaction.encode(first)), 'without its signature')
  assert.match(json.transactions[1].warnings[0], /^It rekeys /)
  assert.deepEqual(json.transactions[1].final_warnings, [json.transactions[1].warnings[0]])
  assert.equal(json.group_warnings, undefined)
  const half = await app.post(path, { transaction: base64(Transaction.encode(second)) })
  assert.match(half.json.group_warnings[0], /^This is not the complete group/)
})

/** A node of the network that `payment` is for, with one asset. */
function nodeWith(more: Partial<NodeClient>): NodeClient {
  const asset = async () => ({ decimals: 2, unitName: 'GLD' })
  return { ...unusedNode, parameters: async () => parametersOf(bob), asset, ...more }
}

test('units of assets come from a reachable node of the same network', async (t) => {
  const transfer = { ...payment, type: 'axfer', rcv: undefined, amt: undefined, xaid: 7n, aamt: 123n, arcv: bob }
  const first = async (node: NodeClient | undefined, transaction: Transaction.Transaction): Promise<string> => {
    const { status, json } = await createApp(t, node === undefined ? {} : { node }).post(path, {
      transaction: base64(Transaction.encode(transaction)),
    })
    assert.equal(status, 200)
    return json.transactions[0].words[0]
  }
  const bare = `Sends 123 base units of asset 7 to ${Address.encode(bob)}.`
  assert.equal(await first(nodeWith({}), transfer), `Sends 1.23 GLD (asset 7) to ${Address.encode(bob)}.`)
  assert.equal(await first(nodeWith({}), { ...transfer, gh: alice }), bare, 'of another network')
  assert.equal(await first(undefined, transfer), bare)
  const fails = async (): Promise<never> => {
    throw new Error('down')
  }
  assert.equal(await first(nodeWith({ parameters: fails }), transfer), bare)
  assert.equal(await first(nodeWith({ asset: fails }), transfer), bare)
  assert.equal(await first(nodeWith({ asset: () => new Promise(() => {}) }), transfer), bare, 'never answers')
  assert.match(await first(nodeWith({ parameters: fails }), payment), /^Pays 1 ALGO/, 'no query without need')
})

test('no wallet is needed, but the token is', async (t) => {
  const app = createApp(t)
  const transaction = base64(Transaction.encode(payment))
  const rejected = await app.request('POST', path, { body: { transaction }, headers: { 'x-kmd-api-token': 'wrong' } })
  assert.deepEqual([rejected.status, rejected.json.message], [401, 'invalid API token'])
})

test('anything that is not one transaction or group is rejected', async (t) => {
  const app = createApp(t)
  const bytes = Transaction.encode(payment)
  const seventeen = Bytes.concat(new Array(17).fill(bytes))
  for (const wrong of [new Uint8Array(), Uint8Array.of(0x80), Bytes.concat([bytes, Uint8Array.of(0)]), seventeen]) {
    const { status, json } = await app.post(path, { transaction: base64(wrong) })
    assert.deepEqual([status, json.message], [400, 'could not decode transaction'])
  }
  const sixteen = await app.post(path, { transaction: base64(seventeen.subarray(bytes.length)) })
  assert.equal(sixteen.json.transactions.length, 16)
  assert.deepEqual(app.failures, [])
})
