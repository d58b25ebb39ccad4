import type { Asset } from '../Account.js'
import * as Consensus from '../Consensus.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'

export function get(overlay: StateOverlay, assetId: bigint): Asset {
  const asset = overlay.asset(assetId)
  if (asset === undefined)
    throw new LedgerError('rule_violation', `asset ${assetId} does not exist or has been deleted`)
  return asset
}

/** Takes an amount out of an account. An amount of 0 passes even for an asset that does not exist, as on a node. */
export function takeOut(
  overlay: StateOverlay,
  key: MapKey.MapKey,
  assetId: bigint,
  amount: bigint,
  ignoresFreeze: boolean,
): void {
  if (amount === 0n) return
  const holding = overlay.holding(key, assetId)
  if (holding === undefined)
    throw new LedgerError('rule_violation', `asset ${assetId} missing from ${MapKey.address(key)}`)
  if (holding.frozen && !ignoresFreeze)
    throw new LedgerError('rule_violation', `asset ${assetId} frozen in ${MapKey.address(key)}`)
  if (holding.amount < amount) {
    throw new LedgerError('rule_violation', `underflow on subtracting ${amount} from sender amount ${holding.amount}`, {
      hint: `it lacks ${amount - holding.amount} base units of asset ${assetId}`,
    })
  }
  overlay.putHolding(key, assetId, { ...holding, amount: holding.amount - amount })
}

export function putIn(
  overlay: StateOverlay,
  key: MapKey.MapKey,
  assetId: bigint,
  amount: bigint,
  ignoresFreeze: boolean,
): void {
  if (amount === 0n) return
  const holding = overlay.holding(key, assetId)
  if (holding === undefined) {
    throw new LedgerError(
      'rule_violation',
      `receiver error: must optin, asset ${assetId} missing from ${MapKey.address(key)}`,
      {
        hint: `the receiver must first opt in: send 0 of asset ${assetId} to itself`,
      },
    )
  }
  if (holding.frozen && !ignoresFreeze) throw new LedgerError('rule_violation', 'asset frozen in recipient')
  const sum = holding.amount + amount
  if (sum > Consensus.maxUint64) {
    throw new LedgerError('rule_violation', `overflow on adding ${amount} to receiver amount ${holding.amount}`)
  }
  overlay.putHolding(key, assetId, { ...holding, amount: sum })
}
