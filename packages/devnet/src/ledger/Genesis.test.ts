import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import algosdk from 'algosdk'
import { TestNode } from '../testing/TestNode.test.helper.js'
import * as Genesis from './Genesis.js'
import * as MapKey from './MapKey.js'

type Document = { alloc: { addr: string; state: { [name: string]: unknown } }[]; [name: string]: unknown }

/** An independent encoding of the served document: sorted names, voting keys as bytes. */
function hashOf(document: Document): string {
  const bytes = (value: unknown, name: string): unknown =>
    ['sel', 'vote', 'stprf'].includes(name) ? Buffer.from(value as string, 'base64') : value
  const alloc = document.alloc.map((one) => ({
    ...one,
    state: Object.fromEntries(Object.entries(one.state).map(([name, value]) => [name, bytes(value, name)])),
  }))
  return createHash('sha512-256')
    .update('GE')
    .update(algosdk.msgpackRawEncode({ ...document, alloc }))
    .digest('base64')
}

const parse = (json: string): Document =>
  algosdk.parseJSON(json, { intDecoding: algosdk.IntDecoding.BIGINT }) as Document

test('the reference hash matches that of a real node', () => {
  const path = new URL('../../src/ledger/fixtures/genesis.json', import.meta.url)
  const { genesis, hash } = JSON.parse(readFileSync(path, 'utf8'))
  assert.equal(hashOf(genesis), hash)
})

for (const accountCount of [0, 1, 5, 100]) {
  test(`the served genesis with ${accountCount} accounts has the genesis hash`, () => {
    const { chain, json } = Genesis.make({ accountCount })
    assert.equal(hashOf(parse(json)), Buffer.from(MapKey.bytes(chain.genesisHash)).toString('base64'))
  })
}

test('takes a given hash, with the id of its public network', () => {
  const { testnet } = Network
  const { chain, json } = Genesis.make({ accountCount: 1, genesisHash: testnet.genesisHash })
  assert.equal(Buffer.from(MapKey.bytes(chain.genesisHash)).toString('base64'), testnet.genesisHash)
  assert.equal(chain.genesisId, testnet.genesisId)
  assert.deepEqual([parse(json)['network'], parse(json)['id']], ['testnet', 'v1.0'])
  const other = Genesis.make({ accountCount: 1, genesisHash: Buffer.alloc(32, 7).toString('base64') })
  assert.equal(other.chain.genesisId, 'dockernet-v1')
})

test('a given id is part of the genesis, which keeps its own hash', () => {
  const { chain, json } = Genesis.make({ accountCount: 1, genesisId: 'testnet-v1.0' })
  assert.equal(chain.genesisId, 'testnet-v1.0')
  assert.equal(hashOf(parse(json)), Buffer.from(MapKey.bytes(chain.genesisHash)).toString('base64'))
})

test('the fingerprint is the hash, or differs for every difference', () => {
  const plain = Genesis.make({ accountCount: 1 })
  assert.equal(plain.fingerprint, plain.chain.genesisHash)
  const [hash, other] = [Network.testnet.genesisHash, Network.mainnet.genesisHash]
  const all = [
    plain,
    Genesis.make({ accountCount: 2 }),
    Genesis.make({ accountCount: 1, genesisHash: hash }),
    Genesis.make({ accountCount: 2, genesisHash: hash }),
    Genesis.make({ accountCount: 1, genesisHash: hash, genesisId: 'other-v1' }),
    Genesis.make({ accountCount: 1, genesisHash: other, genesisId: Network.testnet.genesisId }),
  ]
  assert.equal(new Set(all.map(({ fingerprint }) => fingerprint)).size, all.length)
})

test('refuses an invalid hash or id', () => {
  const hash = Network.testnet.genesisHash
  for (const genesisHash of ['', 'testnet', hash.slice(0, -1), `${hash} `, hash.replace('/', '_'), `${hash}AAAA`]) {
    assert.throws(() => Genesis.make({ accountCount: 0, genesisHash }), { code: 'invalid_option' }, genesisHash)
  }
  for (const genesisId of ['', 'testnet', 'a-', '-b', 'A-v1', 'a-b-c', 'a-\n', `${'a'.repeat(33)}-v1`]) {
    assert.throws(() => Genesis.make({ accountCount: 0, genesisId }), { code: 'invalid_option' }, genesisId)
  }
})

test('all Algos are allocated, and every account is distinct', () => {
  for (const accountCount of [0, 5, 100]) {
    const document = parse(Genesis.make({ accountCount }).json)
    const amounts = document.alloc.map(({ state }) => state['algo'] as bigint)
    const toPools = 200_000n
    assert.equal(amounts.reduce((sum, amount) => sum + amount) - toPools, 15_000_000_000_000_000n)
    assert.equal(new Set(document.alloc.map(({ addr }) => addr)).size, accountCount + 6)
    assert.ok(
      amounts.every((amount) => amount <= Number.MAX_SAFE_INTEGER),
      'clients may read JSON numbers',
    )
  }
})

test("three accounts are online as in AlgoKit's local network, with 4, 4 and 2 billion Algos", () => {
  const path = new URL('../../src/ledger/fixtures/genesis.json', import.meta.url)
  const real = JSON.parse(readFileSync(path, 'utf8')).genesis as Document
  const ours = parse(Genesis.make({ accountCount: 5 }).json)
  const online = ours.alloc.filter(({ state }) => state['onl'] === 1n)
  const shapeOf = ({ state, ...rest }: Document['alloc'][number]) => ({
    ...rest,
    addr: rest.addr.length,
    names: Object.keys(state),
    algo: BigInt(state['algo'] as number),
    lengths: ['sel', 'stprf', 'vote'].map((name) => Buffer.from(state[name] as string, 'base64').length),
    keyDilution: BigInt(state['voteKD'] as number),
  })
  assert.deepEqual(online.map(shapeOf), real.alloc.filter(({ state }) => state['onl'] === 1).map(shapeOf))
  const keys = online.flatMap(({ state }) => [state['sel'], state['stprf'], state['vote']])
  assert.equal(new Set(keys).size, 9)
})

test('the ledger starts with the participation keys of the genesis', async () => {
  const node = new TestNode({ accountCount: 2 })
  const { onlineAccounts, participation, dispenser } = node.genesis
  assert.equal(onlineAccounts[0], dispenser)
  const [firstKey] = participation.map(({ account }) => account).sort()
  assert.equal(MapKey.address(firstKey!), dispenser.address, 'the first that a key daemon lists')
  assert.deepEqual(
    participation.map(({ account }) => MapKey.address(account)),
    onlineAccounts.map(({ address }) => address),
  )
  for (const { account, keys } of participation) {
    const { status, participation: recorded, assetsHeld, assetsCreated } = node.ledger.state.account(account)
    assert.deepEqual([status, recorded, assetsHeld, assetsCreated], ['Online', keys, 0, 0])
  }
  const { json } = await node.get(`/v2/accounts/${dispenser.address}`)
  assert.deepEqual([json.status, json['created-assets'], json.amount], ['Online', [], 4_000_000_000_000_000])
  const { text } = await node.get('/v2/ledger/supply')
  assert.match(text, /"online-money":10000000000000000,/)
  assert.match(text, /"total-money":15000000000000000\b/)
})

test('keys are derived from names, and match their mnemonics', () => {
  const [first, again] = [Genesis.make({ accountCount: 3 }), Genesis.make({ accountCount: 5 })]
  assert.deepEqual(first.accounts, again.accounts.slice(0, 3))
  for (const { mnemonic, address, secretKey } of [...first.onlineAccounts, first.faucet, ...first.accounts]) {
    const { addr, sk } = algosdk.mnemonicToSecretKey(mnemonic)
    assert.equal(addr.toString(), address)
    assert.equal(Buffer.from(sk).toString('base64'), secretKey)
  }
})

test('both dollar assets exist, held by the funded accounts', () => {
  const node = new TestNode({ accountCount: 2 })
  for (const assetId of [31_566_704n, 10_458_941n]) {
    const asset = node.ledger.state.asset(assetId)!
    assert.deepEqual([asset.decimals, asset.creator], [6, node.faucet.key])
    assert.equal(node.ledger.state.holding(node.funded(1).key, assetId)?.amount, 1_000_000_000_000n)
  }
})

test('limits the number of accounts', () => {
  for (const accountCount of [-1, 1.5, 101, Number.NaN])
    assert.throws(() => Genesis.make({ accountCount }), { code: 'invalid_option' })
})
