import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Ed25519, Submission, Transaction } from '@latchkey/algorand'
import { Point } from '@noble/ed25519'
import { errorMessageOf, personOf, TestNode } from '../testing/TestNode.test.helper.js'
import * as MapKey from './MapKey.js'

const order = 2n ** 252n + 27742317777372353535851937790883648493n
/** A point of order 8. */
const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')
const secret = 123_456_789n
const key = Point.BASE.multiply(secret).add(torsion)

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function scalar(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse())
}

/** Signs for the part of the key without torsion, which is valid if the equation is multiplied by the cofactor. */
function signature(message: Uint8Array, nonce: bigint): Uint8Array {
  const r = Point.BASE.multiply(nonce).toBytes()
  const k = littleEndian(createHash('sha512').update(r).update(key.toBytes()).update(message).digest()) % order
  return Uint8Array.from([...r, ...scalar((nonce + k * secret) % order)])
}

test('a transaction of a key with torsion is accepted as on a node, unless its signature is wrong', async () => {
  const node = new TestNode()
  const publicKey = key.toBytes()
  node.ledger.fund({ type: 'fund', to: MapKey.of(publicKey), microAlgos: 10_000_000n, assets: [] })
  let refusedBySodium = 0
  for (let nonce = 1n; nonce <= 8n; nonce++) {
    const txn = node.txn('pay', publicKey, { rcv: personOf(7).publicKey, amt: 100_000n })
    const message = Transaction.bytesToSign(Submission.transactionBytes(txn))
    const sig = signature(message, nonce)
    if (!Ed25519.verify(sig, message, publicKey)) refusedBySodium++
    const wrong = Uint8Array.from(sig)
    wrong[40]! ^= 1
    const refused = await node.submit(Submission.encode({ txn, sig: wrong }))
    assert.equal(errorMessageOf(refused), "At least one signature didn't pass verification")
    await node.send(Submission.encode({ txn, sig }))
  }
  // Without the cofactor, one in eight is valid.
  assert.ok(refusedBySodium > 0, 'the signatures show no difference')
})

test('a key of small order is refused', async () => {
  const node = new TestNode()
  const publicKey = torsion.toBytes()
  node.ledger.fund({ type: 'fund', to: MapKey.of(publicKey), microAlgos: 10_000_000n, assets: [] })
  const txn = node.txn('pay', publicKey, { rcv: personOf(7).publicKey, amt: 100_000n })
  const sig = Uint8Array.from([...publicKey, ...new Uint8Array(32)])
  const response = await node.submit(Submission.encode({ txn, sig }))
  assert.equal(errorMessageOf(response), "At least one signature didn't pass verification")
})
