import type { Transaction } from '@latchkey/algorand'
import { none } from '../Account.js'
import * as Key from '../Key.js'
import { LedgerError } from '../LedgerError.js'
import * as Algos from './Algos.js'
import type { Context, Outcome } from './Context.js'

export function payment(txn: Transaction.Transaction, { sender, layer }: Context): Outcome {
  if (txn.amt !== undefined || txn.rcv !== undefined) Algos.move(layer, sender, Key.ofField(txn.rcv), txn.amt ?? 0n)
  if (txn.close === undefined) return {}
  const closingAmount = layer.account(sender).microAlgos
  Algos.move(layer, sender, Key.of(txn.close), closingAmount)
  const { assetsHeld, assetsCreated } = layer.account(sender)
  if (assetsHeld > 0) {
    throw new LedgerError(`cannot close: ${assetsHeld} outstanding assets`, { hint: 'close out of its assets first' })
  }
  if (assetsCreated > 0) throw new LedgerError(`cannot close: ${assetsCreated} outstanding created assets`)
  layer.putAccount(sender, none)
  return { closingAmount }
}
