import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Explorer from './Explorer.js'
import * as Network from './Network.js'

test('links to a transaction, an account and an asset on a public network', () => {
  assert.equal(Explorer.transactionUrl('testnet', 'ABC'), 'https://lora.algokit.io/testnet/transaction/ABC')
  assert.equal(Explorer.accountUrl(Network.mainnet.caip2, 'ABC'), 'https://lora.algokit.io/mainnet/account/ABC')
  const full = Network.fullCaip2(Network.mainnet.genesisHash)
  assert.equal(Explorer.assetUrl(full, 31566704n), 'https://lora.algokit.io/mainnet/asset/31566704')
  assert.equal(Explorer.transactionUrl('testnet', '../x?y'), 'https://lora.algokit.io/testnet/transaction/..%2Fx%3Fy')
})

test('a local network has no explorer', () => {
  assert.equal(Explorer.transactionUrl('local', 'ABC'), undefined)
  assert.equal(Explorer.accountUrl(Network.caip2(new Uint8Array(32)), 'ABC'), undefined)
})
