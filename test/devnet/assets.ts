/** The life of an asset, and what the node tells of it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'
import { simulate } from './payments.js'
import { by, orNotFound, type Step, type World } from './world.js'

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

async function create(world: World): Promise<bigint> {
  const { issuer, algod } = world
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
    suggestedParams: await world.params(),
  })
  const { round, answers } = await world.send([transaction, by(issuer)])
  world.assetId = answers[0]!.assetIndex!
  const params = await parameters(world)
  assert.deepEqual(
    [params.total, params.decimals, params.name, params.unitName, params.url, params.defaultFrozen, params.creator],
    [total, 2, 'Scenario', 'SCN', 'https://example.org/scenario', false, String(addr)],
  )
  for (const role of ['manager', 'reserve', 'freeze', 'clawback'] as const) assert.equal(params[role], String(addr))
  assert.equal(await world.units(issuer), total)
  const { createdAssets, minBalance, totalCreatedAssets } = await algod.accountInformation(addr).do()
  assert.deepEqual([createdAssets?.[0]?.index, minBalance, totalCreatedAssets], [world.assetId, 200_000n, 1])
  return round
}

async function parameters({ algod, assetId }: World): Promise<algosdk.modelsv2.AssetParams> {
  const { index, params } = await algod.getAssetByID(assetId).do()
  assert.equal(index, assetId)
  return params!
}

async function optIn(world: World): Promise<bigint> {
  let last = 0n
  for (const account of [world.buyer, world.seller]) {
    assert.equal(await world.holding(account), undefined)
    const { round } = await world.send([await world.transfer(account, account, 0n), by(account)])
    const holding = await world.holding(account)
    assert.deepEqual([holding?.amount, holding?.isFrozen], [0n, false])
    assert.equal((await world.algod.accountInformation(account.addr).do()).minBalance, 200_000n)
    last = round
  }
  return last
}

async function transfer(world: World): Promise<bigint> {
  const { issuer, buyer } = world
  const { round } = await world.send([await world.transfer(issuer, buyer, 1_000n), by(issuer)])
  assert.deepEqual([await world.units(issuer), await world.units(buyer)], [total - 1_000n, 1_000n])
  return round
}

async function transferPooled(world: World): Promise<bigint> {
  const { issuer, buyer, seller } = world
  const [sponsorHad, buyerHad] = [await world.microAlgos(issuer), await world.microAlgos(buyer)]
  const fee = 2n * (await world.minFee())
  world.pooled = await world.send(
    [await world.payment(issuer, issuer, 0n, { fee }), by(issuer)],
    [await world.transfer(buyer, seller, 100n, { fee: 0n }), by(buyer)],
  )
  assert.deepEqual([await world.microAlgos(issuer), await world.microAlgos(buyer)], [sponsorHad - fee, buyerHad])
  assert.deepEqual([await world.units(buyer), await world.units(seller)], [900n, 100n])
  return world.pooled.round
}

async function readBlock(world: World): Promise<bigint> {
  const { algod } = world
  const { ids, round } = world.pooled!
  // The hash of a block is in the one after it, which some nodes make only when there is something to put into it.
  await world.passRound(round + 1n)
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
  const { genesisID, genesisHash } = await world.params()
  assert.deepEqual(
    [block.header.genesisID, Buffer.from(block.header.genesisHash)],
    [genesisID, Buffer.from(genesisHash!)],
  )
  const pay = block.payset[first]!.signedTxn.signedTxn.txn
  const move = block.payset[first + 1]!.signedTxn.signedTxn.txn
  assert.deepEqual([pay.type, move.type, move.fee], ['pay', 'axfer', 0n])
  assert.deepEqual([move.assetTransfer?.assetIndex, move.assetTransfer?.amount], [world.assetId, 100n])
  return round
}

async function setFrozen(world: World, target: algosdk.Account, frozen: boolean): Promise<bigint> {
  const transaction = algosdk.makeAssetFreezeTxnWithSuggestedParamsFromObject({
    sender: world.issuer.addr,
    assetIndex: world.assetId,
    freezeTarget: target.addr,
    frozen,
    note: randomBytes(8),
    suggestedParams: await world.params(),
  })
  const { round } = await world.send([transaction, by(world.issuer)])
  assert.equal((await world.holding(target))?.isFrozen, frozen)
  return round
}

async function freeze(world: World): Promise<bigint> {
  const { buyer, seller } = world
  await setFrozen(world, buyer, true)
  await world.refuses(`frozen in ${buyer.addr}`, by(buyer)(await world.transfer(buyer, seller, 1n)))
  await setFrozen(world, buyer, false)
  const { round } = await world.send([await world.transfer(buyer, seller, 1n), by(buyer)])
  assert.deepEqual([await world.units(buyer), await world.units(seller)], [899n, 101n])
  return round
}

async function clawback(world: World): Promise<bigint> {
  const { issuer, buyer, seller } = world
  const assetSender = seller.addr
  await world.refuses('clawback not allowed', by(buyer)(await world.transfer(buyer, buyer, 1n, { assetSender })))
  const { round } = await world.send([await world.transfer(issuer, buyer, 51n, { assetSender }), by(issuer)])
  assert.deepEqual([await world.units(buyer), await world.units(seller)], [950n, 50n])
  return round
}

async function simulateTransfers(world: World): Promise<bigint> {
  const { buyer, seller } = world
  const good = await world.transfer(buyer, seller, 5n)
  const bad = await world.transfer(buyer, seller, 5_000n)
  const signed = algosdk.decodeSignedTransaction(by(buyer)(good))
  const unsigned = new algosdk.SignedTransaction({ txn: good })

  const done = await simulate(world, [signed])
  assert.equal(done.failureMessage, undefined)
  assert.equal(done.txnResults[0]!.txnResult.txn.txn.txID(), good.txID())
  assert.equal(done.txnResults[0]!.txnResult.confirmedRound, undefined)
  assert.equal((await simulate(world, [unsigned], { allowEmptySignatures: true })).failureMessage, undefined)
  const strict = await simulate(world, [unsigned])
  assert.match(strict.failureMessage ?? '', /signedtxn has no sig/)
  assert.deepEqual(strict.failedAt?.map(Number), [0])
  const failed = await simulate(world, [algosdk.decodeSignedTransaction(by(buyer)(bad))])
  assert.match(failed.failureMessage ?? '', /underflow on subtracting 5000 from sender amount 950/)

  assert.deepEqual([await world.units(buyer), await world.units(seller)], [950n, 50n], 'a simulation changes nothing')
  // Nor does it hinder what was simulated.
  const { round } = await world.send([good, by(buyer)])
  assert.deepEqual([await world.units(buyer), await world.units(seller)], [945n, 55n])
  assert.match((await simulate(world, [signed])).failureMessage ?? '', /already in ledger/)
  return round
}

async function reconfigure(world: World): Promise<bigint> {
  const { issuer, buyer, seller } = world
  const change = async (sender: algosdk.Account) =>
    algosdk.makeAssetConfigTxnWithSuggestedParamsFromObject({
      sender: sender.addr,
      assetIndex: world.assetId,
      manager: issuer.addr,
      reserve: seller.addr,
      freeze: issuer.addr,
      strictEmptyAddressChecking: false,
      note: randomBytes(8),
      suggestedParams: await world.params(),
    })
  await world.refuses('should be issued by the manager', by(buyer)(await change(buyer)))
  const { round } = await world.send([await change(issuer), by(issuer)])
  const params = await parameters(world)
  assert.deepEqual(
    [params.manager, params.reserve, params.freeze, params.clawback, params.total],
    [String(issuer.addr), String(seller.addr), String(issuer.addr), undefined, total],
  )
  return round
}

async function closeOut(world: World): Promise<bigint> {
  const { issuer, buyer, seller } = world
  let last = 0n
  for (const account of [buyer, seller]) {
    const had = await world.units(account)
    const closeRemainderTo = issuer.addr
    const transaction = await world.transfer(account, issuer, 0n, { closeRemainderTo })
    const { round, answers } = await world.send([transaction, by(account)])
    assert.equal(answers[0]!.assetClosingAmount, had)
    assert.equal(await world.holding(account), undefined)
    assert.equal((await world.algod.accountInformation(account.addr).do()).minBalance, 100_000n)
    last = round
  }
  assert.equal(await world.units(issuer), total)
  return last
}

async function destroy(world: World): Promise<bigint> {
  const { issuer, algod } = world
  const transaction = algosdk.makeAssetDestroyTxnWithSuggestedParamsFromObject({
    sender: issuer.addr,
    assetIndex: world.assetId,
    suggestedParams: await world.params(),
  })
  const { round } = await world.send([transaction, by(issuer)])
  assert.equal(await orNotFound(algod.getAssetByID(world.assetId).do()), undefined)
  assert.equal(await world.holding(issuer), undefined)
  const { totalCreatedAssets, minBalance } = await algod.accountInformation(issuer.addr).do()
  assert.deepEqual([totalCreatedAssets, minBalance], [0, 100_000n])
  return round
}
