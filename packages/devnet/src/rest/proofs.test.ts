import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Bytes, Hash, Submission } from '@latchkey/algorand'
import { errorMessageOf, expectText, sign, TestNode } from '../testing/TestNode.test.helper.js'

type Proof = { hashtype: string; idx: number; proof: string; stibhash: string; treedepth: number }

const hash = (algorithm: string, ...parts: Uint8Array[]) => createHash(algorithm).update(Bytes.concat(parts)).digest()
const text = (letters: string) => Buffer.from(letters)

/** Computes the root of a proof like a verifier, from the id of the transaction upwards. */
function rootOf(algorithm: string, leafId: Uint8Array, { idx, proof, stibhash, treedepth }: Proof): string {
  const siblings = Buffer.from(proof, 'base64')
  assert.equal(siblings.length, 32 * treedepth)
  let node = hash(algorithm, text('TL'), leafId, Buffer.from(stibhash, 'base64'))
  // In a vector commitment the bits of the index are in the opposite order.
  const bits = Array.from({ length: treedepth }, (_, bit) => (idx >> bit) & 1)
  if (algorithm === 'sha256') bits.reverse()
  for (const [level, isRight] of bits.entries()) {
    const sibling = siblings.subarray(32 * level, 32 * level + 32)
    const pair = isRight ? [sibling, node] : [node, sibling]
    node = hash(algorithm, text('MA'), ...pair)
  }
  return node.toString('base64')
}

test('a proof leads from each transaction to the roots in the header, in blocks of any size', async () => {
  const node = new TestNode({ blocks: 'manual' })
  const person = node.funded(0)
  for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 17]) {
    for (let index = 0; index < size; index++) await node.send(sign(node.pay(person, person, 0n), person))
    await node.post('/devnet/mine')
    const round = node.ledger.last.round
    const { block } = (await node.get(`/v2/blocks/${round}`)).json
    const { blockTxids: ids } = (await node.get(`/v2/blocks/${round}/txids`)).json
    for (const [index, id] of ids.entries()) {
      const path = `/v2/blocks/${round}/transactions/${id}/proof`
      const proof = (await node.get(path)).json
      assert.deepEqual([proof.idx, proof.hashtype], [index, 'sha512_256'])
      assert.equal(rootOf('sha512-256', Hash.fromText(id)!, proof), block.txn)
      assert.deepEqual((await node.get(`${path}?hashtype=sha512_256`)).json, proof)

      const other = (await node.get(`${path}?hashtype=sha256`)).json
      assert.deepEqual([other.idx, other.hashtype], [index, 'sha256'])
      const { signed } = node.ledger.block(round)!.transactions[index]!
      assert.equal(rootOf('sha256', sha256Id(signed), other), block.txn256)
    }
  }
})

/** The id under SHA-256, which only the leaves of that tree use. */
function sha256Id(signed: Uint8Array): Uint8Array {
  const { txn } = Submission.decodeFirst(signed).signed
  return hash('sha256', text('TX'), Submission.transactionBytes(txn))
}

test('rejects a transaction that is not in the block, a missing block and invalid parameters', async () => {
  const node = new TestNode()
  const person = node.funded(0)
  const first = await node.send(sign(node.pay(person, person, 0n), person))
  await node.send(sign(node.pay(person, person, 0n), person))
  const get = (rest: string) => node.get(`/v2/blocks/${rest}`)
  assert.match(errorMessageOf(await get(`2/transactions/${first}/proof`), 404), /^could not find the transaction in/)
  const ledger = 'failed to retrieve information from the ledger'
  assert.equal(errorMessageOf(await get(`3/transactions/${first}/proof`), 500), ledger)
  assert.equal(errorMessageOf(await get('1/transactions/abc/proof')), 'no valid transaction ID was specified')
  assert.equal(errorMessageOf(await get(`1/transactions/${first}/proof?hashtype=md5`)), 'invalid hash type')
  assert.match(errorMessageOf(await get(`x/transactions/${first}/proof`)), /^Invalid format for parameter round: /)
  assert.deepEqual(node.errors, [])
})

test('a block has no logs, and there are no state proofs', async () => {
  const node = new TestNode()
  await node.post('/devnet/mine')
  for (const round of [0, 1]) assert.equal(expectText(await node.get(`/v2/blocks/${round}/logs`)), '{"logs":[]}\n')
  const ledger = 'failed to retrieve information from the ledger'
  assert.equal(errorMessageOf(await node.get('/v2/blocks/2/logs'), 404), ledger)
  for (const path of ['/v2/stateproofs/', '/v2/blocks/']) {
    const rest = path === '/v2/blocks/' ? '/lightheader/proof' : ''
    const none = 'no state proof can be found for that round'
    assert.equal(errorMessageOf(await node.get(`${path}1${rest}`), 404), none)
    const future = 'given round is greater than the latest round'
    assert.equal(errorMessageOf(await node.get(`${path}2${rest}`), 500), future)
  }
})
