/** Defines steps for the most common mistakes, each rejected with 400 and its message, without effect. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'
import { by, type ScenarioContext, type Step } from './ScenarioContext.test.helper.js'

type Rejection = {
  readonly name: string
  /** The part of the message that all versions of the node have in common. */
  readonly stem: string
  readonly make: (context: ScenarioContext) => Promise<Uint8Array | Uint8Array[]>
}

const list: readonly Rejection[] = [
  { name: 'overspending', stem: 'overspend', make: overspend },
  { name: 'going below the minimum balance', stem: 'below min', make: goBelowMinimum },
  { name: 'paying an account that has not opted in', stem: 'must optin', make: payWithoutOptIn },
  { name: 'transferring more than there is', stem: 'underflow on subtracting', make: transferTooMuch },
  { name: 'a wrong signature', stem: "didn't pass verification", make: signWrongly },
  { name: 'no signature', stem: 'signedtxn has no sig', make: leaveUnsigned },
  { name: 'the same again', stem: 'already in ledger', make: repeat },
  { name: 'an expired transaction', stem: 'txn dead', make: sendLate },
  { name: 'a fee too small', stem: 'is less than', make: underpayFee },
  { name: 'an incomplete group', stem: 'incomplete group', make: leaveOut },
  { name: "another network's transaction", stem: 'does not match expected', make: useOtherNetwork },
]

export const rejections: readonly Step[] = list.map(({ name, stem, make }) => ({
  name: `rejected: ${name}`,
  run: async (context) => {
    const signed = await make(context)
    const before = await balances(context)
    await context.expectRejection(stem, ...(Array.isArray(signed) ? signed : [signed]))
    assert.deepEqual(await balances(context), before, 'a rejection changes nothing')
    return context.lastRound()
  },
}))

async function balances(context: ScenarioContext): Promise<bigint[]> {
  const { issuer, buyer, seller, outsider } = context
  const algos = [issuer, buyer, seller, outsider].map((account) => context.microAlgos(account))
  const units = [issuer, buyer, seller].map((account) => context.units(account))
  return Promise.all([...algos, ...units])
}

async function overspend(context: ScenarioContext): Promise<Uint8Array> {
  return by(context.buyer)(await context.payment(context.buyer, context.seller, 10_000_000n))
}

async function goBelowMinimum(context: ScenarioContext): Promise<Uint8Array> {
  const has = await context.microAlgos(context.buyer)
  return by(context.buyer)(await context.payment(context.buyer, context.seller, has - 150_000n))
}

async function payWithoutOptIn(context: ScenarioContext): Promise<Uint8Array> {
  return by(context.buyer)(await context.transfer(context.buyer, context.outsider, 1n))
}

async function transferTooMuch(context: ScenarioContext): Promise<Uint8Array> {
  const has = await context.units(context.buyer)
  return by(context.buyer)(await context.transfer(context.buyer, context.seller, has + 1n))
}

async function signWrongly(context: ScenarioContext): Promise<Uint8Array> {
  const txn = await context.payment(context.buyer, context.seller, 1n)
  return algosdk.encodeMsgpack(new algosdk.SignedTransaction({ txn, sig: txn.rawSignTxn(context.seller.sk) }))
}

async function leaveUnsigned(context: ScenarioContext): Promise<Uint8Array> {
  const txn = await context.payment(context.buyer, context.seller, 1n)
  return algosdk.encodeMsgpack(new algosdk.SignedTransaction({ txn }))
}

async function repeat(context: ScenarioContext): Promise<Uint8Array> {
  const transaction = await context.payment(context.buyer, context.seller, 1n)
  await context.send([transaction, by(context.buyer)])
  return by(context.buyer)(transaction)
}

async function sendLate(context: ScenarioContext): Promise<Uint8Array> {
  const params = await context.params()
  // Valid up to the current round only.
  const late = { ...params, firstValid: params.firstValid - 1n, lastValid: params.firstValid }
  return by(context.buyer)(await context.payment(context.buyer, context.seller, 1n, { params: late }))
}

async function underpayFee(context: ScenarioContext): Promise<Uint8Array> {
  const fee = (await context.minFee()) - 1n
  return by(context.buyer)(await context.payment(context.buyer, context.seller, 1n, { fee }))
}

async function leaveOut(context: ScenarioContext): Promise<Uint8Array[]> {
  const { buyer, seller } = context
  const group = await Promise.all([1n, 2n, 3n].map((amount) => context.payment(buyer, seller, amount)))
  algosdk.assignGroupID(group)
  return group.slice(0, 2).map(by(buyer))
}

async function useOtherNetwork(context: ScenarioContext): Promise<Uint8Array> {
  const params = { ...(await context.params()), genesisHash: randomBytes(32) }
  return by(context.buyer)(await context.payment(context.buyer, context.seller, 1n, { params }))
}
