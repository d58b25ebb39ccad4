import type { Transaction } from '@latchkey/algorand'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import * as Assets from './Assets.js'
import type { Context } from './Context.js'

export function assetFreeze({ faid, fadd, afrz }: Transaction.Transaction, { sender, overlay }: Context): void {
  const { freeze } = Assets.get(overlay, faid!)
  if (freeze === MapKey.zero || freeze !== sender) {
    throw new LedgerError(
      'rule_violation',
      `freeze not allowed: sender ${MapKey.address(sender)}, freeze ${MapKey.address(freeze)}`,
    )
  }
  const target = MapKey.of(fadd!)
  const holding = overlay.holding(target, faid!)
  if (holding === undefined) throw new LedgerError('rule_violation', 'asset not found in account')
  overlay.putHolding(target, faid!, { ...holding, frozen: afrz ?? false })
}
