import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sign, TestNode } from '../testing/TestNode.test.helper.js'
import { nextTax } from './Block.js'

const headerOf = async (node: TestNode, round: bigint) => (await node.get(`/v2/blocks/${round}`)).json.block

test('the header has the share of the largest block that the transactions take, in millionths', async () => {
  const node = new TestNode({ blocks: 'manual' })
  const person = node.funded(0)
  await node.post('/devnet/mine')
  assert.equal('ld' in (await headerOf(node, 1n)), false)
  for (let index = 0; index < 10; index++) {
    await node.send(sign(node.pay(person, person, 0n, { note: new Uint8Array(1024).fill(index) }), person))
  }
  await node.post('/devnet/mine')
  const bytes = (await node.get('/v2/blocks/2?format=msgpack')).bytes
  const header = (await node.get('/v2/blocks/2?format=msgpack&header-only=true')).bytes
  // The list of transactions and the certificate add a few bytes to the transactions themselves.
  const { ld, ct } = await headerOf(node, 2n)
  const rough = ((bytes.length - header.length) * 1e6) / (5 * 1024 * 1024)
  assert.ok(ld > rough - 5 && ld <= rough, `${ld} of ${rough}`)
  assert.equal(ct, undefined)
})

test('blocks that are more than half full raise the tax of the next, others lower it', async () => {
  const node = new TestNode({ blocks: 'manual' })
  const person = node.funded(0)
  const note = new Uint8Array(4096)
  for (let index = 0; index < 900; index++) {
    new DataView(note.buffer).setUint32(0, index)
    await node.send(sign(node.pay(person, person, 0n, { note: note.slice(), fee: 2000n }), person))
  }
  await node.post('/devnet/mine', { rounds: 3 })
  const headers = await Promise.all([1n, 2n, 3n].map((round) => headerOf(node, round)))
  const { ld } = headers[0]
  assert.ok(ld > 500_000 && ld < 1_000_000, `${ld}`)
  const tax = Math.floor((100_000 * (ld - 500_000)) / 500_000)
  assert.deepEqual(
    headers.map(({ ct }) => ct),
    [undefined, tax, Math.floor((tax * 900_000) / 1_000_000) - 100_000 > 0 ? 1 : undefined],
  )
})

test('computes the tax of the next block', () => {
  for (const [load, tax, next] of [
    [0n, 0n, 0n],
    [500_000n, 0n, 0n],
    [500_000n, 12_345n, 12_345n],
    [1_000_000n, 0n, 100_000n],
    [1_000_000n, 100_000n, 210_000n],
    [750_000n, 1_000_000n, 1_100_000n],
    [0n, 1_000_000n, 800_000n],
    [250_000n, 1_000_000n, 900_000n],
    [0n, 100_000n, 0n],
    [1_000_000n, 2n ** 64n - 1n, 2n ** 64n - 1n],
  ] as const) {
    assert.equal(nextTax({ load, tax }), next, `${load} ${tax}`)
  }
})
