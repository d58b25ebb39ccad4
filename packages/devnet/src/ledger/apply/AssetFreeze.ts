import type { Transaction } from '@latchkey/algorand'
import * as Key from '../Key.js'
import { LedgerError } from '../LedgerError.js'
import * as Assets from './Assets.js'
import type { Context, Outcome } from './Context.js'

export function assetFreeze({ faid, fadd, afrz }: Transaction.Transaction, { sender, layer }: Context): Outcome {
  const { freeze } = Assets.get(layer, faid!)
  if (freeze === Key.zero || freeze !== sender) {
    throw new LedgerError(`freeze not allowed: sender ${Key.address(sender)}, freeze ${Key.address(freeze)}`)
  }
  const target = Key.of(fadd!)
  const holding = layer.holding(target, faid!)
  if (holding === undefined) throw new LedgerError('asset not found in account')
  layer.putHolding(target, faid!, { ...holding, frozen: afrz ?? false })
  return {}
}
