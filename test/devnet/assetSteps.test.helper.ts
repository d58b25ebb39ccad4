/** Defines the steps in the life of an asset. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'
import { simulate } from './paymentSteps.test.helper.js'
import { by, orNotFound, type ScenarioContext, type Step } from './ScenarioContext.test.helper.js'

const total = 10_000n

export const assets: readonly Step[] = [
  { name: 'create an asset', run: create },
  { name: 'opt in', run: optIn },
  { name: 'transfer', run: transfer },
  { name: 'transfer with the fee paid by another', run: transferPooled },
  { name: 'block, block hash and transaction ids', run: readBlock },
  { name: 'freeze and unfreeze', run: freeze },
  { name: 'claw back', run: clawback },
  { name: 'simulate signed, unsigned, and what fails', run: simulateTransfers },
  { name: 'reconfigure', run: reconfigure },
]

export const closing: readonly Step[] = [
  { name: 'close out', run: closeOut },
  { name: 'destroy', run: destroy },
]

async function create(context: ScenarioContext): Promise<bigint> {
  const { issuer, algod } = context
  const { addr } = issuer
  const transaction = algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
    sender: addr,
    total,
    decimals: 2,
    assetName: 'Scenario',
    unitName: 'SCN',
    assetURL: 'https://example.org/scenario',
    manager: addr,
    reserve: addr,
    freeze: addr,
    clawback: addr,
    note: randomBytes(8),
    suggestedParams: await context.params(),
  })
  const { round, answers } = await context.send([transaction, by(issuer)])
  context.assetId = answers[0]!.assetIndex!
  const params = await parameters(context)
  assert.deepEqual(
    [params.total, params.decimals, params.name, params.unitName, params.url, params.defaultFrozen, params.creator],
    [total, 2, 'Scenario', 'SCN', 'https://example.org/scenario', false, String(addr)],
  )
  for (const role of ['manager', 'reserve', 'freeze', 'clawback'] as const) assert.equal(params[role], String(addr))
  assert.equal(await context.units(issuer), total)
  const { createdAssets, minBalance, totalCreatedAssets } = await algod.accountInformation(addr).do()
  assert.deepEqual([createdAssets?.[0]?.index, minBalance, totalCreatedAssets], [context.assetId, 200_000n, 1])
  return round
}

async function parameters({ algod, assetId }: ScenarioContext): Promise<algosdk.modelsv2.AssetParams> {
  const { index, params } = await algod.getAssetByID(assetId).do()
  assert.equal(index, assetId)
  return params!
}

async function optIn(context: ScenarioContext): Promise<bigint> {
  let last = 0n
  for (const account of [context.buyer, context.seller]) {
    assert.equal(await context.holding(account), undefined)
    const { round } = await context.send([await context.transfer(account, account, 0n), by(account)])
    const holding = await context.holding(account)
    assert.deepEqual([holding?.amount, holding?.isFrozen], [0n, false])
    assert.equal((await context.algod.accountInformation(account.addr).do()).minBalance, 200_000n)
    last = round
  }
  return last
}

async function transfer(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer } = context
  const { round } = await context.send([await context.transfer(issuer, buyer, 1_000n), by(issuer)])
  assert.deepEqual([await context.units(issuer), await context.units(buyer)], [total - 1_000n, 1_000n])
  return round
}

async function transferPooled(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer, seller } = context
  const [sponsorHad, buyerHad] = [await context.microAlgos(issuer), await context.microAlgos(buyer)]
  const fee = 2n * (await context.minFee())
  context.pooled = await context.send(
    [await context.payment(issuer, issuer, 0n, { fee }), by(issuer)],
    [await context.transfer(buyer, seller, 100n, { fee: 0n }), by(buyer)],
  )
  assert.deepEqual([await context.microAlgos(issuer), await context.microAlgos(buyer)], [sponsorHad - fee, buyerHad])
  assert.deepEqual([await context.units(buyer), await context.units(seller)], [900n, 100n])
  return context.pooled.round
}

async function readBlock(context: ScenarioContext): Promise<bigint> {
  const { algod } = context
  const { ids, round } = context.pooled!
  // The next block contains the hash of a block; some nodes make it only with a transaction.
  await context.passRound(round + 1n)
  const { block } = await algod.block(round).do()
  const next = await algod.block(round + 1n).do()
  const { blockhash } = await algod.getBlockHash(round).do()
  const { blocktxids } = await algod.getBlockTxids(round).do()
  assert.equal(block.header.round, round)
  assert.equal(blockhash.length, 52)
  assert.equal(algosdk.encodeAddress(next.block.header.branch).slice(0, 51), blockhash.slice(0, 51))
  assert.ok(next.block.header.timestamp >= block.header.timestamp)
  assert.ok(next.block.header.txnCounter >= block.header.txnCounter)
  const first = blocktxids.indexOf(ids[0]!)
  assert.deepEqual(blocktxids.slice(first, first + ids.length), ids)
  assert.equal(block.payset.length, blocktxids.length)
  const { genesisID, genesisHash } = await context.params()
  assert.deepEqual(
    [block.header.genesisID, Buffer.from(block.header.genesisHash)],
    [genesisID, Buffer.from(genesisHash!)],
  )
  const pay = block.payset[first]!.signedTxn.signedTxn.txn
  const move = block.payset[first + 1]!.signedTxn.signedTxn.txn
  assert.deepEqual([pay.type, move.type, move.fee], ['pay', 'axfer', 0n])
  assert.deepEqual([move.assetTransfer?.assetIndex, move.assetTransfer?.amount], [context.assetId, 100n])
  return round
}

async function setFrozen(context: ScenarioContext, target: algosdk.Account, frozen: boolean): Promise<bigint> {
  const transaction = algosdk.makeAssetFreezeTxnWithSuggestedParamsFromObject({
    sender: context.issuer.addr,
    assetIndex: context.assetId,
    freezeTarget: target.addr,
    frozen,
    note: randomBytes(8),
    suggestedParams: await context.params(),
  })
  const { round } = await context.send([transaction, by(context.issuer)])
  assert.equal((await context.holding(target))?.isFrozen, frozen)
  return round
}

async function freeze(context: ScenarioContext): Promise<bigint> {
  const { buyer, seller } = context
  await setFrozen(context, buyer, true)
  await context.expectRejection(`frozen in ${buyer.addr}`, by(buyer)(await context.transfer(buyer, seller, 1n)))
  await setFrozen(context, buyer, false)
  const { round } = await context.send([await context.transfer(buyer, seller, 1n), by(buyer)])
  assert.deepEqual([await context.units(buyer), await context.units(seller)], [899n, 101n])
  return round
}

async function clawback(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer, seller } = context
  const assetSender = seller.addr
  await context.expectRejection(
    'clawback not allowed',
    by(buyer)(await context.transfer(buyer, buyer, 1n, { assetSender })),
  )
  const { round } = await context.send([await context.transfer(issuer, buyer, 51n, { assetSender }), by(issuer)])
  assert.deepEqual([await context.units(buyer), await context.units(seller)], [950n, 50n])
  return round
}

async function simulateTransfers(context: ScenarioContext): Promise<bigint> {
  const { buyer, seller } = context
  const good = await context.transfer(buyer, seller, 5n)
  const bad = await context.transfer(buyer, seller, 5_000n)
  const signed = algosdk.decodeSignedTransaction(by(buyer)(good))
  const unsigned = new algosdk.SignedTransaction({ txn: good })

  const done = await simulate(context, [signed])
  assert.equal(done.failureMessage, undefined)
  assert.equal(done.txnResults[0]!.txnResult.txn.txn.txID(), good.txID())
  assert.equal(done.txnResults[0]!.txnResult.confirmedRound, undefined)
  assert.equal((await simulate(context, [unsigned], { allowEmptySignatures: true })).failureMessage, undefined)
  const strict = await simulate(context, [unsigned])
  assert.match(strict.failureMessage ?? '', /signedtxn has no sig/)
  assert.deepEqual(strict.failedAt?.map(Number), [0])
  const failed = await simulate(context, [algosdk.decodeSignedTransaction(by(buyer)(bad))])
  assert.match(failed.failureMessage ?? '', /underflow on subtracting 5000 from sender amount 950/)

  assert.deepEqual(
    [await context.units(buyer), await context.units(seller)],
    [950n, 50n],
    'a simulation changes nothing',
  )
  // Does not affect the simulated transaction.
  const { round } = await context.send([good, by(buyer)])
  assert.deepEqual([await context.units(buyer), await context.units(seller)], [945n, 55n])
  assert.match((await simulate(context, [signed])).failureMessage ?? '', /already in ledger/)
  return round
}

async function reconfigure(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer, seller } = context
  const change = async (sender: algosdk.Account) =>
    algosdk.makeAssetConfigTxnWithSuggestedParamsFromObject({
      sender: sender.addr,
      assetIndex: context.assetId,
      manager: issuer.addr,
      reserve: seller.addr,
      freeze: issuer.addr,
      strictEmptyAddressChecking: false,
      note: randomBytes(8),
      suggestedParams: await context.params(),
    })
  await context.expectRejection('should be issued by the manager', by(buyer)(await change(buyer)))
  const { round } = await context.send([await change(issuer), by(issuer)])
  const params = await parameters(context)
  assert.deepEqual(
    [params.manager, params.reserve, params.freeze, params.clawback, params.total],
    [String(issuer.addr), String(seller.addr), String(issuer.addr), undefined, total],
  )
  return round
}

async function closeOut(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer, seller } = context
  let last = 0n
  for (const account of [buyer, seller]) {
    const had = await context.units(account)
    const closeRemainderTo = issuer.addr
    const transaction = await context.transfer(account, issuer, 0n, { closeRemainderTo })
    const { round, answers } = await context.send([transaction, by(account)])
    assert.equal(answers[0]!.assetClosingAmount, had)
    assert.equal(await context.holding(account), undefined)
    assert.equal((await context.algod.accountInformation(account.addr).do()).minBalance, 100_000n)
    last = round
  }
  assert.equal(await context.units(issuer), total)
  return last
}

async function destroy(context: ScenarioContext): Promise<bigint> {
  const { issuer, algod } = context
  const transaction = algosdk.makeAssetDestroyTxnWithSuggestedParamsFromObject({
    sender: issuer.addr,
    assetIndex: context.assetId,
    suggestedParams: await context.params(),
  })
  const { round } = await context.send([transaction, by(issuer)])
  assert.equal(await orNotFound(algod.getAssetByID(context.assetId).do()), undefined)
  assert.equal(await context.holding(issuer), undefined)
  const { totalCreatedAssets, minBalance } = await algod.accountInformation(issuer.addr).do()
  assert.deepEqual([totalCreatedAssets, minBalance], [0, 100_000n])
  return round
}
