import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IndexerNode } from '../testing/IndexerNode.test.helper.js'
import { alice, bob, indexedHistory } from '../testing/indexedHistory.test.helper.js'
import { createAsset, errorMessageOf, fund, personOf, sign } from '../testing/TestNode.test.helper.js'

const zeroAddress = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'

test('an asset has its parameters and the round of its creation', async () => {
  const node = new IndexerNode()
  fund(node, alice, 10_000_000n)
  const hash = new Uint8Array(32).fill(5)
  const id = await createAsset(node, alice, {
    t: 2n ** 64n - 1n,
    dc: 6,
    df: true,
    un: 'U',
    an: 'N',
    au: 'url',
    am: hash,
  })
  const response = await node.ask(`/v2/assets/${id}`)
  assert.match(response.text, /"total":18446744073709551615/)
  assert.deepEqual(response.json.asset, {
    'created-at-round': 1,
    deleted: false,
    index: Number(id),
    params: {
      clawback: zeroAddress,
      creator: alice.address,
      decimals: 6,
      'default-frozen': true,
      freeze: zeroAddress,
      manager: zeroAddress,
      'metadata-hash': Buffer.from(hash).toString('base64'),
      name: 'N',
      'name-b64': 'Tg==',
      reserve: zeroAddress,
      total: 2 ** 64,
      'unit-name': 'U',
      'unit-name-b64': 'VQ==',
      url: 'url',
      'url-b64': 'dXJs',
    },
  })
})

test('a destroyed asset is shown only with include-all, without its parameters', async () => {
  const { node, assetId, roundOf } = await indexedHistory()
  const missing = await node.ask(`/v2/assets/${assetId}`)
  assert.equal(errorMessageOf(missing, 404), `no assets found for asset-id: ${assetId}`)
  const { asset } = await node.read(`/v2/assets/${assetId}?include-all=true`)
  assert.deepEqual(
    [asset.deleted, asset['created-at-round'], asset['destroyed-at-round'], asset.params.total, asset.params.creator],
    [true, Number(roundOf('create')), Number(roundOf('destroy')), 0, alice.address],
  )
})

test('assets are searched by name, unit, creator and id, page by page', async () => {
  const node = new IndexerNode()
  for (const one of [alice, bob]) fund(node, one, 10_000_000n)
  const gold = Number(await createAsset(node, alice, { t: 1n, an: 'Gold coin', un: 'GLD' }))
  const silver = Number(await createAsset(node, alice, { t: 1n, an: 'Silver Coin', un: 'SLV' }))
  const other = Number(await createAsset(node, bob, { t: 1n }))
  const genesis = [...node.genesis.assets.keys()].map(Number).sort((a, b) => a - b)
  const search = async (query: string): Promise<number[]> =>
    (await node.read(`/v2/assets?${query}`)).assets.map(({ index }: { index: number }) => index)
  assert.deepEqual(await search(''), [gold, silver, other, ...genesis])
  assert.deepEqual(await search('name=coin'), [gold, silver])
  assert.deepEqual(await search('name=silver'), [silver])
  assert.deepEqual(await search('unit=gld'), [gold])
  assert.deepEqual(await search(`creator=${alice.address}`), [gold, silver])
  assert.deepEqual(await search(`creator=${bob.address}`), [other])
  assert.deepEqual(await search(`asset-id=${silver}`), [silver])
  assert.deepEqual(await search(`asset-id=${silver}&creator=${bob.address}`), [])
  const first = await node.read('/v2/assets?limit=1')
  assert.equal(first['next-token'], String(gold))
  assert.deepEqual(await search(`limit=1&next=${first['next-token']}`), [silver])
  const created = await node.read(`/v2/accounts/${alice.address}/created-assets?limit=1&next=${gold}`)
  assert.deepEqual(
    created.assets.map(({ index }: { index: number }) => index),
    [silver],
  )
})

test('balances are those of all holders, page by page', async () => {
  const node = new IndexerNode()
  fund(node, alice, 100_000_000n)
  const id = await createAsset(node, alice, { t: 1_000n })
  const holders = Array.from({ length: 5 }, (_, index) => personOf(20 + index))
  for (const [index, holder] of holders.entries())
    fund(node, holder, 1_000_000n, [{ assetId: id, amount: BigInt(index) }])
  const leaver = holders[0]!
  await node.send(sign(node.txn('axfer', leaver, { xaid: id, arcv: alice.publicKey, aclose: alice.publicKey }), leaver))
  const read = async (query: string): Promise<Map<string, number>> => {
    const found = new Map<string, number>()
    let next = ''
    for (;;) {
      const page = await node.read(`/v2/assets/${id}/balances?limit=2&${query}${next}`)
      for (const { address, amount } of page.balances) found.set(address, amount)
      if (page['next-token'] === undefined) return found
      next = `&next=${page['next-token']}`
    }
  }
  const expected = [[alice, 990] as const, ...holders.map((holder, index) => [holder, index] as const)]
  const asMap = (entries: readonly (readonly [{ address: string }, number])[]): Map<string, number> =>
    new Map(entries.map(([{ address }, amount]) => [address, amount]))
  assert.deepEqual(await read(''), asMap(expected.filter(([holder]) => holder !== leaver)))
  assert.deepEqual(await read('include-all=true'), asMap(expected))
  assert.deepEqual(await read('currency-greater-than=3'), asMap(expected.filter(([, amount]) => amount > 3)))
  assert.deepEqual(await read('currency-less-than=2'), asMap([[holders[1]!, 1]]))
  const mine = await node.read(`/v2/accounts/${leaver.address}/assets?include-all=true`)
  assert.equal(mine.assets[0].deleted, true)
  assert.deepEqual((await node.read(`/v2/accounts/${leaver.address}/assets`)).assets, [])
  assert.deepEqual((await node.read('/v2/assets/999/balances')).balances, [])
})
