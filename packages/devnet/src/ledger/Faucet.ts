/** Funds accounts without a signature: Algos from the faucet account, assets from their creator, and opt-ins. */
import { minBalance } from './Account.js'
import * as Assets from './apply/Assets.js'
import { moveAlgos } from './apply/index.js'
import type { FundChange } from './LedgerChange.js'
import { LedgerError } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import { StateOverlay } from './StateOverlay.js'
import type { StateReader } from './StateReader.js'

/** Computes the changes of a funding. Throws a LedgerError if it is not possible. */
export function evaluate(
  { to, microAlgos, assets }: FundChange,
  faucet: MapKey.MapKey,
  below: StateReader,
): StateOverlay {
  const overlay = new StateOverlay(below)
  moveAlgos(overlay, faucet, to, microAlgos)
  for (const { assetId, amount } of assets) {
    const { creator, defaultFrozen } = Assets.getAsset(overlay, assetId)
    const isOptedIn = overlay.holding(to, assetId) !== undefined
    if (!isOptedIn) overlay.putHolding(to, assetId, { amount: 0n, frozen: defaultFrozen })
    Assets.takeOut(overlay, creator, assetId, amount, true)
    Assets.putIn(overlay, to, assetId, amount, true)
  }
  // A holding raises the minimum balance. Without the Algos for it the account could not use the received assets.
  const { microAlgos: has } = overlay.account(to)
  const needs = minBalance(overlay.account(to))
  if (has < needs && assets.length > 0) moveAlgos(overlay, faucet, to, needs - has)
  else if (has < needs) {
    throw new LedgerError(
      'rule_violation',
      `account ${MapKey.address(to)} would have ${has} microAlgos, below its minimum balance of ${needs}`,
      { hint: `fund it with at least ${needs} microAlgos` },
    )
  }
  const left = overlay.account(faucet)
  if (left.microAlgos < minBalance(left)) {
    throw new LedgerError('rule_violation', 'the faucet has no ALGO left', { hint: 'reset the devnet' })
  }
  return overlay
}
