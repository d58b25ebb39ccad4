/** An asset's parameters as JSON. Its texts are bytes, written in base64. */
import type { Asset } from '../../ledger/Account.js'
import * as Consensus from '../../ledger/Consensus.js'
import * as MapKey from '../../ledger/MapKey.js'
import { base64, type JsonCursor } from './JsonCursor.js'

export function toJson(assetId: bigint, asset: Asset): object {
  return {
    assetId: assetId.toString(),
    creator: MapKey.address(asset.creator),
    total: asset.total.toString(),
    decimals: asset.decimals.toString(),
    defaultFrozen: asset.defaultFrozen,
    unitName: base64(asset.unitName),
    name: base64(asset.name),
    url: base64(asset.url),
    metadataHash: asset.metadataHash && base64(asset.metadataHash),
    manager: MapKey.address(asset.manager),
    reserve: MapKey.address(asset.reserve),
    freeze: MapKey.address(asset.freeze),
    clawback: MapKey.address(asset.clawback),
  }
}

const required = [
  ...(['assetId', 'creator', 'total', 'decimals', 'defaultFrozen', 'unitName', 'name', 'url'] as const),
  ...(['manager', 'reserve', 'freeze', 'clawback'] as const),
]
const metadataHashBytes = 32

/** The asset, its id, and the member that holds the id. */
export function fromJson(member: JsonCursor): { assetId: bigint; asset: Asset; place: JsonCursor } {
  const it = member.object(required, ['metadataHash'])
  const asset: Asset = {
    creator: it.creator.address(),
    total: it.total.unsigned(),
    decimals: Number(it.decimals.unsigned(BigInt(Consensus.maxAssetDecimals))),
    defaultFrozen: it.defaultFrozen.boolean(),
    unitName: it.unitName.bytesUpTo(Consensus.maxAssetUnitNameBytes),
    name: it.name.bytesUpTo(Consensus.maxAssetNameBytes),
    url: it.url.bytesUpTo(Consensus.maxAssetUrlBytes),
    metadataHash: it.metadataHash?.bytesOf(metadataHashBytes),
    manager: it.manager.address(),
    reserve: it.reserve.address(),
    freeze: it.freeze.address(),
    clawback: it.clawback.address(),
  }
  return { assetId: it.assetId.unsigned(), asset, place: it.assetId }
}
