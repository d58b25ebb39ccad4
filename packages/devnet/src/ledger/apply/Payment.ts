import type { Transaction } from '@latchkey/algorand'
import { type AppTotals, none } from '../Account.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import * as Algos from './Algos.js'
import type { Context } from './Context.js'

export function payment(txn: Transaction.Transaction, { sender, overlay, outcome }: Context): void {
  if (txn.amt !== undefined || txn.rcv !== undefined)
    Algos.move(overlay, sender, MapKey.ofField(txn.rcv), txn.amt ?? 0n)
  if (txn.close === undefined) return
  const closingAmount = overlay.account(sender).microAlgos
  outcome.closingAmount = closingAmount
  Algos.move(overlay, sender, MapKey.of(txn.close), closingAmount)
  const { assetsHeld, assetsCreated, apps } = overlay.account(sender)
  if (assetsHeld > 0) {
    throw new LedgerError('rule_violation', `cannot close: ${assetsHeld} outstanding assets`, {
      hint: 'close out of its assets first',
    })
  }
  if (assetsCreated > 0)
    throw new LedgerError('rule_violation', `cannot close: ${assetsCreated} outstanding created assets`)
  if (apps !== undefined) checkApps(apps)
  overlay.putAccount(sender, none)
}

function checkApps({ optedIn, created, boxes }: AppTotals): void {
  const refuse = (what: string): never => {
    throw new LedgerError('rule_violation', `cannot close: ${what}`)
  }
  if (optedIn > 0) refuse(`${optedIn} outstanding applications opted in. Please opt out or clear them`)
  if (boxes > 0) refuse(`${boxes} outstanding boxes`)
  if (created > 0) refuse(`${created} outstanding created applications`)
}
