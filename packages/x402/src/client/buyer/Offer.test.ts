import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeNode, missing, ok } from '../../../../algod/dist/FakeNode.test.helper.js'
import { Chain } from '../../chain/Chain.js'
import { FundsCache } from './Offer.js'

const usdc = 10458941n
const cost = { payer: 'PAYER', assetId: usdc, amount: 1_000_000n, feeMicroAlgos: 0n }

async function setUp() {
  const node = new FakeNode()
  const chain = await Chain.open({ network: 'testnet', nodes: 'http://n', fetch: node.fetch as typeof fetch })
  const clock = { nowMs: 0 }
  let holdings = 0
  let accounts = 0
  const hold = (amount: number | undefined): void =>
    void node.on('GET holding', () => {
      holdings++
      return amount === undefined ? missing : ok({ 'asset-holding': { amount, 'is-frozen': false } })
    })
  node.on('GET account', () => {
    accounts++
    return ok({ amount: 500_000, 'min-balance': 100_000 })
  })
  hold(2_500_000)
  const cache = new FundsCache(() => clock.nowMs)
  return { chain, cache, clock, hold, holdings: () => holdings, accounts: () => accounts }
}

test('looks up a balance once for the payments that it covers', async () => {
  const { chain, cache, holdings, accounts } = await setUp()
  for (let count = 0; count < 2; count++) {
    assert.equal(await cache.payerProblem(chain, cost), undefined)
    cache.spend(chain, cost.payer, usdc, cost.amount)
  }
  assert.equal(holdings(), 1)
  // Half a dollar of the cached balance is left, and the ledger may have more.
  assert.equal(await cache.payerProblem(chain, cost), undefined)
  assert.equal(holdings(), 2)
  assert.equal(accounts(), 0)
})

test('looks up an insufficient balance again with every payment', async () => {
  const { chain, cache, hold, holdings } = await setUp()
  hold(1)
  assert.equal((await cache.payerProblem(chain, cost))?.code, 'insufficient_asset')
  assert.equal((await cache.payerProblem(chain, cost))?.code, 'insufficient_asset')
  hold(undefined)
  assert.equal((await cache.payerProblem(chain, cost))?.code, 'payer_not_opted_in')
  assert.equal(holdings(), 3)
  hold(1_000_000)
  assert.equal(await cache.payerProblem(chain, cost), undefined)
})

test('forgets a balance after three seconds', async () => {
  const { chain, cache, clock, hold } = await setUp()
  assert.equal(await cache.payerProblem(chain, cost), undefined)
  hold(1)
  clock.nowMs = 2_999
  assert.equal(await cache.payerProblem(chain, cost), undefined)
  clock.nowMs = 3_000
  assert.equal((await cache.payerProblem(chain, cost))?.code, 'insufficient_asset')
})

test('looks up an account that pays its own fees with every payment', async () => {
  const { chain, cache, holdings, accounts } = await setUp()
  for (let count = 0; count < 2; count++) {
    assert.equal(await cache.payerProblem(chain, { ...cost, feeMicroAlgos: 1_000n }), undefined)
  }
  assert.deepEqual([holdings(), accounts()], [2, 2])
  const problem = await cache.payerProblem(chain, { ...cost, feeMicroAlgos: 400_001n })
  assert.equal(problem?.code, 'insufficient_algos')
})

test('remembers an account that can be paid for ten minutes, and never one that cannot', async () => {
  const { chain, cache, clock, hold, holdings } = await setUp()
  hold(undefined)
  assert.equal((await cache.receiverProblem(chain, 'SELLER', usdc))?.code, 'receiver_not_opted_in')
  hold(0)
  assert.equal(await cache.receiverProblem(chain, 'SELLER', usdc), undefined)
  hold(undefined)
  clock.nowMs = 599_999
  assert.equal(await cache.receiverProblem(chain, 'SELLER', usdc), undefined)
  assert.equal(holdings(), 2)
  assert.equal((await cache.receiverProblem(chain, 'OTHER', usdc))?.code, 'receiver_not_opted_in')
  clock.nowMs = 600_000
  assert.equal((await cache.receiverProblem(chain, 'SELLER', usdc))?.code, 'receiver_not_opted_in')
})
