import type { Asset } from '../Account.js'
import * as Consensus from '../Consensus.js'
import * as Key from '../Key.js'
import { LedgerError } from '../LedgerError.js'
import type { StateOverlay } from '../StateOverlay.js'

export function get(layer: StateOverlay, assetId: bigint): Asset {
  const asset = layer.asset(assetId)
  if (asset === undefined) throw new LedgerError(`asset ${assetId} does not exist or has been deleted`)
  return asset
}

/** Out of an account. Nothing is looked up for nothing: nodes let it pass, even for an asset that does not exist. */
export function takeOut(
  layer: StateOverlay,
  key: Key.Key,
  assetId: bigint,
  amount: bigint,
  ignoresFreeze: boolean,
): void {
  if (amount === 0n) return
  const holding = layer.holding(key, assetId)
  if (holding === undefined) throw new LedgerError(`asset ${assetId} missing from ${Key.address(key)}`)
  if (holding.frozen && !ignoresFreeze) throw new LedgerError(`asset ${assetId} frozen in ${Key.address(key)}`)
  if (holding.amount < amount) {
    throw new LedgerError(`underflow on subtracting ${amount} from sender amount ${holding.amount}`, {
      hint: `it is short of ${amount - holding.amount} base units of asset ${assetId}`,
    })
  }
  layer.putHolding(key, assetId, { ...holding, amount: holding.amount - amount })
}

export function putIn(
  layer: StateOverlay,
  key: Key.Key,
  assetId: bigint,
  amount: bigint,
  ignoresFreeze: boolean,
): void {
  if (amount === 0n) return
  const holding = layer.holding(key, assetId)
  if (holding === undefined) {
    throw new LedgerError(`receiver error: must optin, asset ${assetId} missing from ${Key.address(key)}`, {
      hint: `the receiver has to send 0 of asset ${assetId} to itself first`,
    })
  }
  if (holding.frozen && !ignoresFreeze) throw new LedgerError('asset frozen in recipient')
  const sum = holding.amount + amount
  if (sum > Consensus.maxUint64) {
    throw new LedgerError(`overflow on adding ${amount} to receiver amount ${holding.amount}`)
  }
  layer.putHolding(key, assetId, { ...holding, amount: sum })
}
