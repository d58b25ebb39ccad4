import type { Transaction } from '@latchkey/algorand'
import * as Key from '../Key.js'
import { LedgerError } from '../LedgerError.js'
import * as Assets from './Assets.js'
import type { Context, Outcome } from './Context.js'

type Txn = Transaction.Transaction

export function assetTransfer(txn: Txn, context: Context): Outcome {
  const { sender, layer } = context
  const assetId = txn.xaid ?? 0n
  const amount = txn.aamt ?? 0n
  const receiver = Key.ofField(txn.arcv)
  if (txn.asnd !== undefined) return clawback(txn.asnd, txn, context)
  if (amount === 0n && receiver === sender && layer.holding(sender, assetId) === undefined) {
    const { defaultFrozen } = Assets.get(layer, assetId)
    layer.putHolding(sender, assetId, { amount: 0n, frozen: defaultFrozen })
  }
  Assets.takeOut(layer, sender, assetId, amount, false)
  Assets.putIn(layer, receiver, assetId, amount, false)
  return txn.aclose === undefined ? {} : closeOut(Key.of(txn.aclose), assetId, context)
}

/** Freezing stops the holder, not the one who may claw back. */
function clawback(from: Uint8Array, txn: Txn, { sender, layer }: Context): Outcome {
  const assetId = txn.xaid ?? 0n
  const asset = Assets.get(layer, assetId)
  if (asset.clawback === Key.zero || asset.clawback !== sender) {
    const who = `sender ${Key.address(sender)}, clawback ${Key.address(asset.clawback)}`
    throw new LedgerError(`clawback not allowed: ${who}`)
  }
  Assets.takeOut(layer, Key.of(from), assetId, txn.aamt ?? 0n, true)
  Assets.putIn(layer, Key.ofField(txn.arcv), assetId, txn.aamt ?? 0n, true)
  return {}
}

/** Gives up a holding; what is left in it goes to `to`. The asset itself may be gone by then. */
function closeOut(to: Key.Key, assetId: bigint, { sender, layer }: Context): Outcome {
  if (layer.account(sender).assetsHeld === 0) {
    const where = `${Key.address(sender)} : account is not opted in asset ${assetId} `
    throw new LedgerError(`cannot close asset holding on account ${where}`)
  }
  const asset = layer.asset(assetId)
  if (asset?.creator === sender) throw new LedgerError('cannot close asset ID in allocating account')
  const holding = layer.holding(sender, assetId)
  if (holding === undefined) throw new LedgerError(`asset ${assetId} not present in account ${Key.address(sender)}`)
  const isReturned = asset?.creator === to
  Assets.takeOut(layer, sender, assetId, holding.amount, isReturned)
  Assets.putIn(layer, to, assetId, holding.amount, isReturned)
  // Closing to itself puts back what it took out, and a holding that is not empty cannot go.
  const rest = layer.holding(sender, assetId)!.amount
  if (rest !== 0n) throw new LedgerError(`asset ${assetId} not zero (${rest}) after closing`)
  layer.putHolding(sender, assetId, undefined)
  return { assetClosingAmount: holding.amount }
}
