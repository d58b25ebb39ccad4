import type { Transaction } from '@latchkey/algorand'
import type { Asset } from '../Account.js'
import * as Key from '../Key.js'
import { LedgerError } from '../LedgerError.js'
import * as Assets from './Assets.js'
import type { Context, Outcome } from './Context.js'

type Parameters = NonNullable<Transaction.Transaction['apar']>

export function assetConfig({ caid, apar }: Transaction.Transaction, context: Context): Outcome {
  if (caid === undefined) return create(apar ?? {}, context)
  const { sender, layer } = context
  const asset = Assets.get(layer, caid)
  if (asset.manager === Key.zero || asset.manager !== sender) {
    const who = `It is issued by ${Key.address(sender)}, manager key ${Key.address(asset.manager)}`
    throw new LedgerError(`this transaction should be issued by the manager. ${who}`)
  }
  if (apar === undefined) destroy(caid, asset, context)
  else layer.putAsset(caid, reconfigured(asset, apar))
  return {}
}

function create(apar: Parameters, { sender, layer }: Context): Outcome {
  const createdAssetId = layer.transactionCount() + 1n
  // Only where an asset was given its id from outside, as the dollar is here.
  if (layer.asset(createdAssetId) !== undefined)
    throw new LedgerError(`already found asset with index ${createdAssetId}`)
  layer.putAsset(createdAssetId, {
    creator: sender,
    total: apar.t ?? 0n,
    decimals: apar.dc ?? 0,
    defaultFrozen: apar.df ?? false,
    unitName: textBytes(apar.un),
    name: textBytes(apar.an),
    url: textBytes(apar.au),
    metadataHash: apar.am,
    manager: Key.ofField(apar.m),
    reserve: Key.ofField(apar.r),
    freeze: Key.ofField(apar.f),
    clawback: Key.ofField(apar.c),
  })
  layer.putHolding(sender, createdAssetId, { amount: apar.t ?? 0n, frozen: false })
  return { createdAssetId }
}

function destroy(assetId: bigint, asset: Asset, { layer }: Context): void {
  const held = layer.holding(asset.creator, assetId)?.amount ?? 0n
  if (held !== asset.total)
    throw new LedgerError(`cannot destroy asset: creator is holding only ${held}/${asset.total}`)
  layer.putAsset(assetId, undefined)
  layer.putHolding(asset.creator, assetId, undefined)
}

/** Only the four addresses can change, and one that was given up stays so. */
function reconfigured(asset: Asset, apar: Parameters): Asset {
  const replaced = (before: Key.Key, after: Uint8Array | undefined): Key.Key =>
    before === Key.zero ? Key.zero : Key.ofField(after)
  return {
    ...asset,
    manager: replaced(asset.manager, apar.m),
    reserve: replaced(asset.reserve, apar.r),
    freeze: replaced(asset.freeze, apar.f),
    clawback: replaced(asset.clawback, apar.c),
  }
}

function textBytes(text: string | Uint8Array | undefined): Uint8Array {
  return new Uint8Array(Buffer.from(text ?? ''))
}
