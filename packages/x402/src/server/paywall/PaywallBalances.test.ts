import assert from 'node:assert/strict'
import test from 'node:test'
import { Network } from '@latchkey/algorand'
import { Chain } from '../../chain/Chain.js'
import { address, usdc } from '../stubs.test.helper.js'
import { PaywallBalances } from './PaywallBalances.js'

const [rich, strange, frozen] = [address(), address(), address()]

/** A node with three accounts that counts requests and can be unavailable. */
async function openNode() {
  const node = { requests: 0, isDown: false }
  const chain = await Chain.open({
    network: 'testnet',
    nodes: 'http://node.invalid',
    fetch: (async (input: string | URL | Request) => {
      node.requests++
      if (node.isDown) throw new TypeError('no node')
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const asset = /\/assets\/(\d+)$/.exec(pathname)?.[1]
      if (asset === undefined) {
        const amount = pathname.includes(strange) ? 50_000 : 1_500_000
        return Response.json({ address: pathname.split('/').at(-1), amount, 'min-balance': 200_000 })
      }
      if (pathname.includes(strange)) return Response.json({ message: 'not found' }, { status: 404 })
      const holding = { amount: 2_500_000, 'asset-id': Number(asset), 'is-frozen': pathname.includes(frozen) }
      return Response.json({ round: 1, 'asset-holding': holding })
    }) as typeof fetch,
  })
  return { node, chain }
}

const query = (accounts: readonly string[], more: { [name: string]: string } = {}): URLSearchParams =>
  new URLSearchParams([
    ...Object.entries({ network: Network.testnet.caip2, asset: usdc, ...more }),
    ...accounts.map((account): [string, string] => ['account', account]),
  ])

test('returns what each account can spend of the asset and of ALGO', async () => {
  const { chain } = await openNode()
  const response = await new PaywallBalances().response(query([rich, strange, frozen]), [chain])
  assert.deepEqual(await response.json(), {
    accounts: [
      { address: rich, microAlgos: '1300000', holding: { amount: '2500000', isFrozen: false } },
      { address: strange, microAlgos: '0', holding: null },
      { address: frozen, microAlgos: '1300000', holding: { amount: '2500000', isFrozen: true } },
    ],
  })
  const algos = await new PaywallBalances().response(query([rich], { asset: '0' }), [chain])
  assert.deepEqual(await algos.json(), { accounts: [{ address: rich, microAlgos: '1300000', holding: null }] })
})

const refused: { [what: string]: URLSearchParams } = {
  'no accounts': query([]),
  'too many accounts': query(Array.from({ length: 17 }, address)),
  'an address that is none': query([rich, 'x']),
  'a path for an address': query([`${rich}/../../v2/status`]),
  'another network': query([rich], { network: Network.mainnet.caip2 }),
  'an asset that is none': query([rich], { asset: '-1' }),
  'no asset': query([rich], { asset: '' }),
}
for (const [what, asked] of Object.entries(refused)) {
  test(`does not query the node for ${what}`, async () => {
    const { chain, node } = await openNode()
    assert.equal((await new PaywallBalances().response(asked, [chain])).status, 400)
    assert.equal(node.requests, 0)
  })
}

test('queries the node once for repeated requests, and again after a failure', async () => {
  const { chain, node } = await openNode()
  const balances = new PaywallBalances()
  const ask = async () => (await balances.response(query([rich]), [chain])).status
  node.isDown = true
  assert.equal(await ask(), 503)
  node.isDown = false
  assert.deepEqual(await Promise.all([ask(), ask()]), [200, 200])
  const { requests } = node
  assert.equal(await ask(), 200)
  assert.equal(node.requests, requests)
})

test('refuses a flood of requests, so that the node stays free for payments', async () => {
  const { chain, node } = await openNode()
  const balances = new PaywallBalances()
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const accounts = Array.from({ length: 16 }, address)
      return (await balances.response(query(accounts), [chain])).status
    }),
  )
  const isRefused = (status: number): boolean => status === 429
  assert.ok(statuses.filter(isRefused).length > 100, String(statuses.length))
  assert.ok(node.requests < 200 * 16)
})
