/** The state as JSON. Sorted, so that equal states give equal texts. Sums are checked when it is read. */
import { Hash } from '@latchkey/algorand'
import { type Account, type Asset, isNone, none } from '../../ledger/Account.js'
import * as Consensus from '../../ledger/Consensus.js'
import type { Genesis } from '../../ledger/Genesis.js'
import type { ClockState } from '../../ledger/LedgerChange.js'
import * as MapKey from '../../ledger/MapKey.js'
import type { HeldAsset, StateCopy } from '../../ledger/State.js'
import { holdingKey, leaseKey } from '../../ledger/StateReader.js'
import * as AccountJson from './AccountJson.js'
import * as ApplicationJson from './ApplicationJson.js'
import * as AssetJson from './AssetJson.js'
import { addOnce, base64, type JsonCursor } from './JsonCursor.js'

export const names = ['accounts', 'assets', 'transactions', 'leases'] as const
export const optionalNames = ApplicationJson.names
type Optional = (typeof optionalNames)[number]
export type StateJson = { readonly [name in (typeof names)[number]]: object[] } & {
  readonly [name in Optional]?: object[]
}
export type StateMembers = { readonly [name in (typeof names)[number]]: JsonCursor } & {
  readonly [name in Optional]?: JsonCursor
}

const keyLength = MapKey.zero.length

export function toJson({ accounts, holdings, assets, transactions, leases, ...programs }: StateCopy): StateJson {
  const heldBy = new Map<MapKey.MapKey, HeldAsset[]>()
  for (const held of holdings.values()) {
    const others = heldBy.get(held.key)
    if (others === undefined) heldBy.set(held.key, [held])
    else others.push(held)
  }
  return {
    accounts: sorted(accounts).map(([key, account]) => AccountJson.toJson(key, account, heldBy.get(key) ?? [])),
    assets: sorted(assets).map(([assetId, asset]) => AssetJson.toJson(assetId, asset)),
    ...ApplicationJson.toJson(programs),
    transactions: sorted(transactions).map(([key, lastValid]) => ({
      id: Hash.toText(MapKey.bytes(key)),
      lastValid: lastValid.toString(),
    })),
    leases: sorted(leases).map(([senderAndLease, lastValid]) => ({
      sender: MapKey.address(senderAndLease.slice(0, keyLength)),
      lease: base64(MapKey.bytes(senderAndLease.slice(keyLength))),
      lastValid: lastValid.toString(),
    })),
  }
}

function sorted<K extends string | bigint, V>(map: ReadonlyMap<K, V>): [K, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

export type Context = { genesis: Genesis; transactionCount: bigint; lastRound: bigint }
type Holdings = Map<string, HeldAsset>

export function fromJson(members: StateMembers, context: Context): StateCopy {
  const assets = readAssets(members.assets, context)
  const { accounts, holdings } = readAccounts(members.accounts, context)
  checkAlgos(members.accounts, accounts, context.genesis)
  checkAmounts(members, holdings, assets)
  for (const [assetId, { creator }] of assets) {
    if (!accounts.has(creator)) members.assets.fail(`has asset ${assetId}, whose creator is not among the accounts`)
  }
  const applications = ApplicationJson.fromJson(members, (id, place) => checkAssetId(id, place, context))
  return {
    accounts: ApplicationJson.counted(counted(accounts, holdings, assets), applications),
    holdings,
    assets,
    ...applications,
    ...readUnexpired(members, context.lastRound),
    transactionCount: context.transactionCount,
  }
}

/** The id of an asset or application is the number of the transaction that created it, even after it was destroyed. */
function checkAssetId(assetId: bigint, place: JsonCursor, { genesis, transactionCount }: Context): void {
  const isNumbered = assetId > Consensus.transactionCounterAtGenesis && assetId <= transactionCount
  if (!isNumbered && !genesis.assets.has(assetId)) place.fail('is not the number of a transaction')
}

function readAssets(member: JsonCursor, context: Context): Map<bigint, Asset> {
  const assets = new Map<bigint, Asset>()
  for (const one of member.list()) {
    const { assetId, asset, place } = AssetJson.fromJson(one)
    checkAssetId(assetId, place, context)
    addOnce(assets, assetId, asset, place)
  }
  return assets
}

function readAccounts(
  member: JsonCursor,
  context: Context,
): { accounts: Map<MapKey.MapKey, Account>; holdings: Holdings } {
  const accounts = new Map<MapKey.MapKey, Account>()
  const holdings: Holdings = new Map()
  for (const one of member.list()) {
    const read = AccountJson.fromJson(one)
    if (isNone(read.account) && read.holdings.length === 0) one.fail('is an empty account, which must be absent')
    addOnce(accounts, read.key, read.account, read.place)
    for (const { held, place } of read.holdings) {
      checkAssetId(held.assetId, place, context)
      addOnce(holdings, holdingKey(held.key, held.assetId), held, place)
    }
  }
  return { accounts, holdings }
}

function checkAlgos(member: JsonCursor, accounts: ReadonlyMap<MapKey.MapKey, Account>, { allocations }: Genesis): void {
  const supply = allocations.reduce((sum, { microAlgos }) => sum + microAlgos, 0n)
  let sum = 0n
  for (const { microAlgos } of accounts.values()) sum += microAlgos
  if (sum !== supply) member.fail(`adds up to ${sum} microAlgos, but there are ${supply}`)
}

/** The holdings of an asset add up to its total, those of a destroyed one to zero. */
function checkAmounts(members: StateMembers, holdings: Holdings, assets: ReadonlyMap<bigint, Asset>): void {
  const sums = new Map<bigint, bigint>([...assets.keys()].map((assetId) => [assetId, 0n]))
  for (const { assetId, holding } of holdings.values()) {
    sums.set(assetId, (sums.get(assetId) ?? 0n) + holding.amount)
  }
  for (const [assetId, sum] of sums) {
    const total = assets.get(assetId)?.total ?? 0n
    if (sum !== total) members.accounts.fail(`adds up to ${sum} of asset ${assetId}, but there are ${total}`)
  }
}

function counted(
  accounts: ReadonlyMap<MapKey.MapKey, Account>,
  holdings: Holdings,
  assets: ReadonlyMap<bigint, Asset>,
): Map<MapKey.MapKey, Account> {
  const result = new Map(accounts)
  const add = (key: MapKey.MapKey, held: number, created: number): void => {
    const { assetsHeld, assetsCreated, ...rest } = result.get(key) ?? none
    result.set(key, { ...rest, assetsHeld: assetsHeld + held, assetsCreated: assetsCreated + created })
  }
  for (const { key } of holdings.values()) add(key, 1, 0)
  for (const { creator } of assets.values()) add(creator, 0, 1)
  return result
}

/**
 * Accepts only unexpired entries: the ledger deletes entries when their round ends, and would never delete expired
 * ones.
 */
function readUnexpired(members: StateMembers, lastRound: bigint): Pick<StateCopy, 'transactions' | 'leases'> {
  const lastValidOf = (member: JsonCursor): bigint => {
    const lastValid = member.unsigned(lastRound + Consensus.maxValidityRounds)
    return lastValid > lastRound ? lastValid : member.fail(`has expired: the last block is that of round ${lastRound}`)
  }
  const transactions = new Map<MapKey.MapKey, bigint>()
  for (const member of members.transactions.list()) {
    const { id, lastValid } = member.object(['id', 'lastValid'])
    addOnce(transactions, id.transactionId(), lastValidOf(lastValid), id)
  }
  const leases = new Map<string, bigint>()
  for (const member of members.leases.list()) {
    const { sender, lease, lastValid } = member.object(['sender', 'lease', 'lastValid'])
    addOnce(leases, leaseKey(sender.address(), lease.key()), lastValidOf(lastValid), lease)
  }
  return { transactions, leases }
}

/** The clock's state as JSON. */
export function clockToJson({ offsetSeconds, aheadSeconds, nextTimestamp }: ClockState): object {
  return {
    aheadSeconds: aheadSeconds.toString(),
    offsetSeconds: offsetSeconds?.toString(),
    nextTimestamp: nextTimestamp?.toString(),
  }
}

export function clockFromJson(member: JsonCursor): ClockState {
  const clock = member.object(['aheadSeconds'], ['offsetSeconds', 'nextTimestamp'])
  return {
    offsetSeconds: clock.offsetSeconds?.unsigned(),
    aheadSeconds: clock.aheadSeconds.signed(),
    nextTimestamp: clock.nextTimestamp?.unsigned(),
  }
}
