import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PriceError } from '@latchkey/x402-wire'
import { FakeNode, genesisHash, missing, ok } from '../../../algod/dist/FakeNode.test.helper.js'
import { Chain, ChainError, checkAddress, parseAssetId } from './Chain.js'

const canonical = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
const older = `algorand:${genesisHash}`

function open(network: string, node = new FakeNode(), more = {}): Promise<Chain> {
  return Chain.open({ network, nodes: 'http://node', fetch: node.fetch as typeof fetch, ...more })
}

test('opens a public network by its name or either form of its id, without a request', async () => {
  const node = new FakeNode()
  for (const network of ['testnet', canonical, older]) {
    const chain = await open(network, node)
    assert.deepEqual([chain.caip2, chain.dollarAssetId], [canonical, 10458941n])
    assert.deepEqual([chain.matches(canonical), chain.matches(older)], [true, true])
    assert.deepEqual(chain.ids, [older, canonical])
    assert.equal(chain.matches('algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k'), false)
    assert.equal(chain.matches('eip155:1'), false)
  }
  assert.deepEqual(node.requests, [])
})

test('a local network takes its id from the node', async () => {
  const chain = await open('local')
  assert.deepEqual([chain.caip2, Buffer.from(chain.genesisHash).toString('base64')], [canonical, genesisHash])
  assert.equal(chain.dollarAssetId, undefined)
  assert.deepEqual(chain.ids, [older, canonical])
  assert.equal((await open('local', new FakeNode(), { dollarAssetId: 5n })).dollarAssetId, 5n)
})

test('refuses a node of another network, and suggests a name for a misspelled network', async () => {
  const unknown = `algorand:${'A'.repeat(32)}`
  await assert.rejects(open(unknown), ChainError)
  await assert.rejects(open('nonsense'), { code: 'unknown_network' })
  await assert.rejects(open('tesnet'), { code: 'unknown_network', hint: 'did you mean testnet?' })
  await assert.rejects(open('locall'), { code: 'unknown_network', hint: 'did you mean local?' })
  await assert.rejects(Chain.open({ network: unknown }), /has no public node/)
  for (const name of ['localnet', 'Local', 'devnet', 'lcoal']) {
    await assert.rejects(open(name), { code: 'unknown_network', hint: 'did you mean local?' }, name)
  }
  for (const network of [undefined, ''] as string[]) {
    await assert.rejects(Chain.open({ network }), { code: 'unknown_network', message: 'network is not set' })
  }
})

test('refuses parameters from a node of another network', async () => {
  const chain = await open('mainnet')
  await assert.rejects(chain.parameters(), ChainError)
  assert.equal((await (await open('testnet')).parameters()).lastRound, 100n)
})

test('checks a given genesis hash against the node', async () => {
  const other = Buffer.alloc(32, 1).toString('base64')
  const chain = await open('testnet', new FakeNode(), { genesisHash: other })
  assert.equal(chain.caip2, canonical)
  await assert.rejects(chain.parameters(), ChainError)
  await assert.rejects(open('testnet', new FakeNode(), { genesisHash: 'AAAA' }), ChainError)
})

test('requests parameters at most once per second, and again after a failure', async () => {
  const node = new FakeNode()
  const chain = await open('testnet', node)
  await Promise.all([chain.parameters(), chain.parameters()])
  await chain.parameters()
  assert.equal(node.count('GET params'), 1)
  const failing = new FakeNode()
  const other = await open('testnet', failing)
  failing.on('GET params', () => 'drop')
  await assert.rejects(other.parameters())
  await assert.rejects(other.parameters())
  assert.equal(failing.count('GET params'), 2)
})

test('dollars convert to the decimals of the asset', async () => {
  const node = new FakeNode()
  const chain = await open('testnet', node)
  assert.deepEqual(await chain.resolvePrice('$0.001'), { assetId: 10458941n, amount: 1000n })
  node.on('GET asset', () => ok({ params: { decimals: 2, 'unit-name': 'CENT' } }))
  assert.deepEqual(await chain.resolvePrice('1.50', 77n), { assetId: 77n, amount: 150n })
  await assert.rejects(chain.resolvePrice('$0.001', 77n), PriceError)
  await chain.resolvePrice('2', 77n)
  assert.equal(node.count('GET asset'), 1)
  assert.deepEqual(await chain.resolvePrice('0.5', 0n), { assetId: 0n, amount: 500_000n })
})

test('refuses a price in another currency than the asset', async () => {
  const chain = await open('testnet')
  assert.equal((await chain.resolvePrice('1 USDC')).amount, 1_000_000n)
  assert.equal((await chain.resolvePrice('1 algo', 0n)).amount, 1_000_000n)
  for (const price of ['1 EURC', '1 ALGO']) await assert.rejects(chain.resolvePrice(price), PriceError)
})

test('reports a network without a dollar asset, and an unknown asset', async () => {
  const node = new FakeNode()
  node.on('GET asset', () => missing)
  await assert.rejects((await open('local', node)).resolvePrice('$1'), /has no known USDC$/)
  await assert.rejects((await open('testnet', node)).resolvePrice('$1', 5n), /no asset 5/)
})

test('parses asset ids and addresses strictly', () => {
  assert.deepEqual(['0', '5', '18446744073709551615'].map(parseAssetId), [0n, 5n, 2n ** 64n - 1n])
  for (const text of ['', '05', '-1', '1.0', '1e3', 'USDC', '18446744073709551616', ' 1']) {
    assert.equal(parseAssetId(text), undefined, text)
  }
  assert.throws(() => checkAddress('invalid', 'payTo'), /payTo is not an Algorand address/)
})

test('a local network finds the dollar of the devnet, and no other asset', async () => {
  const creator = 'RKEOHXLUBHYZL7KS3MWTZOS5OLFGOCN7DWKBEG7TOSEADNAPN5OOTUNSLE'
  const openWith = (asset: object | undefined) =>
    Chain.open({
      network: 'local',
      fetch: (async (input: string | URL | Request) => {
        const { pathname } = new URL(input instanceof Request ? input.url : input)
        if (pathname === '/v2/assets/31566704' && asset !== undefined) {
          return Response.json({ index: 31566704, params: { creator, total: 10, ...asset } })
        }
        if (!pathname.endsWith('/params')) return Response.json({ message: 'not found' }, { status: 404 })
        const hash = Buffer.alloc(32, 7).toString('base64')
        const known = { 'consensus-version': 'x', fee: 0, 'genesis-id': 'local-v1', 'last-round': 1, 'min-fee': 1000 }
        return Response.json({ ...known, 'genesis-hash': hash })
      }) as typeof fetch,
    })
  const chain = await openWith({ decimals: 6, 'unit-name': 'USDC' })
  assert.deepEqual([chain.dollarAssetId, chain.isLocal], [31566704n, true])
  for (const asset of [undefined, { decimals: 2, 'unit-name': 'USDC' }, { decimals: 6, 'unit-name': 'GOLD' }]) {
    assert.equal((await openWith(asset)).dollarAssetId, undefined)
  }
  assert.equal((await open('testnet')).isLocal, false)
})
