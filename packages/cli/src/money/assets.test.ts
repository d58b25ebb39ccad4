import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountHoldings } from '@latchkey/algod'
import { assetOfHolding, findAsset, formatAmount, nameOf, readAmount } from './assets.js'
import { FakeNode, openTestChain } from './chain.test.helper.js'

const usdc = 10458941n

/** Assets by id, with unit and decimals. */
function nodeWith(assets: { [id: string]: readonly [string | undefined, number] }): FakeNode {
  const node = new FakeNode()
  const fetch = node.fetch
  const answer = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const [, id] = /\/v2\/assets\/([0-9]+)$/.exec(String(input)) ?? []
    const found = id === undefined ? undefined : assets[id]
    if (id !== undefined && found === undefined) return new Response('{"message":"no"}', { status: 404 })
    if (found === undefined) return fetch(input, init)
    return new Response(JSON.stringify({ params: { 'unit-name': found[0], decimals: found[1] } }))
  }
  Object.defineProperty(node, 'fetch', { value: answer })
  return node
}

function holderOf(...ids: bigint[]): AccountHoldings {
  const holdings = ids.map((assetId) => ({ assetId, amount: 5n, isFrozen: false }))
  return { microAlgos: 1n, minBalance: 1n, authAddress: undefined, holdings, holdingCount: holdings.length }
}

test('reads amounts with the decimals of their asset', async () => {
  const chain = await openTestChain(nodeWith({ 7: ['CENT', 2], 8: [undefined, 0] }))
  const read = async (text: string): Promise<[bigint, bigint]> => {
    const { asset, units } = await readAmount(chain, text, holderOf(7n))
    return [asset.assetId, units]
  }
  assert.deepEqual(await read('2.5 USDC'), [usdc, 2_500_000n])
  assert.deepEqual(await read('1,000.5 usdc'), [usdc, 1_000_500_000n])
  assert.deepEqual(await read('1 ALGO'), [0n, 1_000_000n])
  assert.deepEqual(await read('0.000001algo'), [0n, 1n])
  assert.deepEqual(await read('2.5 CENT'), [7n, 250n])
  assert.deepEqual(await read('3 #8'), [8n, 3n])
})

test('refuses invalid amounts, a missing unit, too many decimals, and zero', async () => {
  const chain = await openTestChain(nodeWith({}))
  for (const [text, says] of [
    ['', /is not an amount/],
    ['USDC', /is not an amount/],
    ['-1 ALGO', /is not an amount/],
    ['1e3 ALGO', /is not an amount/],
    ['0x10 ALGO', /is not an amount|unit/],
    ['1', /the amount 1 has no unit/],
    ['1.0000001 ALGO', /too many decimals: ALGO has 6 decimals/],
    ['0 ALGO', /zero/],
    ['0.000000 USDC', /zero/],
    ['99999999999999999999 ALGO', /exceeds the maximum supply of an asset/],
  ] as const) {
    await assert.rejects(readAmount(chain, text), says, text)
  }
})

test('refuses a unit that matches several assets, and lists them', async () => {
  const chain = await openTestChain(nodeWith({ 7: ['GOLD', 2], 8: ['gold', 0], 9: ['OTHER', 0] }))
  await assert.rejects(findAsset(chain, 'Gold', holderOf(7n, 8n, 9n)), {
    code: 'asset_ambiguous',
    message: 'Gold matches several assets: GOLD (asset 7), gold (asset 8)',
  })
  assert.equal((await findAsset(chain, 'GOLD', holderOf(8n, 9n))).assetId, 8n)
  // The account holds more assets than the node lists, so another one may have the same unit.
  await assert.rejects(findAsset(chain, 'GOLD', { ...holderOf(8n), holdingCount: 500 }), { code: 'asset_not_found' })
})

test("the network's dollar is found by its unit, regardless of the account's other assets", async () => {
  const chain = await openTestChain(nodeWith({ 7: ['USDC', 0] }))
  assert.equal((await findAsset(chain, 'USDC', holderOf(7n))).assetId, usdc)
  await assert.rejects(findAsset(chain, 'EURC', holderOf(7n)), {
    code: 'asset_not_found',
    message: 'no asset with the unit EURC was found; the account holds USDC (asset 7)',
  })
})

test('a network without a dollar asset has none by that unit', async () => {
  const node = nodeWith({ 5: ['DOL', 6] })
  await assert.rejects(findAsset(await openTestChain(node, { network: 'betanet' }), 'USDC'), {
    code: 'asset_not_found',
  })
  const chain = await openTestChain(node, { network: 'betanet', dollarAssetId: 5n })
  assert.deepEqual([(await findAsset(chain, 'USDC')).assetId, (await findAsset(chain, 'dol')).assetId], [5n, 5n])
})

test('an untrusted unit is one printable line', async () => {
  const chain = await openTestChain(nodeWith({ 7: ['\u001b[2JX', 0] }))
  const asset = await assetOfHolding(chain, 7n)
  assert.equal(formatAmount({ asset, units: 3n }), '3 "?[2JX"')
  assert.equal(nameOf(asset), '"?[2JX" (asset 7)')
  assert.equal(formatAmount({ asset: { assetId: 7n, decimals: 0, unit: 'Algo' }, units: 3n }), '3 "Algo"')
  assert.equal(formatAmount({ asset: { assetId: 7n, decimals: 0, unit: '#7' }, units: 3n }), '3 #7')
})

test('a holding of a destroyed asset does not hide the others', async () => {
  const chain = await openTestChain(nodeWith({ 7: ['GOLD', 2] }))
  assert.equal((await findAsset(chain, 'GOLD', holderOf(7n, 9n))).assetId, 7n)
})

test('a holding of a destroyed asset stays readable', async () => {
  const chain = await openTestChain(nodeWith({}))
  assert.deepEqual(await assetOfHolding(chain, 9n), { assetId: 9n, decimals: 0, unit: '#9' })
  const down = new FakeNode()
  down.on('GET asset', () => 'refuse')
  await assert.rejects(assetOfHolding(await openTestChain(down), 9n), { name: 'AlgodError' })
})
