/** Tests the published algosdk on the devnet. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Devnet } from '@latchkey/devnet'
import * as algosdk from 'algosdk'
import { accountOf, clientOf, pause, startDevnet } from './start.test.helper.js'

const timeout = 300_000

type Setup = { devnet: Devnet; algod: algosdk.Algodv2; alice: algosdk.Account; bob: algosdk.Account }

async function setUp(t: TestContext, options: Parameters<typeof startDevnet>[1] = {}): Promise<Setup> {
  const devnet = await startDevnet(t, options)
  const [alice, bob] = devnet.accounts.map(accountOf) as [algosdk.Account, algosdk.Account]
  return { devnet, algod: clientOf(devnet), alice, bob }
}

async function payment({ algod, alice, bob }: Setup, amount: bigint | number): Promise<algosdk.Transaction> {
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender: alice.addr,
    receiver: bob.addr,
    amount,
    suggestedParams: await algod.getTransactionParams().do(),
  })
}

test('a composer executes a group and returns its round', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algod, alice, devnet } = setup
  const composer = new algosdk.AtomicTransactionComposer()
  const signer = algosdk.makeBasicAccountTransactionSigner(alice)
  composer.addTransaction({ txn: await payment(setup, 1), signer })
  composer.addTransaction({ txn: await payment(setup, 2), signer })
  const { confirmedRound, txIDs } = await composer.execute(algod, 4)
  assert.deepEqual([confirmedRound, devnet.round], [1n, 1n])
  const { block } = await algod.block(1).do()
  assert.equal(block.payset.length, 2)
  assert.deepEqual((await algod.getBlockTxids(1).do()).blocktxids, txIDs)
})

test('a composer simulates before it executes', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algod, alice, devnet } = setup
  const composer = new algosdk.AtomicTransactionComposer()
  composer.addTransaction({
    txn: await payment(setup, 5),
    signer: algosdk.makeBasicAccountTransactionSigner(alice),
  })
  const { simulateResponse } = await composer.simulate(algod)
  assert.equal(simulateResponse.version, 2)
  assert.equal(simulateResponse.lastRound, 0n)
  assert.equal(simulateResponse.txnGroups[0]!.failureMessage, undefined)
  assert.equal(devnet.round, 0n)
  assert.equal((await composer.execute(algod, 4)).confirmedRound, 1n)
})

test('a composer simulates unsigned transactions', { timeout }, async (t) => {
  const setup = await setUp(t)
  const composer = new algosdk.AtomicTransactionComposer()
  composer.addTransaction({ txn: await payment(setup, 10n ** 15n), signer: algosdk.makeEmptyTransactionSigner() })
  const request = new algosdk.modelsv2.SimulateRequest({ txnGroups: [], allowEmptySignatures: true })
  const { simulateResponse } = await composer.simulate(setup.algod, request)
  assert.equal(simulateResponse.evalOverrides?.allowEmptySignatures, true)
  const [group] = simulateResponse.txnGroups
  assert.match(group!.failureMessage!, /^transaction [A-Z2-7]{52}: overspend \(account /)
  assert.deepEqual(group!.failedAt?.map(Number), [0])
})

test('waits for a held block', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algod, alice, devnet } = setup
  devnet.addFault({ type: 'hold', ms: 150, count: 1 })
  const transaction = await payment(setup, 3)
  const { txid } = await algod.sendRawTransaction(transaction.signTxn(alice.sk)).do()
  const early = await algod.pendingTransactionInformation(txid).do()
  assert.deepEqual([early.confirmedRound, early.poolError, early.txn.txn.txID()], [undefined, '', txid])
  assert.equal(devnet.round, 0n)
  // The call waits for the block after the next one, which another transaction makes.
  const waiting = algosdk.waitForConfirmation(algod, txid, 4)
  await pause(400)
  devnet.mine()
  assert.equal((await waiting).confirmedRound, 1n)
})

test('waits for a transaction that is not found at first', { timeout }, async (t) => {
  const setup = await setUp(t, { blocks: { everyMs: 20 } })
  const { algod, alice, devnet } = setup
  devnet.addFault({ type: 'lose', count: 3 })
  const { txid } = await algod.sendRawTransaction((await payment(setup, 3)).signTxn(alice.sk)).do()
  const lookup = algod.pendingTransactionInformation(txid).do()
  await expectError(lookup, 404, 'Not Found', /^could not find the transaction in the transaction pool or in the last /)
  assert.ok((await algosdk.waitForConfirmation(algod, txid, 10)).confirmedRound! > 0n)
})

test('a dropped response is an error, but the payment took effect', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algod, alice, bob, devnet } = setup
  const before = (await algod.accountInformation(bob.addr).do()).amount
  devnet.addFault({ type: 'drop', count: 1 })
  const transaction = await payment(setup, 3)
  const signed = transaction.signTxn(alice.sk)
  await assert.rejects(algod.sendRawTransaction(signed).do(), /fetch failed/)
  assert.equal((await algosdk.waitForConfirmation(algod, transaction.txID(), 4)).confirmedRound, 1n)
  await assert.rejects(algod.sendRawTransaction(signed).do(), /transaction already in ledger/)
  assert.equal((await algod.accountInformation(bob.addr).do()).amount, before + 3n)
})

test('status, and status after a block', { timeout }, async (t) => {
  const { algod, devnet } = await setUp(t, { blocks: 'manual' })
  const status = await algod.status().do()
  assert.deepEqual([status.lastRound, status.nextVersionRound, status.stoppedAtUnsupportedRound], [0n, 1n, false])
  const after = algod.statusAfterBlock(1).do()
  await pause(50)
  devnet.mine(2)
  assert.equal((await after).lastRound, 2n)
  assert.equal((await algod.statusAfterBlock(0).do()).lastRound, 2n)
})

test('suggested parameters of round 0 make a valid transaction', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algod, alice, devnet } = setup
  const params = await algod.getTransactionParams().do()
  assert.deepEqual(
    [params.firstValid, params.lastValid, params.fee, params.minFee, params.genesisID],
    [0n, 1000n, 0n, 1000n, devnet.genesisId],
  )
  assert.equal(Buffer.from(params.genesisHash).toString('base64'), devnet.genesisHash)
  const transaction = await payment(setup, 1)
  await algod.sendRawTransaction(transaction.signTxn(alice.sk)).do()
  assert.equal((await algosdk.waitForConfirmation(algod, transaction.txID(), 4)).txn.txn.firstValid, 0n)
})

test('decodes accounts with and without resources', { timeout }, async (t) => {
  const { algod, alice, bob, devnet } = await setUp(t)
  const full = await algod.accountInformation(devnet.faucet.address).do()
  assert.deepEqual(
    full.createdAssets?.map(({ index }) => index),
    [10458941n, 31566704n],
  )
  assert.deepEqual(
    full.assets?.map(({ assetId, isFrozen }) => [assetId, isFrozen]),
    [
      [10458941n, false],
      [31566704n, false],
    ],
  )
  const brief = await algod.accountInformation(alice.addr).exclude('all').do()
  assert.deepEqual([brief.assets, brief.createdAssets, brief.totalAssetsOptedIn], [undefined, undefined, 2])
  assert.deepEqual([brief.amount, brief.minBalance, brief.status], [10n ** 12n, 300_000n, 'Offline'])
  assert.equal((await algod.accountAssetInformation(bob.addr, 10458941).do()).assetHolding?.amount, 10n ** 12n)
  const paged = await algod.accountAssetsInformation(bob.addr).limit(1).do()
  assert.deepEqual([paged.assetHoldings?.length, paged.nextToken], [1, '10458941'])
  const unknown = await algod.accountInformation(algosdk.generateAccount().addr).do()
  assert.deepEqual([unknown.amount, unknown.assets], [0n, []])
})

test('looks up an asset by its id', { timeout }, async (t) => {
  const { algod, devnet } = await setUp(t)
  const { index, params } = await algod.getAssetByID(10458941).do()
  assert.deepEqual(
    [index, params?.decimals, params?.unitName, params?.creator],
    [10458941n, 6, 'USDC', devnet.faucet.address],
  )
  await expectError(algod.getAssetByID(7).do(), 404, 'Not Found', /^asset does not exist$/)
})

test('lists pending transactions', { timeout }, async (t) => {
  const setup = await setUp(t, { blocks: 'manual' })
  const { algod, alice, bob, devnet } = setup
  const ids = []
  for (const amount of [1, 2, 3]) {
    const transaction = await payment(setup, amount)
    await algod.sendRawTransaction(transaction.signTxn(alice.sk)).do()
    ids.push(transaction.txID())
  }
  const all = await algod.pendingTransactionsInformation().do()
  assert.equal(all.totalTransactions, 3)
  assert.deepEqual(
    all.topTransactions.map(({ txn }) => txn.txID()),
    ids,
  )
  const two = await algod.pendingTransactionsInformation().max(2).do()
  assert.deepEqual([two.topTransactions.length, two.totalTransactions], [2, 3])
  // As on a node, the list covers the account's transactions, and the total covers the whole pool.
  for (const [{ addr }, length] of [
    [alice, 3],
    [bob, 3],
    [algosdk.generateAccount(), 0],
  ] as const) {
    const { topTransactions, totalTransactions } = await algod.pendingTransactionByAddress(addr).do()
    assert.deepEqual([topTransactions.length, totalTransactions], [length, 3])
  }
  devnet.mine()
  assert.equal((await algod.pendingTransactionsInformation().do()).totalTransactions, 0)
  assert.deepEqual((await algod.getBlockTxids(1).do()).blocktxids, ids)
})

test('decodes a block', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algod, alice, bob, devnet } = setup
  await algod.sendRawTransaction((await payment(setup, 9)).signTxn(alice.sk)).do()
  const { block, cert } = await algod.block(1).do()
  assert.ok(cert !== undefined)
  const { header, payset } = block
  assert.deepEqual([header.round, header.genesisID, header.feesCollected], [1n, devnet.genesisId, 1000n])
  assert.equal(Buffer.from(header.genesisHash).toString('base64'), devnet.genesisHash)
  assert.equal(payset.length, 1)
  const { txn, sig } = payset[0]!.signedTxn.signedTxn
  assert.deepEqual([String(txn.sender), String(txn.payment?.receiver)], [String(alice.addr), String(bob.addr)])
  assert.equal(sig?.length, 64)
  assert.equal(payset[0]!.hasGenesisID, true)
  const bare = await algod.block(1).headerOnly(true).do()
  assert.deepEqual([bare.block.header.round, bare.block.payset], [1n, []])
  await expectError(algod.block(2).do(), 404, 'Not Found', /failed to retrieve information from the ledger/)
})

test('a rejection has class, status, message and body', { timeout }, async (t) => {
  const setup = await setUp(t)
  const signed = (await payment(setup, 10n ** 15n)).signTxn(setup.alice.sk)
  const submitted = setup.algod.sendRawTransaction(signed).do()
  await expectError(submitted, 400, 'Bad Request', /^TransactionPool\.Remember: transaction [A-Z2-7]{52}: overspend \(/)
  await expectError(
    setup.algod.sendRawTransaction(new Uint8Array([1])).do(),
    400,
    'Bad Request',
    /^msgpack decode error \[pos /,
  )
  assert.equal(setup.devnet.round, 0n)
})

test('sends a token in either header', { timeout }, async (t) => {
  const token = 'secret'.repeat(11)
  const { devnet } = await setUp(t, { token })
  const status = (of: string | { [name: string]: string }) => new algosdk.Algodv2(of, devnet.url).status().do()
  assert.equal((await status(token)).lastRound, 0n)
  assert.equal((await status({ Authorization: `Bearer ${token}` })).lastRound, 0n)
  for (const wrong of ['', 'wrong', { Authorization: 'Bearer wrong' }]) {
    await expectError(status(wrong), 401, 'Unauthorized', /^Invalid API Token$/)
  }
  const outsider = new algosdk.Algodv2('', devnet.url)
  await outsider.healthCheck().do()
  assert.deepEqual((await outsider.versionsCheck().do()).genesisId, devnet.genesisId)
})

async function expectError(call: Promise<unknown>, status: number, reason: string, words: RegExp): Promise<void> {
  await assert.rejects(call, (error: Error & { status: number; response: { body: Uint8Array } }) => {
    assert.equal(error.name, 'URLTokenBaseHTTPError')
    assert.equal(error.status, status)
    const { message } = JSON.parse(Buffer.from(error.response.body).toString()) as { message: string }
    assert.match(message, words)
    assert.equal(error.message, `Network request error. Received status ${status} (${reason}): ${message}`)
    return true
  })
}
