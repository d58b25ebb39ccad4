/** The commonest mistakes, each answered 400 in words that say which it was, and without any effect. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'
import { by, type Step, type World } from './world.js'

type Mistake = {
  readonly name: string
  /** What every version of the node says, whatever stands around it. */
  readonly stem: string
  readonly make: (world: World) => Promise<Uint8Array | Uint8Array[]>
}

const list: readonly Mistake[] = [
  { name: 'overspending', stem: 'overspend', make: overspend },
  { name: 'going below the minimum balance', stem: 'below min', make: goBelowMinimum },
  { name: 'paying somebody who has not opted in', stem: 'must optin', make: payStranger },
  { name: 'transferring more than there is', stem: 'underflow on subtracting', make: transferTooMuch },
  { name: 'a wrong signature', stem: "didn't pass verification", make: signWrongly },
  { name: 'no signature', stem: 'signedtxn has no sig', make: leaveUnsigned },
  { name: 'the same again', stem: 'already in ledger', make: repeat },
  { name: 'an expired transaction', stem: 'txn dead', make: sendLate },
  { name: 'a fee too small', stem: 'is less than', make: underpayFee },
  { name: 'an incomplete group', stem: 'incomplete group', make: leaveOut },
  { name: "another network's transaction", stem: 'does not match expected', make: useOtherNetwork },
]

export const mistakes: readonly Step[] = list.map(({ name, stem, make }) => ({
  name: `refused: ${name}`,
  run: async (world) => {
    const signed = await make(world)
    const before = await possessions(world)
    await world.refuses(stem, ...(Array.isArray(signed) ? signed : [signed]))
    assert.deepEqual(await possessions(world), before, 'a refusal changes nothing')
    return world.lastRound()
  },
}))

async function possessions(world: World): Promise<bigint[]> {
  const { issuer, buyer, seller, stranger } = world
  const algos = [issuer, buyer, seller, stranger].map((account) => world.microAlgos(account))
  const units = [issuer, buyer, seller].map((account) => world.units(account))
  return Promise.all([...algos, ...units])
}

async function overspend(world: World): Promise<Uint8Array> {
  return by(world.buyer)(await world.payment(world.buyer, world.seller, 10_000_000n))
}

async function goBelowMinimum(world: World): Promise<Uint8Array> {
  const has = await world.microAlgos(world.buyer)
  return by(world.buyer)(await world.payment(world.buyer, world.seller, has - 150_000n))
}

async function payStranger(world: World): Promise<Uint8Array> {
  return by(world.buyer)(await world.transfer(world.buyer, world.stranger, 1n))
}

async function transferTooMuch(world: World): Promise<Uint8Array> {
  const has = await world.units(world.buyer)
  return by(world.buyer)(await world.transfer(world.buyer, world.seller, has + 1n))
}

async function signWrongly(world: World): Promise<Uint8Array> {
  const txn = await world.payment(world.buyer, world.seller, 1n)
  return algosdk.encodeMsgpack(new algosdk.SignedTransaction({ txn, sig: txn.rawSignTxn(world.seller.sk) }))
}

async function leaveUnsigned(world: World): Promise<Uint8Array> {
  const txn = await world.payment(world.buyer, world.seller, 1n)
  return algosdk.encodeMsgpack(new algosdk.SignedTransaction({ txn }))
}

async function repeat(world: World): Promise<Uint8Array> {
  const transaction = await world.payment(world.buyer, world.seller, 1n)
  await world.send([transaction, by(world.buyer)])
  return by(world.buyer)(transaction)
}

async function sendLate(world: World): Promise<Uint8Array> {
  const params = await world.params()
  // Its last chance was the round that is over.
  const late = { ...params, firstValid: params.firstValid - 1n, lastValid: params.firstValid }
  return by(world.buyer)(await world.payment(world.buyer, world.seller, 1n, { params: late }))
}

async function underpayFee(world: World): Promise<Uint8Array> {
  const fee = (await world.minFee()) - 1n
  return by(world.buyer)(await world.payment(world.buyer, world.seller, 1n, { fee }))
}

async function leaveOut(world: World): Promise<Uint8Array[]> {
  const { buyer, seller } = world
  const group = await Promise.all([1n, 2n, 3n].map((amount) => world.payment(buyer, seller, amount)))
  algosdk.assignGroupID(group)
  return group.slice(0, 2).map(by(buyer))
}

async function useOtherNetwork(world: World): Promise<Uint8Array> {
  const params = { ...(await world.params()), genesisHash: randomBytes(32) }
  return by(world.buyer)(await world.payment(world.buyer, world.seller, 1n, { params }))
}
