/**
 * The creation and closing rounds of accounts, assets, holdings and applications, as JSON. Absent from dumps of a ledger
 * without an indexer.
 */
import type { AppLifetime, AppLifetimesCopy, LocalLifetime } from '../../ledger/AppLifetimes.js'
import type {
  AccountLifetime,
  AssetLifetime,
  HoldingLifetime,
  Lifetime,
  LifetimesCopy,
} from '../../ledger/Lifetimes.js'
import * as MapKey from '../../ledger/MapKey.js'
import { holdingKey } from '../../ledger/StateReader.js'
import { addOnce, type JsonCursor } from './JsonCursor.js'

export const names = [
  'accountLifetimes',
  'assetLifetimes',
  'holdingLifetimes',
  'applicationLifetimes',
  'localStateLifetimes',
] as const

export type LifetimesJson = { readonly [name in (typeof names)[number]]?: object[] }
export type LifetimesMembers = { readonly [name in (typeof names)[number]]?: JsonCursor }

export function toJson({ accounts, assets, holdings, apps }: LifetimesCopy): LifetimesJson {
  return {
    accountLifetimes: [...accounts].map(([key, { signature, ...lifetime }]) => ({
      address: MapKey.address(key),
      signature,
      ...roundsJson(lifetime),
    })),
    assetLifetimes: [...assets].map(([assetId, { creator, ...lifetime }]) => ({
      assetId: assetId.toString(),
      creator: MapKey.address(creator),
      ...roundsJson(lifetime),
    })),
    holdingLifetimes: [...holdings.values()].map(({ key, assetId, frozen, ...lifetime }) => ({
      address: MapKey.address(key),
      assetId: assetId.toString(),
      frozen,
      ...roundsJson(lifetime),
    })),
    ...(apps === undefined ? {} : appsJson(apps)),
  }
}

/** Without any, nothing is written, so that earlier programs read the dump. */
function appsJson({ applications, locals }: AppLifetimesCopy): LifetimesJson {
  if (applications.size + locals.size === 0) return {}
  return {
    applicationLifetimes: [...applications].map(([appId, { creator, ...lifetime }]) => ({
      applicationId: appId.toString(),
      creator: MapKey.address(creator),
      ...roundsJson(lifetime),
    })),
    localStateLifetimes: [...locals.values()].map(({ key, appId, ...lifetime }) => ({
      address: MapKey.address(key),
      applicationId: appId.toString(),
      ...roundsJson(lifetime),
    })),
  }
}

function roundsJson({ created, closed }: Lifetime): object {
  return { created: created?.toString(), closed: closed?.toString() }
}

/** Undefined if the dump has none. */
export function fromJson(members: LifetimesMembers, lastRound: bigint): LifetimesCopy | undefined {
  const { accountLifetimes, assetLifetimes, holdingLifetimes, applicationLifetimes, localStateLifetimes } = members
  if (accountLifetimes === undefined && assetLifetimes === undefined && holdingLifetimes === undefined) return undefined
  return {
    accounts: readAccounts(accountLifetimes, lastRound),
    assets: readAssets(assetLifetimes, lastRound),
    holdings: readHoldings(holdingLifetimes, lastRound),
    apps: {
      applications: readApplications(applicationLifetimes, lastRound),
      locals: readLocals(localStateLifetimes, lastRound),
    },
  }
}

const rounds = ['created', 'closed'] as const
type Rounds = { readonly [name in (typeof rounds)[number]]?: JsonCursor }

function readRounds({ created, closed }: Rounds, lastRound: bigint): Lifetime {
  return { created: created?.unsigned(lastRound), closed: closed?.unsigned(lastRound) }
}

function readAccounts(member: JsonCursor | undefined, lastRound: bigint): Map<MapKey.MapKey, AccountLifetime> {
  const accounts = new Map<MapKey.MapKey, AccountLifetime>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['address'], ['signature', ...rounds])
    const signature = it.signature?.oneOf(['sig', 'msig', 'lsig'])
    addOnce(accounts, it.address.address(), { ...readRounds(it, lastRound), signature }, it.address)
  }
  return accounts
}

function readAssets(member: JsonCursor | undefined, lastRound: bigint): Map<bigint, AssetLifetime> {
  const assets = new Map<bigint, AssetLifetime>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['assetId', 'creator'], rounds)
    addOnce(assets, it.assetId.unsigned(), { ...readRounds(it, lastRound), creator: it.creator.address() }, it.assetId)
  }
  return assets
}

function readHoldings(member: JsonCursor | undefined, lastRound: bigint): Map<string, HoldingLifetime> {
  const holdings = new Map<string, HoldingLifetime>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['address', 'assetId', 'frozen'], rounds)
    const [key, assetId] = [it.address.address(), it.assetId.unsigned()]
    const lifetime = { ...readRounds(it, lastRound), key, assetId, frozen: it.frozen.boolean() }
    addOnce(holdings, holdingKey(key, assetId), lifetime, it.address)
  }
  return holdings
}

function readApplications(member: JsonCursor | undefined, lastRound: bigint): Map<bigint, AppLifetime> {
  const applications = new Map<bigint, AppLifetime>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['applicationId', 'creator'], rounds)
    const lifetime = { ...readRounds(it, lastRound), creator: it.creator.address() }
    addOnce(applications, it.applicationId.unsigned(), lifetime, it.applicationId)
  }
  return applications
}

function readLocals(member: JsonCursor | undefined, lastRound: bigint): Map<string, LocalLifetime> {
  const locals = new Map<string, LocalLifetime>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['address', 'applicationId'], rounds)
    const [key, appId] = [it.address.address(), it.applicationId.unsigned()]
    addOnce(locals, holdingKey(key, appId), { ...readRounds(it, lastRound), key, appId }, it.address)
  }
  return locals
}
