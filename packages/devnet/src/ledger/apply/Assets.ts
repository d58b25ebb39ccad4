import type { Transaction } from '@latchkey/algorand'
import { accountLookupError, creatorLookupError } from '@latchkey/avm'
import type { Asset } from '../Account.js'
import * as Consensus from '../Consensus.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'
import type { Context } from './Context.js'

export function getAsset(overlay: StateOverlay, assetId: bigint): Asset {
  const asset = overlay.asset(assetId)
  if (asset !== undefined) return asset
  const problem = creatorLookupError('asset', assetId)
  throw new LedgerError('rule_violation', problem ?? `asset ${assetId} does not exist or has been deleted`)
}

/** The error of an account that does not hold an asset. */
function missingHolding(key: MapKey.MapKey, assetId: bigint): string {
  return accountLookupError(assetId) ?? `asset ${assetId} missing from ${MapKey.address(key)}`
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
  if (holding === undefined) throw new LedgerError('rule_violation', missingHolding(key, assetId))
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

export function assetFreeze({ faid, fadd, afrz }: Transaction.Transaction, { sender, overlay }: Context): void {
  const { freeze } = getAsset(overlay, faid!)
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

type Txn = Transaction.Transaction

export function assetTransfer(txn: Txn, context: Context): void {
  const { sender, overlay } = context
  const assetId = txn.xaid ?? 0n
  const amount = txn.aamt ?? 0n
  const receiver = MapKey.ofField(txn.arcv)
  if (txn.asnd !== undefined) {
    clawback(txn.asnd, txn, context)
    return
  }
  if (amount === 0n && receiver === sender && overlay.holding(sender, assetId) === undefined) {
    const problem = accountLookupError(assetId)
    if (problem !== undefined) throw new LedgerError('rule_violation', problem)
    const { defaultFrozen } = getAsset(overlay, assetId)
    overlay.putHolding(sender, assetId, { amount: 0n, frozen: defaultFrozen })
  }
  takeOut(overlay, sender, assetId, amount, false)
  putIn(overlay, receiver, assetId, amount, false)
  if (txn.aclose !== undefined) closeOut(MapKey.of(txn.aclose), assetId, context)
}

/** Freezing a holding restricts its holder, not the clawback address. */
function clawback(from: Uint8Array, txn: Txn, { sender, overlay }: Context): void {
  const assetId = txn.xaid ?? 0n
  const asset = getAsset(overlay, assetId)
  if (asset.clawback === MapKey.zero || asset.clawback !== sender) {
    const who = `sender ${MapKey.address(sender)}, clawback ${MapKey.address(asset.clawback)}`
    throw new LedgerError('rule_violation', `clawback not allowed: ${who}`)
  }
  takeOut(overlay, MapKey.of(from), assetId, txn.aamt ?? 0n, true)
  putIn(overlay, MapKey.ofField(txn.arcv), assetId, txn.aamt ?? 0n, true)
}

/** Closes a holding; the remainder goes to `to`. The asset itself may have been destroyed. */
function closeOut(to: MapKey.MapKey, assetId: bigint, { sender, overlay, outcome }: Context): void {
  if (overlay.account(sender).assetsHeld === 0) {
    const where = `${MapKey.address(sender)} : account is not opted in asset ${assetId} `
    throw new LedgerError('rule_violation', `cannot close asset holding on account ${where}`)
  }
  const asset = overlay.asset(assetId)
  if (asset?.creator === sender) throw new LedgerError('rule_violation', 'cannot close asset ID in allocating account')
  const holding = overlay.holding(sender, assetId)
  if (holding === undefined)
    throw new LedgerError('rule_violation', `asset ${assetId} not present in account ${MapKey.address(sender)}`)
  outcome.assetClosingAmount = holding.amount
  const isReturned = asset?.creator === to
  takeOut(overlay, sender, assetId, holding.amount, isReturned)
  putIn(overlay, to, assetId, holding.amount, isReturned)
  // Closing to itself returns the amount, and a nonempty holding cannot be closed.
  const rest = overlay.holding(sender, assetId)!.amount
  if (rest !== 0n) throw new LedgerError('rule_violation', `asset ${assetId} not zero (${rest}) after closing`)
  overlay.putHolding(sender, assetId, undefined)
}

type AssetParameters = NonNullable<Transaction.Transaction['apar']>

export function assetConfig({ caid, apar }: Transaction.Transaction, context: Context): void {
  if (caid === undefined) create(apar ?? {}, context)
  else change(caid, apar, context)
}

/** Only the manager can change an asset. Without parameters it is destroyed. */
function change(caid: bigint, apar: AssetParameters | undefined, context: Context): void {
  const { sender, overlay } = context
  const asset = getAsset(overlay, caid)
  if (asset.manager === MapKey.zero || asset.manager !== sender) {
    const who = `It is issued by ${MapKey.address(sender)}, manager key ${MapKey.address(asset.manager)}`
    throw new LedgerError('rule_violation', `this transaction should be issued by the manager. ${who}`)
  }
  if (apar === undefined) destroy(caid, asset, context)
  else overlay.putAsset(caid, reconfigured(asset, apar))
}

function create(apar: AssetParameters, { sender, overlay, outcome }: Context): void {
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
function reconfigured(asset: Asset, apar: AssetParameters): Asset {
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
