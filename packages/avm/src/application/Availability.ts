/** Resolves references to accounts, assets and applications, by the rules of the version of the running program. */
import { Address } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Value } from '../evaluator/Value.js'
import { appAddress } from './appAddress.js'
import * as ByteKey from './ByteKey.js'
import {
  appAccountsVersion,
  createdResourcesVersion,
  directReferenceVersion,
  lastReservedId,
  sharedResourcesVersion,
} from './limits.js'
import type { Call } from './model.js'
import { pairKey } from './Resources.js'

const addressLength = 32

/** Whether a program can use an account. */
export function isAccountAvailable(call: Call, address: ByteKey.ByteKey): boolean {
  const { version, resources, transaction } = call
  if (accountIndex(call, address) !== undefined) return true
  if (version >= sharedResourcesVersion && resources.accounts.has(address)) return true
  if (version >= createdResourcesVersion) {
    for (const appId of resources.createdApps) if (appAddress(appId) === address) return true
  }
  if (version >= appAccountsVersion && transaction.apfa?.some((appId) => appAddress(appId) === address)) return true
  if (appAddress(call.appId) === address) return true
  return call.group.pool.unnamed?.allowsAccount(address, call.version) ?? false
}

/** Whether a program can use an asset. */
export function isAssetAvailable(call: Call, assetId: bigint): boolean {
  const { version, resources, transaction } = call
  // Every other entry of the access list makes the id 0 available.
  if (transaction.apas?.includes(assetId) || transaction.al?.some(({ s = 0n }) => s === assetId)) return true
  if (version >= createdResourcesVersion && resources.createdAssets.has(assetId)) return true
  if (version >= sharedResourcesVersion && resources.assets.has(assetId)) return true
  return call.group.pool.unnamed?.allowsAsset(assetId) ?? false
}

/** Whether a program can use an application. */
export function isAppAvailable(call: Call, appId: bigint): boolean {
  const { version, resources, transaction } = call
  if (appId === call.appId || transaction.apfa?.includes(appId)) return true
  if (transaction.al?.some(({ p = 0n }) => p === appId)) return true
  if (version >= createdResourcesVersion && resources.createdApps.has(appId)) return true
  if (version >= sharedResourcesVersion && resources.apps.has(appId)) return true
  return call.group.pool.unnamed?.allowsApp(appId, call.version) ?? false
}

/** Whether a program of version 9 or later can use the holding of an available account and an available asset. */
export function isHoldingAvailable(call: Call, address: ByteKey.ByteKey, assetId: bigint): boolean {
  const { resources } = call
  if (resources.holdings.has(pairKey(address, assetId))) return true
  // One side was created by the group, and the other one is available.
  if (resources.createdAssets.has(assetId)) return isAccountAvailable(call, address)
  for (const appId of resources.createdApps) {
    if (appAddress(appId) === address) return isAssetAvailable(call, assetId)
  }
  const { unnamed } = call.group.pool
  if (unnamed === undefined || !isAccountAvailable(call, address)) return false
  return isAssetAvailable(call, assetId) && unnamed.allowsHolding(address, assetId)
}

/** Whether a program of version 9 or later can use the local state of an available account and application. */
export function isLocalAvailable(call: Call, address: ByteKey.ByteKey, appId: bigint): boolean {
  const { resources } = call
  if (resources.locals.has(pairKey(address, appId))) return true
  if (resources.createdApps.has(appId)) return isAccountAvailable(call, address)
  for (const created of resources.createdApps) {
    if (appAddress(created) === address) return isAppAvailable(call, appId)
  }
  const { unnamed } = call.group.pool
  if (unnamed === undefined || !isAccountAvailable(call, address)) return false
  return isAppAvailable(call, appId) && unnamed.allowsLocal(address, appId)
}

/** The index of an account in the transaction: 0 is the sender. */
export function accountIndex({ transaction }: Call, address: ByteKey.ByteKey): number | undefined {
  if (ByteKey.of(transaction.snd) === address) return 0
  const index = transaction.apat?.findIndex((account) => ByteKey.of(account) === address) ?? -1
  if (index >= 0) return index + 1
  return undefined
}

/**
 * Resolves an address, or an index into the accounts of the transaction, without regard to availability.
 *
 * @throws EvaluationError
 */
export function resolveAccount({ transaction }: Call, reference: Value): ByteKey.ByteKey {
  if (typeof reference !== 'bigint') {
    if (reference.length !== addressLength) throw new EvaluationError('not an address')
    return ByteKey.of(reference)
  }
  if (reference === 0n) return ByteKey.of(transaction.snd)
  const { al, apat = [] } = transaction
  if (al !== undefined) {
    if (reference > BigInt(al.length)) {
      throw new EvaluationError(`invalid Account reference ${reference} exceeds length of tx.Access ${al.length}`)
    }
    const { d } = al[Number(reference) - 1]!
    if (d === undefined) throw new EvaluationError(`address reference ${reference} is not an Address in tx.Access`)
    return ByteKey.of(d)
  }
  if (reference > BigInt(apat.length)) {
    throw new EvaluationError(`invalid Account reference ${reference} exceeds length of tx.Accounts ${apat.length}`)
  }
  return ByteKey.of(apat[Number(reference) - 1]!)
}

/**
 * Resolves a reference to an account that the program can use.
 *
 * @throws EvaluationError
 */
export function accountOf(call: Call, reference: Value): ByteKey.ByteKey {
  const address = resolveAccount(call, reference)
  if (isAccountAvailable(call, address)) return address
  throw new EvaluationError(unavailableAccount(address))
}

/**
 * Resolves a reference to an account that the transaction itself names, whose local state a program before version 9
 * can change.
 *
 * @throws EvaluationError
 */
export function mutableAccountOf(call: Call, reference: Value): ByteKey.ByteKey {
  const address = accountOf(call, reference)
  if (accountIndex(call, address) !== undefined) return address
  throw new EvaluationError(`invalid Account reference for mutation ${Address.encode(ByteKey.bytes(address))}`)
}

/**
 * Resolves a reference to an application.
 *
 * @param isForeign whether programs before version 4 use an index instead of an id.
 * @throws EvaluationError
 */
export function appOf(call: Call, reference: bigint, isForeign: boolean): bigint {
  const appId = resolveApp(call, reference, isForeign)
  if (appId <= lastReservedId) throw new EvaluationError(`low App lookup ${appId}`)
  return appId
}

function resolveApp(call: Call, reference: bigint, isForeign: boolean): bigint {
  if (reference === 0n) return call.appId
  const { apfa = [], al } = call.transaction
  if (call.version < directReferenceVersion) {
    if (!isForeign) return reference
    if (reference <= BigInt(apfa.length)) return apfa[Number(reference) - 1]!
    throw new EvaluationError(`${reference} is not a valid foreign app slot`)
  }
  // An index is meant where an id of that size cannot exist.
  if (call.transaction.apfa?.includes(reference)) return reference
  if (al !== undefined && reference <= BigInt(al.length)) {
    const appId = al[Number(reference) - 1]!.p
    if (appId !== undefined) return appId
  }
  if (reference <= BigInt(apfa.length)) return apfa[Number(reference) - 1]!
  if (isAppAvailable(call, reference)) return reference
  throw new EvaluationError(`unavailable App ${reference}`)
}

/**
 * Resolves a reference to an asset.
 *
 * @param isForeign whether programs before version 4 use an index instead of an id.
 * @throws EvaluationError
 */
export function assetOf(call: Call, reference: bigint, isForeign: boolean): bigint {
  const assetId = resolveAsset(call, reference, isForeign)
  if (assetId <= lastReservedId) throw new EvaluationError(`low Asset lookup ${assetId}`)
  return assetId
}

function resolveAsset(call: Call, reference: bigint, isForeign: boolean): bigint {
  const { apas = [], al } = call.transaction
  if (call.version < directReferenceVersion) {
    if (!isForeign) return reference
    if (reference < BigInt(apas.length)) return apas[Number(reference)]!
    throw new EvaluationError(`${reference} is not a valid foreign asset slot`)
  }
  if (apas.includes(reference)) return reference
  if (al !== undefined && reference > 0n && reference <= BigInt(al.length)) {
    const assetId = al[Number(reference) - 1]!.s
    if (assetId !== undefined) return assetId
  }
  if (reference < BigInt(apas.length)) return apas[Number(reference)]!
  if (isAssetAvailable(call, reference)) return reference
  throw new EvaluationError(`unavailable Asset ${reference}`)
}

/** A resolved pair of an account and an asset or application. */
export type Pair = { readonly address: ByteKey.ByteKey; readonly id: bigint }

/**
 * Resolves references to a holding.
 *
 * @throws EvaluationError
 */
export function holdingOf(call: Call, account: Value, asset: bigint): Pair {
  if (call.version < sharedResourcesVersion) {
    const address = accountOf(call, account)
    return { address, id: assetOf(call, asset, false) }
  }
  const address = resolveAccount(call, account)
  const resolved = attempt(() => assetOf(call, asset, false))
  if (typeof resolved === 'bigint' && isHoldingAvailable(call, address, resolved)) return { address, id: resolved }
  const problems = isAccountAvailable(call, address) ? [] : [unavailableAccount(address)]
  if (typeof resolved !== 'bigint') problems.push(resolved.message)
  else if (problems.length === 0) {
    problems.push(`unavailable Holding ${resolved}+${Address.encode(ByteKey.bytes(address))}`)
  }
  throw new EvaluationError(problems.join(', '))
}

/**
 * Resolves references to a local state.
 *
 * @throws EvaluationError
 */
export function localOf(call: Call, account: Value, app: bigint): Pair {
  if (call.version < sharedResourcesVersion) {
    const address = accountOf(call, account)
    return { address, id: appOf(call, app, false) }
  }
  const address = resolveAccount(call, account)
  const resolved = attempt(() => appOf(call, app, false))
  if (typeof resolved === 'bigint' && isLocalAvailable(call, address, resolved)) return { address, id: resolved }
  const problems = isAccountAvailable(call, address) ? [] : [unavailableAccount(address)]
  if (typeof resolved !== 'bigint') problems.push(resolved.message)
  if (typeof resolved === 'bigint' || problems.length > 1) {
    const id = typeof resolved === 'bigint' ? resolved : 0n
    problems.push(`unavailable Local State ${id}+${Address.encode(ByteKey.bytes(address))}`)
  }
  throw new EvaluationError(problems.join(', '))
}

function attempt(resolve: () => bigint): bigint | EvaluationError {
  try {
    return resolve()
  } catch (error) {
    if (error instanceof EvaluationError) return error
    throw error
  }
}

/** The text for an account that a program cannot use. */
export function unavailableAccount(address: ByteKey.ByteKey): string {
  return `unavailable Account ${Address.encode(ByteKey.bytes(address))}`
}
