/** Tests a paid route on a chain of its own: the environment comes from `latchkey dev -- node --test`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Buyer, Chain, fromKmd, payingFetch, paymentOf } from '@latchkey/x402/client'

const { ALGOD_URL: nodes, USDC_ASSET_ID: dollar, RESOURCE_SERVER_URL: shop } = process.env
const { KMD_DATA_DIR: dataDir, KMD_WALLET: wallet, KMD_KEY: address } = process.env

test('an unpaid request gets the price', async () => {
  assert.equal((await fetch(`${shop}/weather`)).status, 402)
})

test('a paid request gets the weather, and the payment is on the ledger', async () => {
  const chain = await Chain.open({ network: 'local', nodes, dollarAssetId: BigInt(dollar) })
  const signer = fromKmd({ kmd: { dataDir }, wallet, address, password: '' })
  const response = await payingFetch(new Buyer({ signer, chains: chain }))(`${shop}/weather`)
  assert.equal(response.status, 200)
  assert.equal(paymentOf(response).state, 'settled')
})
