/** Tests payments in other assets than the network's dollar: an asset with its own decimals, and the Algo. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import {
  type AssetLimit,
  Buyer,
  Chain,
  PaymentRefusedError,
  payingFetch,
  receiptOf,
  Signer,
} from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { paymentGate } from '@latchkey/x402/node'
import { type Accept, Gate, localFacilitator } from '@latchkey/x402/server'
import * as algosdk from 'algosdk'

const cents = 2

type Shop = { devnet: Devnet; chain: Chain; url: string; seller: string; buyer: (...assets: AssetLimit[]) => Buyer }

/** `acceptFor` gets the id of an asset with two decimals; buyer and seller hold some of it. */
async function open(
  t: TestContext,
  acceptFor: (assetId: bigint, payTo: string) => Omit<Accept, 'network'>,
): Promise<Shop & { assetId: bigint }> {
  const devnet = await Devnet.start({ port: 0 })
  t.after(() => devnet.stop())
  const [sponsor, sellerAccount, buyerAccount] = devnet.accounts
  const assetId = await createAsset(devnet)
  for (const { address } of [sellerAccount!, buyerAccount!])
    devnet.fund(address, { assets: [{ assetId, amount: 1_000n }] })
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: 31566704n })
  const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromMnemonic(sponsor!.mnemonic) })
  t.after(() => facilitator.stop())
  const gate = await Gate.open({
    routes: { 'GET /weather': { accepts: { network: chain.caip2, ...acceptFor(assetId, sellerAccount!.address) } } },
    facilitators: localFacilitator(facilitator),
    chains: chain,
  })
  const server = createServer(paymentGate(gate, (_, response) => response.end('sunny'))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return {
    devnet,
    chain,
    assetId,
    seller: sellerAccount!.address,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`,
    buyer: (...assets) => new Buyer({ signer: Signer.fromMnemonic(buyerAccount!.mnemonic), chains: chain, assets }),
  }
}

async function createAsset(devnet: Devnet): Promise<bigint> {
  const algod = new algosdk.Algodv2('', devnet.url)
  const { addr, sk } = algosdk.mnemonicToSecretKey(devnet.dispenser.mnemonic)
  const suggestedParams = await algod.getTransactionParams().do()
  const created = { sender: addr, total: 10n ** 9n, decimals: cents, unitName: 'EURC', suggestedParams }
  const txn = algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject(created)
  const { txid } = await algod.sendRawTransaction(txn.signTxn(sk)).do()
  return (await algosdk.waitForConfirmation(algod, txid, 4)).assetIndex!
}

test('a price in dollars is paid in extra.asset, with its decimals', async (t) => {
  const shop = await open(t, (assetId, payTo) => ({ price: '$0.25', payTo, extra: { asset: assetId } }))
  const limit = { asset: shop.assetId, maxPerPayment: 25n }
  const response = await payingFetch(shop.buyer(limit))(shop.url)
  assert.deepEqual([response.status, receiptOf(response)?.success], [200, true])
  assert.equal((await shop.chain.algod.holding(shop.seller, shop.assetId))!.amount, 1_025n)
  // Refused without a limit for the asset, and above it.
  await assert.rejects(payingFetch(shop.buyer())(shop.url), PaymentRefusedError)
  await assert.rejects(payingFetch(shop.buyer({ ...limit, maxPerPayment: 24n }))(shop.url), PaymentRefusedError)
})

test('a price with too many decimals for the asset is an error at the start', async (t) => {
  const opening = open(t, (assetId, payTo) => ({ price: '$0.001', payTo, extra: { asset: assetId } }))
  await assert.rejects(opening, /too many decimals: the asset has 2/)
})

test('a price in ALGO is paid up to the total limit, and the facilitator pays the fees', async (t) => {
  const shop = await open(t, (_, payTo) => ({ price: { asset: '0', amount: '1500' }, payTo }))
  const before = (await shop.chain.algod.account(shop.seller)).microAlgos
  const limit = { asset: 0n, maxPerPayment: 1_500n, maxTotal: 3_000n }
  const buyer = shop.buyer(limit)
  const buyerBefore = (await shop.chain.algod.account(buyer.address)).microAlgos
  for (let time = 0; time < 2; time++) assert.equal((await payingFetch(buyer)(shop.url)).status, 200)
  await assert.rejects(
    payingFetch(buyer)(shop.url),
    (error) => error instanceof PaymentRefusedError && error.reasons[0]!.code === 'above_total_limit',
  )
  assert.equal((await shop.chain.algod.account(shop.seller)).microAlgos - before, 3_000n)
  // The fee payer paid the fees.
  assert.equal(buyerBefore - (await shop.chain.algod.account(buyer.address)).microAlgos, 3_000n)
})
