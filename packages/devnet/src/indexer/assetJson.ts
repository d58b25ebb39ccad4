/** Assets and holdings in the format of an indexer. */
import type { Asset } from '../ledger/Account.js'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import { textMembers } from '../rest/accountEncoding.js'
import type { Value } from '../rest/HttpResponse.js'

export { textMembers }

/** The remaining members of a destroyed asset. */
const destroyed = {
  total: 0n,
  decimals: 0,
  defaultFrozen: false,
  unitName: new Uint8Array(),
  name: new Uint8Array(),
  url: new Uint8Array(),
  manager: MapKey.zero,
  reserve: MapKey.zero,
  freeze: MapKey.zero,
  clawback: MapKey.zero,
}

/**
 * An asset that exists or existed.
 *
 * @param addressJson writes addresses: lists of assets show the zero address, accounts omit it.
 */
export function assetJson(
  { state, lifetimes }: Ledger,
  assetId: bigint,
  addressJson: (key: MapKey.MapKey) => string | undefined,
): Value {
  const lifetime = lifetimes!.assets.get(assetId)
  const existing = state.asset(assetId)
  const asset: Asset = existing ?? { ...destroyed, creator: lifetime!.creator }
  return {
    'created-at-round': lifetime?.created,
    deleted: existing === undefined,
    'destroyed-at-round': lifetime?.closed,
    index: assetId,
    params: {
      clawback: addressJson(asset.clawback),
      creator: MapKey.address(asset.creator),
      decimals: asset.decimals,
      'default-frozen': asset.defaultFrozen,
      freeze: addressJson(asset.freeze),
      manager: addressJson(asset.manager),
      'metadata-hash': asset.metadataHash,
      ...textMembers('name', asset.name),
      reserve: addressJson(asset.reserve),
      total: asset.total,
      ...textMembers('unit-name', asset.unitName),
      ...textMembers('url', asset.url),
    },
  }
}

export function addressOrNone(key: MapKey.MapKey): string | undefined {
  return key === MapKey.zero ? undefined : MapKey.address(key)
}

/** A holding that exists or existed, with the id of the asset or with its holder. */
export function holdingJson(
  { state, lifetimes }: Ledger,
  key: MapKey.MapKey,
  assetId: bigint,
  names: 'asset' | 'holder',
): Value {
  const lifetime = lifetimes!.holding(key, assetId)
  const holding = state.holding(key, assetId)
  return {
    address: names === 'holder' ? MapKey.address(key) : undefined,
    amount: holding?.amount ?? 0n,
    'asset-id': names === 'asset' ? assetId : undefined,
    deleted: holding === undefined,
    'is-frozen': (holding ?? lifetime)?.frozen ?? false,
    'opted-in-at-round': lifetime?.created,
    'opted-out-at-round': lifetime?.closed,
  }
}
