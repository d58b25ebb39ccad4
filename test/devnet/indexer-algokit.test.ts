/** Tests the published AlgoKit client on the devnet's indexer API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlgorandClient, algo, Config } from '@algorandfoundation/algokit-utils'
import { lookupAssetHoldings, searchTransactions } from '@algorandfoundation/algokit-utils/indexer-client'
import { runWhenIndexerCaughtUp, TransactionLogger } from '@algorandfoundation/algokit-utils/testing'
import { startDevnet } from './start.test.helper.js'

const timeout = 300_000
Config.configure({ logger: { error() {}, warn() {}, info() {}, verbose() {}, debug() {} } })

async function setUp(t: Parameters<typeof startDevnet>[0]) {
  const devnet = await startDevnet(t, { indexer: { port: 0 } })
  const algorand = AlgorandClient.fromConfig({
    algodConfig: { server: devnet.url, token: '' },
    indexerConfig: { server: devnet.indexerUrl!, token: '' },
  })
  algorand.setSuggestedParamsCacheTimeout(0)
  const [alice, bob] = devnet.accounts.map(({ mnemonic }) => String(algorand.account.fromMnemonic(mnemonic).addr))
  return { devnet, algorand, alice: alice!, bob: bob!, indexer: algorand.client.indexer }
}

test('waitForIndexer and waitForIndexerTransaction return', { timeout }, async (t) => {
  const { devnet, algorand, alice, bob, indexer } = await setUp(t)
  const logger = new TransactionLogger()
  const logged = AlgorandClient.fromClients({ algod: logger.capture(algorand.client.algod), indexer })
  logged.account.setSignerFromAccount(logged.account.fromMnemonic(devnet.accounts[0]!.mnemonic))
  const { txIds } = await logged.send.payment({ sender: alice, receiver: bob, amount: algo(2) })
  assert.deepEqual(logger.sentTransactionIds, txIds)
  await logger.waitForIndexer(indexer)
  const { transaction } = await runWhenIndexerCaughtUp(() => indexer.lookupTransactionById(txIds[0]!))
  assert.equal(transaction.paymentTransaction?.amount, 2_000_000n)
})

test('pages through holdings and transactions', { timeout }, async (t) => {
  const { algorand, alice, bob, indexer } = await setUp(t)
  const { assetId } = await algorand.send.assetCreate({ sender: alice, total: 100n, assetName: 'Kit' })
  await algorand.send.assetOptIn({ sender: bob, assetId })
  await algorand.send.assetTransfer({ sender: alice, receiver: bob, assetId, amount: 7n })
  const holdings = await lookupAssetHoldings(indexer, assetId, { currencyGreaterThan: 0 }, 1)
  assert.deepEqual(
    new Map(holdings.map(({ address, amount }) => [String(address), amount])),
    new Map([
      [alice, 93n],
      [bob, 7n],
    ]),
  )
  const found = await searchTransactions(indexer, { assetId }, 1)
  assert.deepEqual(
    found.transactions.map(({ txType }) => txType),
    ['acfg', 'axfer', 'axfer'],
  )
})

test("answers the queries of an explorer: blocks, transactions, an account's assets and destroyed assets", {
  timeout,
}, async (t) => {
  const { algorand, alice, indexer, devnet } = await setUp(t)
  const { assetId } = await algorand.send.assetCreate({ sender: alice, total: 100n, manager: alice })
  await algorand.send.assetDestroy({ sender: alice, assetId })
  const block = await indexer.lookupBlock(devnet.round)
  assert.equal(block.transactions?.length, 1)
  const { asset } = await indexer.lookupAssetById(assetId, { includeAll: true })
  assert.deepEqual([asset.deleted, asset.destroyedAtRound], [true, devnet.round])
  const { transactions } = await indexer.searchForTransactions({ assetId, txType: 'acfg' })
  assert.equal(transactions.length, 2)
  const { assets } = await indexer.lookupAccountCreatedAssets(alice, { includeAll: true })
  assert.deepEqual(
    assets.map(({ id }) => id),
    [assetId],
  )
  const { account } = await indexer.lookupAccountById(alice, { includeAll: true })
  assert.equal(account.address.toString(), alice)
  assert.equal((await indexer.lookupAccountTransactions(alice, { limit: 1 })).transactions.length, 1)
})
