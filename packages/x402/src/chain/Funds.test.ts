import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeNode, missing, ok } from '../../../algod/dist/FakeNode.test.helper.js'
import { Chain } from './Chain.js'
import { feeAccountFault, payerFault, receiverFault } from './Funds.js'

const usdc = 10458941n
const payment = { payer: 'PAYER', assetId: usdc, amount: 1_500_000n, feeMicroAlgos: 1_000n }

async function setUp(): Promise<{ node: FakeNode; chain: Chain }> {
  const node = new FakeNode()
  return { node, chain: await Chain.open({ network: 'testnet', nodes: 'http://n', fetch: node.fetch as typeof fetch }) }
}

test('whoever has enough has no fault', async () => {
  const { chain } = await setUp()
  assert.equal(await payerFault(chain, payment), undefined)
  assert.equal(await receiverFault(chain, 'SELLER', usdc), undefined)
  assert.equal(await receiverFault(chain, 'SELLER', 0n), undefined)
  assert.equal(await feeAccountFault(chain, 'FEES'), undefined)
})

test('a payer is told what it lacks and how much of it', async () => {
  const { node, chain } = await setUp()
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 250_000, 'is-frozen': false } }))
  assert.equal(await payerFault(chain, payment), 'PAYER has 0.25 USDC and needs 1.5: send it 1.25 more')
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 2_000_000, 'is-frozen': true } }))
  assert.equal(await payerFault(chain, payment), 'the USDC of PAYER is frozen')
  node.on('GET holding', () => missing)
  assert.match((await payerFault(chain, payment))!, /PAYER holds no USDC: it is not opted in to asset 10458941/)
})

test('a payer who is short of Algos is told so, beyond its minimum balance', async () => {
  const { node, chain } = await setUp()
  node.on('GET account', () => ok({ amount: 200_400, 'min-balance': 200_000 }))
  const fault = await payerFault(chain, payment)
  assert.equal(fault, 'PAYER is short of 0.0006 ALGO for this, keeping its minimum balance of 0.2: send it that much')
  assert.equal(await payerFault(chain, { ...payment, feeMicroAlgos: 0n }), undefined)
  node.on('GET account', () => ok({ amount: 100, 'min-balance': 200_000 }))
  const inAlgos = { ...payment, assetId: 0n, amount: 5_000n }
  assert.match((await payerFault(chain, inAlgos))!, /short of 0.006 ALGO/)
})

test('a receiver that is not opted in is told how to', async () => {
  const { node, chain } = await setUp()
  node.on('GET holding', () => missing)
  const fault = await receiverFault(chain, 'SELLER', usdc)
  assert.match(fault!, /SELLER cannot be paid in USDC: .*send 0 of asset 10458941 from SELLER to itself/)
})

test('an account for fees that runs low is told before it is empty', async () => {
  const { node, chain } = await setUp()
  node.on('GET account', () => ok({ amount: 150_000, 'min-balance': 100_000 }))
  assert.equal(
    await feeAccountFault(chain, 'FEES'),
    'the fee account FEES has 0.05 ALGO to spend on fees; send it some',
  )
  node.on('GET account', () => ok({ amount: 0, 'min-balance': 100_000 }))
  assert.match((await feeAccountFault(chain, 'FEES'))!, /has 0 ALGO/)
})
