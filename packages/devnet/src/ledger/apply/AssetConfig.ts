import type { Transaction } from '@latchkey/algorand'
import type { Asset } from '../Account.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import * as Assets from './Assets.js'
import type { Context } from './Context.js'

type Parameters = NonNullable<Transaction.Transaction['apar']>

export function assetConfig({ caid, apar }: Transaction.Transaction, context: Context): void {
  if (caid === undefined) create(apar ?? {}, context)
  else change(caid, apar, context)
}

/** Only the manager can change an asset. Without parameters it is destroyed. */
function change(caid: bigint, apar: Parameters | undefined, context: Context): void {
  const { sender, overlay } = context
  const asset = Assets.get(overlay, caid)
  if (asset.manager === MapKey.zero || asset.manager !== sender) {
    const who = `It is issued by ${MapKey.address(sender)}, manager key ${MapKey.address(asset.manager)}`
    throw new LedgerError('rule_violation', `this transaction should be issued by the manager. ${who}`)
  }
  if (apar === undefined) destroy(caid, asset, context)
  else overlay.putAsset(caid, reconfigured(asset, apar))
}

function create(apar: Parameters, { sender, overlay, outcome }: Context): void {
  const createdAssetId = overlay.transactionCount() + 1n
  // Only possible for an id that was assigned at genesis, such as that of the dollar.
  if (overlay.asset(createdAssetId) !== undefined)
    throw new LedgerError('rule_violation', `already found asset with index ${createdAssetId}`)
  overlay.putAsset(createdAssetId, {
    creator: sender,
    total: apar.t ?? 0n,
    decimals: apar.dc ?? 0,
    defaultFrozen: apar.df ?? false,
    unitName: textBytes(apar.un),
    name: textBytes(apar.an),
    url: textBytes(apar.au),
    metadataHash: apar.am,
    manager: MapKey.ofField(apar.m),
    reserve: MapKey.ofField(apar.r),
    freeze: MapKey.ofField(apar.f),
    clawback: MapKey.ofField(apar.c),
  })
  overlay.putHolding(sender, createdAssetId, { amount: apar.t ?? 0n, frozen: false })
  outcome.createdAssetId = createdAssetId
}

function destroy(assetId: bigint, asset: Asset, { overlay }: Context): void {
  const held = overlay.holding(asset.creator, assetId)?.amount ?? 0n
  if (held !== asset.total)
    throw new LedgerError('rule_violation', `cannot destroy asset: creator is holding only ${held}/${asset.total}`)
  overlay.putAsset(assetId, undefined)
  overlay.putHolding(asset.creator, assetId, undefined)
}

/** Only the four addresses can change, and a cleared one stays cleared. */
function reconfigured(asset: Asset, apar: Parameters): Asset {
  const replaced = (before: MapKey.MapKey, after: Uint8Array | undefined): MapKey.MapKey =>
    before === MapKey.zero ? MapKey.zero : MapKey.ofField(after)
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
