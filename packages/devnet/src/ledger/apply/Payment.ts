import type { Transaction } from '@latchkey/algorand'
import { type AppTotals, none } from '../Account.js'
import { formatMicroAlgos } from '../Fees.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'
import type { Context } from './Context.js'

export function payment(txn: Transaction.Transaction, { sender, overlay, outcome }: Context): void {
  if (txn.amt !== undefined || txn.rcv !== undefined) moveAlgos(overlay, sender, MapKey.ofField(txn.rcv), txn.amt ?? 0n)
  if (txn.close === undefined) return
  const closingAmount = overlay.account(sender).microAlgos
  outcome.closingAmount = closingAmount
  moveAlgos(overlay, sender, MapKey.of(txn.close), closingAmount)
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

/** Moves Algos. A move of 0 still writes both accounts, as on a node. */
export function moveAlgos(overlay: StateOverlay, from: MapKey.MapKey, to: MapKey.MapKey, microAlgos: bigint): void {
  const source = overlay.account(from)
  if (source.microAlgos < microAlgos) {
    const [has, spends] = [formatMicroAlgos(source.microAlgos), formatMicroAlgos(microAlgos)]
    const reason = `overspend (account ${MapKey.address(from)}, data {MicroAlgos:${has}}, tried to spend ${spends})`
    throw new LedgerError('rule_violation', reason, {
      hint: `it lacks ${microAlgos - source.microAlgos} microAlgos`,
    })
  }
  overlay.putAccount(from, { ...source, microAlgos: source.microAlgos - microAlgos })
  const target = overlay.account(to)
  overlay.putAccount(to, { ...target, microAlgos: target.microAlgos + microAlgos })
}
