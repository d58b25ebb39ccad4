import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IndexerNode } from '../testing/IndexerNode.test.helper.js'
import { alice, bob, carol, indexedHistory, jointAddress } from '../testing/indexedHistory.test.helper.js'
import { createAsset, errorMessageOf, fund, personOf, sign } from '../testing/TestNode.test.helper.js'

/** Returns the addresses of all pages. */
async function addresses(node: IndexerNode, query: string): Promise<string[]> {
  const found: string[] = []
  let next = ''
  for (;;) {
    const page = await node.read(`/v2/accounts?${query}${next}`)
    for (const { address } of page.accounts) found.push(address)
    if (page['next-token'] === undefined) return found
    next = `&next=${page['next-token']}`
  }
}

test('an account has its balance, its rounds and the form of its signatures', async () => {
  const { node, roundOf } = await indexedHistory()
  const { account, 'current-round': round } = await node.read(`/v2/accounts/${bob.address}`)
  assert.equal(round, Number(node.ledger.last.round))
  assert.deepEqual(account, {
    address: bob.address,
    amount: Number(node.ledger.state.account(bob.key).microAlgos),
    'amount-without-pending-rewards': account.amount,
    'auth-addr': alice.address,
    'created-at-round': 0,
    deleted: false,
    'min-balance': 100_000,
    'pending-rewards': 0,
    'reward-base': 0,
    rewards: 0,
    round,
    'sig-type': 'sig',
    status: 'Offline',
    'total-apps-opted-in': 0,
    'total-assets-opted-in': 0,
    'total-box-bytes': 0,
    'total-boxes': 0,
    'total-created-apps': 0,
    'total-created-assets': 0,
  })
  const joint = (await node.read(`/v2/accounts/${jointAddress}`)).account
  assert.deepEqual([joint['sig-type'], joint['created-at-round']], ['msig', Number(roundOf('fund joint'))])
})

test('closed accounts, holdings and assets are shown only with include-all', async () => {
  const { node, assetId, roundOf } = await indexedHistory()
  const closed = Number(roundOf('close'))
  const missing = await node.ask(`/v2/accounts/${carol.address}`)
  assert.equal(errorMessageOf(missing, 404), `no accounts found for address: ${carol.address}`)
  const { account } = await node.read(`/v2/accounts/${carol.address}?include-all=true`)
  assert.deepEqual(
    [account.amount, account.deleted, account['created-at-round'], account['closed-at-round'], account['sig-type']],
    [0, true, 0, closed, 'sig'],
  )
  assert.equal((await node.read(`/v2/accounts/${bob.address}`)).account.assets, undefined)
  const [holding] = (await node.read(`/v2/accounts/${bob.address}?include-all=true`)).account.assets
  assert.deepEqual(holding, {
    amount: 0,
    'asset-id': Number(assetId),
    deleted: true,
    'is-frozen': true,
    'opted-in-at-round': Number(roundOf('opt in')),
    'opted-out-at-round': Number(roundOf('opt out')),
  })
  const [created] = (await node.read(`/v2/accounts/${alice.address}?include-all=true`)).account['created-assets']
  assert.deepEqual(created, {
    'created-at-round': Number(roundOf('create')),
    deleted: true,
    'destroyed-at-round': Number(roundOf('destroy')),
    index: Number(assetId),
    params: { creator: alice.address, decimals: 0, 'default-frozen': false, total: 0 },
  })
  for (const exclude of ['all', 'assets,created-assets']) {
    const short = (await node.read(`/v2/accounts/${alice.address}?include-all=true&exclude=${exclude}`)).account
    assert.deepEqual([short.assets, short['created-assets']], [undefined, undefined])
  }
})

test('a reopened account keeps the round of its creation and of its last closing', async () => {
  const { node, roundOf } = await indexedHistory()
  await node.send(sign(node.pay(alice, carol, 200_000n), alice))
  const { account } = await node.read(`/v2/accounts/${carol.address}`)
  assert.deepEqual(
    [account.deleted, account['created-at-round'], account['closed-at-round']],
    [false, 0, Number(roundOf('close'))],
  )
})

test('a payment of zero creates no account', async () => {
  const { node } = await indexedHistory()
  const stranger = personOf(9)
  await node.send(sign(node.pay(alice, stranger, 0n), alice))
  assert.equal((await node.ask(`/v2/accounts/${stranger.address}?include-all=true`)).status, 404)
})

test('accounts are searched in the order of their addresses, page by page', async () => {
  const { node, assetId } = await indexedHistory()
  const live = [...node.ledger.state.allAccounts().keys()]
  const all = await addresses(node, 'limit=2')
  assert.equal(all.length, live.length)
  assert.equal(new Set(all).size, all.length)
  assert.deepEqual(await addresses(node, 'limit=1000'), all)
  assert.equal(all.includes(carol.address), false)
  assert.ok((await addresses(node, 'include-all=true')).includes(carol.address))
  assert.deepEqual(await addresses(node, `auth-addr=${alice.address}`), [bob.address])
  assert.deepEqual(await addresses(node, 'currency-greater-than=90000000&currency-less-than=110000000'), [bob.address])
  // Former holders of the asset are found too, as on an indexer.
  const holders = await addresses(node, `asset-id=${assetId}`)
  assert.deepEqual(new Set(holders), new Set([alice.address, bob.address]))
  assert.deepEqual(await addresses(node, `asset-id=${assetId}&currency-greater-than=0`), [])
  assert.deepEqual(await addresses(node, 'application-id=5'), [])
})

test('online-only finds accounts with registered keys', async () => {
  const node = new IndexerNode()
  const before = await addresses(node, 'online-only=true')
  fund(node, alice, 10_000_000n)
  const keys = {
    votekey: new Uint8Array(32).fill(1),
    selkey: new Uint8Array(32).fill(2),
    sprfkey: new Uint8Array(64).fill(3),
    votefst: 1n,
    votelst: 1000n,
    votekd: 10n,
  }
  await node.send(sign(node.txn('keyreg', alice, keys), alice))
  assert.deepEqual(new Set(await addresses(node, 'online-only=true')), new Set([...before, alice.address]))
  const { account } = await node.read(`/v2/accounts/${alice.address}`)
  assert.equal(account.status, 'Online')
  assert.equal(account.participation['vote-last-valid'], 1000)
})

test('an account can be shown as of an earlier round', async () => {
  const { node, assetId, roundOf } = await indexedHistory()
  const amounts = async (round: bigint): Promise<[number, number | undefined]> => {
    const { account } = await node.read(`/v2/accounts/${bob.address}?round=${round}`)
    assert.equal(account.round, Number(round))
    const held = account.assets?.find((one: { 'asset-id': number }) => one['asset-id'] === Number(assetId))
    return [account.amount, held?.amount]
  }
  assert.deepEqual(await amounts(roundOf('pay')), [100_001_000, 0])
  assert.deepEqual(await amounts(roundOf('opt in')), [100_000_000, 0])
  assert.deepEqual(await amounts(roundOf('transfer')), [100_000_000, 300])
  assert.deepEqual(await amounts(roundOf('claw back')), [100_000_000, 200])
  const closed = await node.read(`/v2/accounts/${carol.address}?round=1&include-all=true`)
  assert.equal(closed.account.amount, 100_000_000)
  const start = 'failed while searching for account: error while rewinding account:'
  const tooLate = await node.ask(`/v2/accounts/${bob.address}?round=999`)
  assert.equal(
    errorMessageOf(tooLate, 500),
    `${start} the requested round 999 > the current round ${node.ledger.last.round}`,
  )
})

test('blocks that are added while a request waits for its turn are not undone twice', async () => {
  const { node, roundOf } = await indexedHistory()
  const round = roundOf('rekeyed')
  const target = `/v2/accounts/${alice.address}?round=${round}`
  const { amount } = (await node.read(target)).account
  const [, second] = [node.read('/v2/accounts'), node.read(target)]
  await node.send(sign(node.pay(alice, bob, 5_000n), alice))
  const { account, 'current-round': current } = await second
  assert.deepEqual([account.amount, current], [amount, Number(node.ledger.last.round)])
})

test('a holding that is closed while a request waits for its turn is not listed', async () => {
  const node = new IndexerNode()
  for (const one of [alice, bob]) fund(node, one, 100_000_000n)
  const xaid = await createAsset(node, alice)
  await node.send(sign(node.txn('axfer', bob, { xaid, arcv: bob.publicKey }), bob))
  const target = `/v2/accounts/${bob.address}/assets`
  assert.equal((await node.read(target)).assets.length, 1)
  const [, second] = [node.read('/v2/accounts'), node.read(target)]
  await node.send(sign(node.txn('axfer', bob, { xaid, arcv: alice.publicKey, aclose: alice.publicKey }), bob))
  assert.deepEqual((await second).assets, [])
})

test('a round whose blocks were dropped can no longer be shown', async () => {
  const { node } = await indexedHistory({ history: { blocks: 3, bytes: 2 ** 30 } })
  const response = await node.ask(`/v2/accounts/${bob.address}?round=2`)
  assert.match(
    errorMessageOf(response, 500),
    new RegExp(`blocks before round ${node.ledger.oldestRound} are not kept$`),
  )
})

test('an account with more than 1,000 assets is only shown without them', async () => {
  const node = new IndexerNode({ blocks: 'manual' })
  fund(node, alice, 1_000_000_000_000n)
  for (let count = 0; count < 501; count++) await createAsset(node, alice, { t: 1n })
  node.node.mine(1)
  const { status, json } = await node.ask(`/v2/accounts/${alice.address}`)
  assert.deepEqual([status, json.message], [400, 'Result limit exceeded'])
  assert.deepEqual(json.data, {
    address: alice.address,
    'max-results': 1000,
    'total-apps-opted-in': 0,
    'total-assets-opted-in': 501,
    'total-created-apps': 0,
    'total-created-assets': 501,
  })
  assert.equal((await node.ask('/v2/accounts')).status, 400)
  assert.equal((await node.read(`/v2/accounts/${alice.address}?exclude=assets`)).account['created-assets'].length, 501)
})

test('invalid parameters get the errors of an indexer', async () => {
  const { node } = await indexedHistory()
  const cases: [target: string, message: string][] = [
    ['/v2/accounts?round=5', 'multiple accounts rewind is not supported by this server'],
    [
      '/v2/accounts?online-only=true&include-all=true',
      'simultaneously searching for online and deleted accounts is not supported',
    ],
    ['/v2/accounts?exclude=x', 'unknown value "x": invalid exclude argument'],
    ['/v2/accounts?next=x', 'unable to parse next token'],
    ['/v2/accounts?auth-addr=x', 'unable to parse auth addr: illegal base32 data at input byte 0'],
    ['/v2/accounts/AAAA', 'unable to parse address: decoded address is the wrong length, should be 36 bytes'],
    [
      `/v2/accounts/${'A'.repeat(58)}`,
      'unable to parse address: address checksum is incorrect, did you copy the address correctly?',
    ],
    ['/v2/accounts/x/assets', 'unable to parse address: illegal base32 data at input byte 0'],
  ]
  for (const [target, message] of cases) assert.equal(errorMessageOf(await node.ask(target)), message, target)
})

test('a search that runs during a reset shows nothing that is gone', async () => {
  const node = new IndexerNode()
  for (let seed = 0; seed < 3_000; seed++) {
    const bytes = new Uint8Array(32).fill(7)
    new DataView(bytes.buffer).setUint32(0, seed)
    node.ledger.fund({ type: 'fund', to: Buffer.from(bytes).toString('latin1'), microAlgos: 100_000n, assets: [] })
  }
  const searching = node.read('/v2/accounts?include-all=true&limit=1000')
  const headers = node.read('/v2/block-headers')
  node.node.reset()
  const { accounts } = await searching
  assert.deepEqual(
    accounts.filter(({ deleted }: { deleted: boolean }) => deleted),
    [],
  )
  assert.equal((await headers).blocks.length, 1)
  assert.deepEqual(node.errors, [])
})
