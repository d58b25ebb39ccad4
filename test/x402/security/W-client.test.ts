/** Tests the scheme on the buyer's side. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Network, Submission } from '@latchkey/algorand'
import { Buyer, Chain, PaymentRefusedError, Signer } from '@latchkey/x402/client'
import {
  type Market,
  openMarket,
  type PaymentRequirements,
  requirementsOf,
  settle,
  usdc,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

const requiring = (...accepts: PaymentRequirements[]) => ({
  x402Version: 2,
  resource: { url: 'http://shop/x' },
  accepts,
})

function buyerOf({ chain, buyer }: Market, chains = [chain]): Buyer {
  return new Buyer({ signer: Signer.fromSeed(buyer.seed), chains })
}

type Payload = { paymentGroup: string[]; paymentIndex: number }

function transactionsOf(payload: object): Submission.Submitted['txn'][] {
  return (payload as Payload).paymentGroup.map((text) => {
    const bytes = Buffer.from(text, 'base64')
    try {
      return Submission.decodeFirst(bytes).signed.txn
    } catch {
      return Submission.decodeFirst(Buffer.concat([Buffer.from('81a374786e', 'hex'), bytes])).signed.txn
    }
  })
}

// Published: valid for ten rounds, 28 seconds, regardless of the seller's time limit. Ours: for the time limit.
test('W8 a payment is valid for longer than the time limit of the seller', { timeout }, async (t) => {
  const market = await openMarket(t)
  market.proxy.instead = (what) => {
    if (what !== 'params') return undefined
    const { genesisHash, genesisId } = Network.testnet
    const rest = { 'last-round': 1_000, 'min-fee': 1_000, fee: 0, 'consensus-version': 'x' }
    const body = JSON.stringify({ 'genesis-hash': genesisHash, 'genesis-id': genesisId, ...rest })
    return { status: 200, body, isForwarded: false }
  }
  const testnet = await Chain.open({ network: 'testnet', nodes: market.proxy.url })
  market.devnet.optIn(market.seller.address, 10458941n)
  for (const maxTimeoutSeconds of [60, 300]) {
    const change = { network: testnet.caip2, asset: '10458941', maxTimeoutSeconds }
    const { payload } = await buyerOf(market, [testnet]).pay(requiring(requirementsOf(market, change)))
    const [, { fv, lv }] = transactionsOf(payload.payload) as [unknown, { fv: bigint; lv: bigint }]
    const seconds = Number(lv - fv) * 2.8
    assert.ok(seconds > maxTimeoutSeconds && seconds < maxTimeoutSeconds * 1.5, `${seconds} s`)
  }
})

// Published: signs for the network of its node, at any fee, in USDC for any asset name; one unknown network fails all
// offers; as its own sponsor it pays all fees. Ours: signs none of these.
test('W19 the buyer rejects a wrong network, high fees and unknown assets, and skips unknown offers', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const good = requirementsOf(market)
  const wrong = await Chain.open({ network: 'testnet', nodes: market.devnet.url })
  const onTestnet = requirementsOf(market, { network: wrong.caip2, asset: '10458941' })
  await assert.rejects(buyerOf(market, [wrong]).pay(requiring(onTestnet)), /the node belongs to/)

  market.proxy.instead = (what) => {
    if (what !== 'params') return undefined
    const genesis = { 'genesis-hash': market.devnet.genesisHash, 'genesis-id': market.devnet.genesisId }
    const body = JSON.stringify({ ...genesis, 'last-round': 1, 'min-fee': 1_000, fee: 5_000, 'consensus-version': 'x' })
    return { status: 200, body, isForwarded: false }
  }
  const dear = await Chain.open({ network: 'local', nodes: market.proxy.url, dollarAssetId: usdc })
  await assert.rejects(buyerOf(market, [dear]).pay(requiring(requirementsOf(market))), /above the limit/)
  market.proxy.instead = undefined

  await assert.rejects(buyerOf(market).pay(requiring(requirementsOf(market, { asset: 'EURC' }))), PaymentRefusedError)
  const unknown = requirementsOf(market, { network: 'algorand:nowhere' })
  const { payload } = await buyerOf(market).pay(requiring(unknown, good))
  assert.equal(await settle(market, { payload, requirements: good, id: '' }), 'settled')

  const own = requirementsOf(market, { extra: { feePayer: market.buyer.address } })
  market.devnet.fund(market.buyer.address, { microAlgos: 10_000n })
  const { payload: alone } = await buyerOf(market).pay(requiring(own))
  const [transfer, ...others] = transactionsOf(alone.payload)
  assert.deepEqual([transfer!.fee, Address.encode(transfer!.snd), others], [1_000n, market.buyer.address, []])
})
