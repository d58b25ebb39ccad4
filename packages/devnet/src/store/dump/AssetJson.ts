/** An asset's parameters as JSON. Its texts are bytes, so they are written as such. */
import type { Asset } from '../../ledger/Account.js'
import * as Consensus from '../../ledger/Consensus.js'
import * as Key from '../../ledger/Key.js'
import { base64, type Member } from './Member.js'

export function toJson(assetId: bigint, asset: Asset): object {
  return {
    assetId: assetId.toString(),
    creator: Key.address(asset.creator),
    total: asset.total.toString(),
    decimals: asset.decimals.toString(),
    defaultFrozen: asset.defaultFrozen,
    unitName: base64(asset.unitName),
    name: base64(asset.name),
    url: base64(asset.url),
    metadataHash: asset.metadataHash && base64(asset.metadataHash),
    manager: Key.address(asset.manager),
    reserve: Key.address(asset.reserve),
    freeze: Key.address(asset.freeze),
    clawback: Key.address(asset.clawback),
  }
}

const required = [
  ...(['assetId', 'creator', 'total', 'decimals', 'defaultFrozen', 'unitName', 'name', 'url'] as const),
  ...(['manager', 'reserve', 'freeze', 'clawback'] as const),
]
const metadataHashBytes = 32

/** The asset, its id, and the member to name if that cannot be. */
export function fromJson(member: Member): { assetId: bigint; asset: Asset; place: Member } {
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
