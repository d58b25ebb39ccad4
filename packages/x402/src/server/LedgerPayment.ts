/**
 * What the gate finds out by itself, so that it depends on no facilitator's word: whether a payment is the one that was
 * asked for, and whether the ledger has it.
 */

import { AlgodError } from '@latchkey/algod'
import { Address, Bytes } from '@latchkey/algorand'
import { algoAssetId, type Chain, parseAssetId } from '../chain/Chain.js'
import * as PaymentGroup from '../exact/PaymentGroup.js'
import type { PaymentPayload, PaymentRequirements } from '../wire/types.js'

export type Payment = {
  readonly transactionId: string
  readonly payer: string
  readonly lastValid: bigint
}

export type Seen = {
  /** `sent`: in the ledger, or about to be; `expired`: it is not there and never can be. */
  readonly state: 'unsent' | 'sent' | 'settled' | 'expired'
  readonly round: bigint
}

/** How long a node may lag behind the one that a payment was settled by. */
const lagMs = 10_000
const firstWaitMs = 100
const longestWaitMs = 1_000

/** The payment that a buyer shows, or in which respect it is not the one that was asked for. */
export function read(payload: PaymentPayload, requirement: PaymentRequirements, chain: Chain): Payment | string {
  let group: PaymentGroup.PaymentGroup
  try {
    group = PaymentGroup.read(payload.payload)
  } catch (error) {
    if (error instanceof PaymentGroup.GroupError) return error.message
    throw error
  }
  const { txn, sender } = group.payment
  const isAlgo = parseAssetId(requirement.asset) === algoAssetId
  if (txn.gh === undefined || !Bytes.equal(txn.gh, chain.genesisHash)) return 'the payment is for another network'
  if (txn.type !== (isAlgo ? 'pay' : 'axfer')) return 'the payment does not transfer the asset'
  if (!isAlgo && txn.xaid?.toString() !== requirement.asset) return 'the payment is in another asset'
  const [receiver, amount = 0n] = isAlgo ? [txn.rcv, txn.amt] : [txn.arcv, txn.aamt]
  if (receiver === undefined || Address.encode(receiver) !== requirement.payTo) return 'the payment is to somebody else'
  if (amount.toString() !== requirement.amount) return `the payment is of ${amount} base units`
  return { transactionId: group.transactionId, payer: sender, lastValid: txn.lv ?? 0n }
}

/** Rejects with a NodeError if no node answers. */
export async function look(chain: Chain, { transactionId, lastValid }: Payment): Promise<Seen> {
  const found = await chain.algod.transaction(transactionId)
  const { lastRound: round } = await chain.parameters()
  if (found.type === 'confirmed') return { state: 'settled', round }
  if (found.type === 'pending') return { state: 'sent', round }
  return { state: lastValid < round ? 'expired' : 'unsent', round }
}

/** Whether it is there, once the node has had the time to catch up. */
export async function confirm(chain: Chain, { transactionId }: Payment): Promise<boolean> {
  const endMs = performance.now() + lagMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    if (await isThere(chain, transactionId)) return true
    if (performance.now() + waitMs > endMs) return false
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

async function isThere(chain: Chain, transactionId: string): Promise<boolean> {
  try {
    return (await chain.algod.transaction(transactionId)).type === 'confirmed'
  } catch (error) {
    if (error instanceof AlgodError) return false
    throw error
  }
}
