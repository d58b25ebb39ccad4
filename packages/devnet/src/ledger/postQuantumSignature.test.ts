/**
 * Falcon signatures of algosdk's signer and the library `falcon-signatures` 1.4.0: a payment of 0.1 Algos, the same one
 * without its signature, and one by a program to which the account is delegated.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Submission } from '@latchkey/algorand'
import { errorMessageOf, TestNode } from '../testing/TestNode.test.helper.js'
import * as Genesis from './Genesis.js'
import * as MapKey from './MapKey.js'

const file = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src', 'testdata', 'falcon.json')
type Recorded = {
  readonly address: string
  readonly signed: string
  readonly empty: string
  readonly delegated: string
}
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recorded
const [signed, empty, delegated] = [recorded.signed, recorded.empty, recorded.delegated].map((text) =>
  Buffer.from(text, 'base64'),
) as [Buffer, Buffer, Buffer]

function setUp() {
  const genesisHash = Buffer.alloc(32, 7).toString('base64')
  const node = new TestNode({ genesis: () => Genesis.make({ accountCount: 3, genesisHash, genesisId: 'falcon-v1' }) })
  const to = MapKey.fromAddress(recorded.address)
  node.ledger.fund({ type: 'fund', to, microAlgos: 1_000_000n, assets: [] })
  return { node, balance: () => node.ledger.state.account(to).microAlgos }
}

/** The same transaction with another signature. */
function changed(bytes: Uint8Array, change: (pqsig: Submission.PostQuantumSignature) => object): Uint8Array {
  const submitted = Submission.decodeFirst(bytes).signed
  return Submission.encode({ ...submitted, pqsig: { ...submitted.pqsig, ...change(submitted.pqsig!) } })
}

test('an account with a Falcon key pays, and delegates itself to a program', async () => {
  const { node, balance } = setUp()
  await node.send(signed)
  assert.equal(balance(), 1_000_000n - 103_000n)
  await node.send(delegated)
  assert.equal(balance(), 1_000_000n - 206_001n)
  assert.deepEqual(node.errors, [])
})

test('damaged Falcon signatures are refused', async () => {
  const { node, balance } = setUp()
  const flipped = (bytes: Uint8Array | undefined, index: number) =>
    bytes!.map((byte, at) => (at === index ? byte ^ 1 : byte))
  const messages = [
    changed(signed, ({ sig }) => ({ sig: flipped(sig, 100) })),
    changed(signed, ({ pk }) => ({ pk: flipped(pk, 100) })),
    changed(signed, ({ slt }) => ({ slt: (slt ?? 0) + 1 })),
    changed(signed, () => ({ sch: Buffer.from('f2') })),
    changed(signed, ({ pk }) => ({ pk: pk!.subarray(1) })),
    empty,
  ].map(async (bytes) => errorMessageOf(await node.submit(bytes)).replace(/^transaction \{.*\} invalid : /, ''))
  const [signature, key, salt, scheme, short, missing] = await Promise.all(messages)
  assert.equal(signature, "At least one signature didn't pass verification")
  assert.match(key!, /^PQSig (is of|has an address)/)
  assert.match(salt!, /^PQSig has (a salt that is not the lowest one|an address)/)
  assert.deepEqual(
    [scheme, short, missing],
    ['PQSig has an unknown scheme', 'PQSig has a public key of 1792 bytes instead of 1793', 'signedtxn has no sig'],
  )
  assert.equal(balance(), 1_000_000n)
})

test('a Falcon signature has twice the usage of a transaction in addition, also in simulations without it', async () => {
  const { node } = setUp()
  const simulated = await node.simulate([empty], { 'allow-empty-signatures': true })
  const [group] = simulated.json['txn-groups']
  assert.deepEqual([group['failure-message'], group['group-usage']], [undefined, 3_000_000])
  assert.match((await node.simulate([empty])).json['txn-groups'][0]['failure-message'], /signedtxn has no sig/)
})
