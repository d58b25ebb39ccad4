import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FakeResponse, genesisHash, missing, ok, refused } from './FakeNode.test.helper.js'
import { Algod } from './index.js'

const address = 'A'.repeat(58)

function algodWith(response: FakeResponse): { algod: Algod; bodies: string[] } {
  const bodies: string[] = []
  const fetch = async (_input: unknown, init: RequestInit = {}): Promise<Response> => {
    bodies.push(Buffer.from((init.body as Uint8Array | undefined) ?? []).toString())
    if (typeof response === 'string') throw new TypeError('fetch failed')
    return new Response(JSON.stringify(response.body), { status: response.status })
  }
  return { algod: new Algod({ nodes: [{ url: 'http://node.test' }], fetch }), bodies }
}

test('a devnet identifies itself as one, and other nodes do not', async () => {
  const body = { 'development-only': true, 'genesis-hash': genesisHash, dollars: [31566704, 10458941] }
  const info = await algodWith(ok(body)).algod.devnet()
  assert.deepEqual(info?.dollarAssetIds, [31566704n, 10458941n])
  assert.equal(Buffer.from(info!.genesisHash).toString('base64'), genesisHash)
  assert.equal(await algodWith(missing).algod.devnet(), undefined)
  for (const other of [{ ...body, 'development-only': 'yes' }, { ...body, dollars: ['x'] }, {}]) {
    await assert.rejects(algodWith(ok(other)).algod.devnet(), { code: 'not_a_node' })
  }
})

test('the faucet gets amounts as text, and its refusal is an error', async () => {
  const { algod, bodies } = algodWith(ok({ amount: 5, round: 3 }))
  const asset = { assetId: 7n, amount: 2n ** 63n }
  assert.deepEqual(await algod.fund({ address, microAlgos: 2n ** 60n, asset }), { microAlgos: 5n, round: 3n })
  assert.deepEqual(JSON.parse(bodies[0]!), {
    ...{ address, microAlgos: '1152921504606846976' },
    ...{ assetId: '7', amount: '9223372036854775808' },
  })
  const { algod: empty } = algodWith(refused('the faucet has no ALGO left'))
  await assert.rejects(empty.fund({ address }), { code: 'rejected', message: /the faucet has no ALGO left/ })
  await assert.rejects(algodWith(missing).algod.fund({ address }), { code: 'not_found' })
})
