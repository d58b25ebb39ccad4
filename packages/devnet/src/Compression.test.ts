import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { headersOf, sign, TestNode } from './testing/TestNode.test.helper.js'

/** Block 1 has about ten thousand bytes, and block 2 about a hundred thousand. */
async function setUp(): Promise<TestNode> {
  const node = new TestNode({ blocks: 'manual' })
  const person = node.funded(0)
  for (const count of [12, 100]) {
    for (let index = 0; index < count; index++) {
      const note = new Uint8Array(900).fill(index)
      await node.send(sign(node.pay(person, person, BigInt(count), { note }), person))
    }
    await node.post('/devnet/mine')
  }
  return node
}

const paths = ['/v2/blocks/1', '/v2/blocks/1?format=msgpack', '/v2/blocks/2', '/v2/blocks/2?format=msgpack']

test('large responses are compressed for clients that accept gzip', async () => {
  const node = await setUp()
  for (const path of paths) {
    const plain = await node.get(path)
    assert.deepEqual([plain.header('content-encoding'), plain.header('vary')], [undefined, 'Accept-Encoding'])
    for (const accepted of ['gzip', 'gzip, deflate', 'br;q=1.0, GZIP;q=0.5', 'x-gzip', '*', 'deflate, gzip;q=1']) {
      const headers = { 'accept-encoding': accepted }
      const compressed = await node.get(path, { headers })
      assert.deepEqual([compressed.header('content-encoding'), compressed.header('vary')], ['gzip', 'Accept-Encoding'])
      assert.equal(compressed.header('content-type'), plain.header('content-type'))
      assert.ok(compressed.bytes.length < plain.bytes.length / 2)
      assert.deepEqual(gunzipSync(compressed.bytes), Buffer.from(plain.bytes))
    }
    for (const refused of ['', 'identity', 'br', 'gzip;q=0', 'deflate, gzip;q=0.000', 'gzipped', '*;q=0']) {
      const same = await node.get(path, { headers: { 'accept-encoding': refused } })
      assert.deepEqual([same.header('content-encoding'), same.text], [undefined, plain.text], refused)
    }
  }
})

test('small responses and errors are not compressed', async () => {
  const node = await setUp()
  const headers = { 'accept-encoding': 'gzip' }
  for (const path of ['/v2/status', '/health', '/v2/blocks/99', '/v2/nope']) {
    const names = Object.keys(await headersOf(node, 'GET', path, { headers }))
    assert.deepEqual(names, ['content-type'])
  }
})
