import type { Transaction } from '@latchkey/algorand'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import * as Assets from './Assets.js'
import type { Context } from './Context.js'

type Txn = Transaction.Transaction

export function assetTransfer(txn: Txn, context: Context): void {
  const { sender, overlay } = context
  const assetId = txn.xaid ?? 0n
  const amount = txn.aamt ?? 0n
  const receiver = MapKey.ofField(txn.arcv)
  if (txn.asnd !== undefined) {
    clawback(txn.asnd, txn, context)
    return
  }
  if (amount === 0n && receiver === sender && overlay.holding(sender, assetId) === undefined) {
    const { defaultFrozen } = Assets.get(overlay, assetId)
    overlay.putHolding(sender, assetId, { amount: 0n, frozen: defaultFrozen })
  }
  Assets.takeOut(overlay, sender, assetId, amount, false)
  Assets.putIn(overlay, receiver, assetId, amount, false)
  if (txn.aclose !== undefined) closeOut(MapKey.of(txn.aclose), assetId, context)
}

/** Freezing a holding restricts its holder, not the clawback address. */
function clawback(from: Uint8Array, txn: Txn, { sender, overlay }: Context): void {
  const assetId = txn.xaid ?? 0n
  const asset = Assets.get(overlay, assetId)
  if (asset.clawback === MapKey.zero || asset.clawback !== sender) {
    const who = `sender ${MapKey.address(sender)}, clawback ${MapKey.address(asset.clawback)}`
    throw new LedgerError('rule_violation', `clawback not allowed: ${who}`)
  }
  Assets.takeOut(overlay, MapKey.of(from), assetId, txn.aamt ?? 0n, true)
  Assets.putIn(overlay, MapKey.ofField(txn.arcv), assetId, txn.aamt ?? 0n, true)
}

/** Closes a holding; the remainder goes to `to`. The asset itself may have been destroyed. */
function closeOut(to: MapKey.MapKey, assetId: bigint, { sender, overlay, outcome }: Context): void {
  if (overlay.account(sender).assetsHeld === 0) {
    const where = `${MapKey.address(sender)} : account is not opted in asset ${assetId} `
    throw new LedgerError('rule_violation', `cannot close asset holding on account ${where}`)
  }
  const asset = overlay.asset(assetId)
  if (asset?.creator === sender) throw new LedgerError('rule_violation', 'cannot close asset ID in allocating account')
  const holding = overlay.holding(sender, assetId)
  if (holding === undefined)
    throw new LedgerError('rule_violation', `asset ${assetId} not present in account ${MapKey.address(sender)}`)
  outcome.assetClosingAmount = holding.amount
  const isReturned = asset?.creator === to
  Assets.takeOut(overlay, sender, assetId, holding.amount, isReturned)
  Assets.putIn(overlay, to, assetId, holding.amount, isReturned)
  // Closing to itself returns the amount, and a nonempty holding cannot be closed.
  const rest = overlay.holding(sender, assetId)!.amount
  if (rest !== 0n) throw new LedgerError('rule_violation', `asset ${assetId} not zero (${rest}) after closing`)
  overlay.putHolding(sender, assetId, undefined)
}
