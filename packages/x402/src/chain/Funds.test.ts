import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeNode, missing, ok } from '../../../algod/dist/FakeNode.test.helper.js'
import { Chain } from './Chain.js'
import { feeBalanceProblem, payerProblem, receiverProblem, spendable } from './Funds.js'

const usdc = 10458941n
const parameters = { 'genesis-id': 'dev-v1', 'last-round': 5, 'min-fee': 1000, fee: 0 }
const payment = { payer: 'PAYER', assetId: usdc, amount: 1_500_000n, feeMicroAlgos: 1_000n }

async function setUp(): Promise<{ node: FakeNode; chain: Chain }> {
  const node = new FakeNode()
  return { node, chain: await Chain.open({ network: 'testnet', nodes: 'http://n', fetch: node.fetch as typeof fetch }) }
}

test('reports no problem for accounts with enough funds', async () => {
  const { chain } = await setUp()
  assert.equal(await payerProblem(chain, payment), undefined)
  assert.equal(await receiverProblem(chain, 'SELLER', usdc), undefined)
  assert.equal(await receiverProblem(chain, 'SELLER', 0n), undefined)
  assert.equal(feeBalanceProblem(chain, 'FEES', 100_000n), undefined)
})

test('reports the asset and amount that a payer lacks', async () => {
  const { node, chain } = await setUp()
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 250_000, 'is-frozen': false } }))
  assert.deepEqual(await payerProblem(chain, payment), {
    code: 'insufficient_asset',
    message: 'PAYER has 0.25 USDC and needs 1.5',
    hint: "send it 1.25 USDC: latchkey send '1.25 #10458941' PAYER --network testnet",
    asked: 1_500_000n,
    left: 250_000n,
  })
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 2_000_000, 'is-frozen': true } }))
  assert.deepEqual(await payerProblem(chain, payment), {
    code: 'asset_frozen',
    message: 'the USDC holding of PAYER is frozen',
    hint: 'pay from another account',
  })
  node.on('GET holding', () => missing)
  assert.match(
    (await payerProblem(chain, payment))!.message,
    /PAYER holds no USDC: it is not opted in to asset 10458941/,
  )
})

test('reports missing ALGOs beyond the minimum balance', async () => {
  const { node, chain } = await setUp()
  node.on('GET account', () => ok({ amount: 200_400, 'min-balance': 200_000 }))
  const { code, message, hint, asked, left } = (await payerProblem(chain, payment))!
  assert.deepEqual([code, asked, left], ['insufficient_algos', 1_000n, 400n])
  assert.equal(message, 'PAYER lacks 0.0006 ALGO for this payment, on top of its minimum balance of 0.2 ALGO')
  assert.equal(hint, "send it 0.0006 ALGO: latchkey send '0.0006 ALGO' PAYER --network testnet")
  assert.equal(await payerProblem(chain, { ...payment, feeMicroAlgos: 0n }), undefined)
  node.on('GET account', () => ok({ amount: 100, 'min-balance': 200_000 }))
  const inAlgos = { ...payment, assetId: 0n, amount: 5_000n }
  assert.match((await payerProblem(chain, inAlgos))!.message, /lacks 0.006 ALGO/)
})

test('names the faucet on a local network', async () => {
  const node = new FakeNode()
  node.on('GET params', () => ok({ ...parameters, 'genesis-hash': Buffer.alloc(32, 1).toString('base64') }))
  node.on('GET asset', () => ok({ params: { decimals: 6, 'unit-name': 'USDC' } }))
  node.on('GET account', () => ok({ amount: 200_400, 'min-balance': 200_000 }))
  const chain = await Chain.open({ network: 'local', nodes: 'http://n', fetch: node.fetch as typeof fetch })
  const { hint } = (await payerProblem(chain, payment))!
  assert.equal(hint, "send it 0.0006 ALGO: latchkey fund PAYER '0.0006 ALGO'")
  node.on('GET holding', () => missing)
  assert.match(
    (await payerProblem(chain, payment))!.hint,
    /^opt in, then buy or receive some: latchkey opt-in 10458941 --account PAYER$/,
  )
})

test('tells how a receiver opts in', async () => {
  const { node, chain } = await setUp()
  node.on('GET holding', () => missing)
  const problem = await receiverProblem(chain, 'SELLER', usdc)
  assert.equal(problem!.code, 'receiver_not_opted_in')
  assert.match(problem!.message, /^SELLER cannot be paid in USDC: it is not opted in to asset 10458941$/)
  assert.equal(
    problem!.hint,
    'opt in, which reserves 0.1 ALGO: latchkey opt-in 10458941 --account SELLER --network testnet',
  )
})

test('reports a fee account that runs low', async () => {
  const { chain } = await setUp()
  const low = spendable({ microAlgos: 150_000n, minBalance: 100_000n })
  assert.equal(
    feeBalanceProblem(chain, 'FEES', low),
    "the fee account FEES has 0.05 ALGO to spend on fees; fund it: latchkey send '1 ALGO' FEES --network testnet",
  )
  const none = spendable({ microAlgos: 0n, minBalance: 100_000n })
  assert.match(feeBalanceProblem(chain, 'FEES', none)!, /has 0 ALGO/)
})
