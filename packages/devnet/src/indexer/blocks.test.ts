import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alice, indexedHistory } from '../testing/indexedHistory.test.helper.js'
import { errorMessageOf } from '../testing/TestNode.test.helper.js'

test('a block has the members of its header, and its transactions', async () => {
  const { node, ids, roundOf } = await indexedHistory()
  const round = roundOf('first of group')
  const { transactions, ...header } = await node.read(`/v2/blocks/${round}`)
  assert.deepEqual(
    transactions.map(({ id }: { id: string }) => id),
    [ids.get('first of group'), ids.get('second of group')],
  )
  const block = node.ledger.block(round)!
  const previous = node.ledger.block(round - 1n)!
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  assert.equal(header.round, Number(round))
  assert.equal(header.timestamp, Number(block.timestamp))
  assert.equal(header['previous-block-hash'], base64(previous.hash))
  assert.equal(header['previous-block-hash-512'], base64(previous.hash512))
  assert.equal(header['fees-collected'], 2000)
  assert.equal(header['genesis-id'], 'dockernet-v1')
  assert.deepEqual(header['upgrade-vote'], { 'upgrade-approve': false, 'upgrade-delay': 0 })
  assert.equal(header['txn-counter'], 1000 + 16)
  assert.deepEqual((await node.read(`/v2/blocks/${round}?header-only=true`)).transactions, [])
  assert.deepEqual(header['state-proof-tracking'], [{ 'next-round': 512, 'online-total-weight': 0, type: 0 }])
  const genesis = await node.read('/v2/blocks/0')
  assert.deepEqual([genesis.round, genesis.timestamp, genesis.transactions], [0, 0, []])
  assert.equal(genesis['previous-block-hash'], base64(new Uint8Array(32)))
  assert.deepEqual(genesis['state-proof-tracking'], [])
})

test('a block that commits to the voters of state proofs has their stake', async () => {
  const { node } = await indexedHistory()
  while (node.ledger.last.round < 256n) node.ledger.closeBlock()
  const [tracking] = (await node.read('/v2/blocks/256'))['state-proof-tracking']
  assert.equal(BigInt(tracking['online-total-weight']), node.ledger.state.totals.Online.microAlgos)
  assert.equal(Buffer.from(tracking['voters-commitment'], 'base64').length, 64)
})

test('headers are searched by round and time, page by page', async () => {
  const { node } = await indexedHistory()
  const last = Number(node.ledger.last.round)
  const search = async (query: string): Promise<number[]> =>
    (await node.read(`/v2/block-headers?${query}`)).blocks.map(({ round }: { round: number }) => round)
  assert.deepEqual(
    await search(''),
    Array.from({ length: last + 1 }, (_, round) => round),
  )
  assert.deepEqual(await search('min-round=3&max-round=5'), [3, 4, 5])
  const first = await node.read('/v2/block-headers?limit=2&min-round=3')
  assert.equal(first.blocks[0].transactions, undefined)
  assert.deepEqual(await search(`limit=2&min-round=3&next=${encodeURIComponent(first['next-token'])}`), [5, 6])
  assert.deepEqual(await search('before-time=2001-01-01'), [0])
  assert.deepEqual((await search('after-time=2001-01-01')).length, last)
  assert.deepEqual(await search(`proposers=${alice.address}`), [])
})

test('invalid parameters get the errors of an indexer', async () => {
  const { node } = await indexedHistory()
  const cases: [target: string, status: number, message: string][] = [
    ['/v2/blocks/99', 404, "error while looking up block for round '99': block not found"],
    [
      '/v2/blocks/x',
      400,
      'Invalid format for parameter round-number: error binding string parameter: strconv.ParseUint: parsing "x": invalid syntax',
    ],
    ['/v2/block-headers?min-round=5&max-round=1', 400, 'min-round must be less than max-round'],
    [
      '/v2/block-headers?after-time=2099-01-01&before-time=2001-01-01',
      400,
      'invalid input: after-time must be less than before-time',
    ],
    [
      `/v2/block-headers?expired=${alice.address}&absent=${alice.address}`,
      400,
      'only one of `proposer`, `expired`, or `absent` can be specified',
    ],
    ['/v2/block-headers?proposers=x', 400, 'unable to parse proposer address `x`: illegal base32 data at input byte 0'],
  ]
  for (const [target, status, message] of cases) {
    assert.equal(errorMessageOf(await node.ask(target), status), message, target)
  }
})
