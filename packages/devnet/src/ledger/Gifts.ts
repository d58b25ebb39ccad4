/** Accounts given what they need without anybody's signature: the dispenser's Algos, the issuer's assets, opt-ins. */
import { minBalance } from './Account.js'
import * as Algos from './apply/Algos.js'
import * as Assets from './apply/Assets.js'
import type { Gift } from './Change.js'
import * as Key from './Key.js'
import { LedgerError } from './LedgerError.js'
import { StateOverlay } from './StateOverlay.js'
import type { Store } from './Store.js'

/** The changes that a gift makes; throws a Refusal if it cannot be given. */
export function evaluate({ to, microAlgos, assets }: Gift, dispenser: Key.Key, below: Store): StateOverlay {
  const layer = new StateOverlay(below)
  Algos.move(layer, dispenser, to, microAlgos)
  for (const { assetId, amount } of assets) {
    const { creator, defaultFrozen } = Assets.get(layer, assetId)
    if (layer.holding(to, assetId) === undefined) layer.putHolding(to, assetId, { amount: 0n, frozen: defaultFrozen })
    Assets.takeOut(layer, creator, assetId, amount, true)
    Assets.putIn(layer, to, assetId, amount, true)
  }
  // A holding needs Algos behind it: without them the account could do nothing with what it was given.
  const { microAlgos: has } = layer.account(to)
  const needs = minBalance(layer.account(to))
  if (has < needs && assets.length > 0) Algos.move(layer, dispenser, to, needs - has)
  else if (has < needs) {
    throw new LedgerError(
      `account ${Key.address(to)} would have ${has} microAlgos, below its minimum balance of ${needs}`,
    )
  }
  const left = layer.account(dispenser)
  if (left.microAlgos < minBalance(left)) throw new LedgerError('the dispenser has no Algos left; reset the devnet')
  return layer
}
