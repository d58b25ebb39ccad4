/** Tests the published algosdk.Indexer on the devnet's indexer API, with every request and every filter. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Devnet } from '@latchkey/devnet'
import * as algosdk from 'algosdk'
import { accountOf, clientOf, startDevnet } from './start.test.helper.js'

const timeout = 300_000

type Setup = {
  devnet: Devnet
  algod: algosdk.Algodv2
  indexer: algosdk.Indexer
  alice: algosdk.Account
  bob: algosdk.Account
}

async function setUp(t: TestContext): Promise<Setup> {
  const devnet = await startDevnet(t, { indexer: { port: 0 } })
  const [alice, bob] = devnet.accounts.map(accountOf) as [algosdk.Account, algosdk.Account]
  const indexer = new algosdk.Indexer('any token', devnet.indexerUrl!, new URL(devnet.indexerUrl!).port)
  return { devnet, algod: clientOf(devnet), indexer, alice, bob }
}

const note = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

/** Makes a payment with a note, an asset that is created, moved and opted out of, and a group. */
async function transact({ algod, alice, bob }: Setup) {
  const send = async (txns: algosdk.Transaction[], signer: algosdk.Account): Promise<void> => {
    if (txns.length > 1) algosdk.assignGroupID(txns)
    await algod.sendRawTransaction(txns.map((txn) => txn.signTxn(signer.sk))).do()
  }
  const params = () => algod.getTransactionParams().do()
  const pay = async (amount: number, text: string): Promise<algosdk.Transaction> =>
    algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      sender: alice.addr,
      receiver: bob.addr,
      amount,
      note: note(text),
      suggestedParams: await params(),
    })
  const payment = await pay(5, 'invoice 1')
  await send([payment], alice)
  const creation = algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
    sender: alice.addr,
    total: 2n ** 64n - 1n,
    decimals: 2,
    unitName: 'TOK',
    assetName: 'Token',
    manager: alice.addr,
    suggestedParams: await params(),
  })
  await send([creation], alice)
  const assetId = (await algod.pendingTransactionInformation(creation.txID()).do()).assetIndex!
  const transfer = async (
    from: algosdk.Account,
    to: algosdk.Account,
    amount: number,
    closeRemainderTo?: algosdk.Address,
  ) =>
    algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      sender: from.addr,
      receiver: to.addr,
      amount,
      assetIndex: assetId,
      ...(closeRemainderTo !== undefined && { closeRemainderTo }),
      suggestedParams: await params(),
    })
  await send([await transfer(bob, bob, 0)], bob)
  await send([await transfer(alice, bob, 300)], alice)
  await send([await transfer(bob, alice, 1, alice.addr)], bob)
  const group = [await pay(1, 'one'), await pay(2, 'two')]
  await send(group, alice)
  return { payment, creation, assetId, group }
}

test('algosdk looks up transactions, accounts, assets and blocks', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { indexer, alice, bob, devnet } = setup
  const { payment, creation, assetId } = await transact(setup)
  const health = await indexer.makeHealthCheck().do()
  assert.deepEqual([health.round, health.dbAvailable, health.isMigrating], [devnet.round, true, false])
  const found = await indexer.lookupTransactionByID(payment.txID()).do()
  assert.equal(found.currentRound, devnet.round)
  assert.equal(found.transaction.id, payment.txID())
  assert.equal(found.transaction.paymentTransaction?.amount, 5n)
  assert.deepEqual(found.transaction.note, note('invoice 1'))
  assert.deepEqual(found.transaction.genesisHash, payment.genesisHash)
  const created = await indexer.lookupTransactionByID(creation.txID()).do()
  assert.equal(created.transaction.createdAssetIndex, assetId)
  assert.equal(created.transaction.assetConfigTransaction?.params?.total, 2n ** 64n - 1n)
  await assert.rejects(indexer.lookupTransactionByID('A'.repeat(52)).do(), { status: 404 })

  const { account } = await indexer.lookupAccountByID(alice.addr).do()
  assert.equal(account.createdAssets?.[0]?.index, assetId)
  assert.equal(account.totalCreatedAssets, 1)
  assert.equal(account.sigType, 'sig')
  const excluded = await indexer.lookupAccountByID(alice.addr).exclude('all').do()
  assert.equal(excluded.account.assets, undefined)
  const earlier = await indexer.lookupAccountByID(bob.addr).round(1).do()
  assert.equal(earlier.account.round, 1n)
  const held = await indexer.lookupAccountAssets(bob.addr).assetId(assetId).includeAll().do()
  assert.deepEqual(
    held.assets.map(({ deleted, amount, optedInAtRound, optedOutAtRound }) => [
      deleted,
      amount,
      optedInAtRound,
      optedOutAtRound,
    ]),
    [[true, 0n, 3n, 5n]],
  )
  assert.deepEqual((await indexer.lookupAccountAssets(bob.addr).assetId(assetId).do()).assets, [])
  const own = await indexer.lookupAccountCreatedAssets(alice.addr).assetID(assetId).limit(1).do()
  assert.equal(own.assets[0]?.params.unitName, 'TOK')
  assert.deepEqual((await indexer.lookupAccountAppLocalStates(alice.addr).do()).appsLocalStates, [])
  assert.deepEqual((await indexer.lookupAccountCreatedApplications(alice.addr).do()).applications, [])

  const { asset } = await indexer.lookupAssetByID(assetId).includeAll().do()
  assert.deepEqual([asset.params.name, asset.createdAtRound, asset.deleted], ['Token', 2n, false])
  const balances = await indexer.lookupAssetBalances(assetId).currencyGreaterThan(0).limit(10).do()
  assert.deepEqual(
    balances.balances.map(({ address, amount }) => [address, amount]),
    [[alice.addr.toString(), 2n ** 64n - 1n]],
  )

  const block = await indexer.lookupBlock(1).do()
  assert.deepEqual([block.round, block.transactions?.map(({ id }) => id)], [1n, [payment.txID()]])
  assert.equal((await indexer.lookupBlock(1).headerOnly(true).do()).transactions?.length, 0)
  const headers = await indexer.searchForBlockHeaders().minRound(2).maxRound(3).limit(5).do()
  assert.deepEqual(
    headers.blocks.map(({ round }) => round),
    [2n, 3n],
  )
  await assert.rejects(indexer.lookupApplications(5).do(), { status: 404 })
  assert.deepEqual((await indexer.searchForApplications().do()).applications, [])
  assert.deepEqual((await indexer.searchForApplicationBoxes(5).do()).boxes, [])
  assert.equal((await indexer.lookupApplicationLogs(5).do()).logData, undefined)
})

test('algosdk searches with every filter', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { indexer, alice, bob, devnet } = setup
  const { payment, creation, assetId, group } = await transact(setup)
  const ids = async (search: { do: () => Promise<algosdk.indexerModels.TransactionsResponse> }): Promise<string[]> =>
    (await search.do()).transactions.map(({ id }) => id!)
  const search = (): ReturnType<algosdk.Indexer['searchForTransactions']> => indexer.searchForTransactions()
  const groupIds = group.map((txn) => txn.txID())
  const all = await ids(search())
  assert.equal(all.length, 7)
  assert.deepEqual(await ids(search().notePrefix(note('invoice'))), [payment.txID()])
  assert.deepEqual(await ids(search().txType('acfg')), [creation.txID()])
  assert.deepEqual((await ids(search().sigType('sig'))).length, 7)
  assert.deepEqual(await ids(search().txid(creation.txID())), [creation.txID()])
  assert.deepEqual(await ids(search().round(1)), [payment.txID()])
  assert.deepEqual(await ids(search().minRound(6).maxRound(6)), groupIds)
  assert.deepEqual((await ids(search().assetID(assetId))).length, 4)
  assert.deepEqual((await ids(search().assetID(assetId).currencyGreaterThan(1))).length, 1)
  assert.deepEqual(await ids(search().currencyGreaterThan(1).currencyLessThan(3)), [groupIds[1]])
  assert.deepEqual(await ids(search().groupid(group[0]!.group!)), groupIds)
  assert.deepEqual(await ids(search().rekeyTo(true)), [])
  assert.deepEqual(await ids(search().applicationID(1)), [])
  assert.deepEqual((await ids(search().address(bob.addr).addressRole('sender'))).length, 2)
  assert.deepEqual((await ids(search().address(bob.addr).addressRole('receiver').excludeCloseTo(true))).length, 5)
  assert.deepEqual(await ids(search().beforeTime(new Date(0))), [])
  assert.deepEqual((await ids(search().afterTime(new Date(0)))).length, 7)
  const first = await search().limit(3).do()
  const second = await search().limit(10).nextToken(first.nextToken!).do()
  assert.deepEqual(
    [...first.transactions, ...second.transactions].map(({ id }) => id),
    all,
  )
  assert.deepEqual((await ids(indexer.lookupAccountTransactions(bob.addr).txType('pay').limit(2))).length, 2)
  assert.deepEqual((await ids(indexer.lookupAssetTransactions(assetId).address(bob.addr))).length, 3)

  const accounts = await indexer.searchAccounts().assetID(assetId).currencyGreaterThan(5).exclude('all').do()
  assert.deepEqual(
    accounts.accounts.map(({ address }) => address),
    [alice.addr.toString()],
  )
  assert.equal((await indexer.searchAccounts().limit(1).do()).accounts.length, 1)
  assert.deepEqual((await indexer.searchAccounts().authAddr(alice.addr).do()).accounts, [])
  assert.deepEqual((await indexer.searchAccounts().applicationID(1).do()).accounts, [])
  const assets = await indexer
    .searchForAssets()
    .name('tok')
    .unit('tok')
    .creator(alice.addr.toString())
    .index(Number(assetId))
    .do()
  assert.deepEqual(
    assets.assets.map(({ index }) => index),
    [assetId],
  )
  assert.equal(assets.currentRound, devnet.round)
})
