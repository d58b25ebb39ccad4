/** Accounts, holdings and assets. Records are immutable, so that copies of the state can share them. */
import * as Consensus from './Consensus.js'
import type { MapKey } from './MapKey.js'

export type Status = 'Offline' | 'Online' | 'Not Participating'

export type Participation = {
  readonly voteKey: Uint8Array
  readonly selectionKey: Uint8Array
  readonly stateProofKey: Uint8Array
  readonly firstRound: bigint
  readonly lastRound: bigint
  readonly keyDilution: bigint
}

export type Account = {
  readonly microAlgos: bigint
  /** The account whose key signs for this one, after rekeying. */
  readonly authorizer?: MapKey | undefined
  readonly status: Status
  readonly participation?: Participation | undefined
  readonly incentiveEligible: boolean
  /** The round of the last heartbeat, set ahead when the account goes online. */
  readonly lastHeartbeat: bigint
  readonly assetsHeld: number
  readonly assetsCreated: number
  /** Absent if all of its members are zero, as for most accounts. */
  readonly apps?: AppTotals | undefined
}

/** The applications, state and boxes of an account that count for its minimum balance. */
export type AppTotals = {
  readonly created: number
  readonly optedIn: number
  /** The schemas of sponsored global and of held local state. */
  readonly integers: number
  readonly byteStrings: number
  readonly extraPages: number
  readonly boxes: number
  /** Of the names and values of all boxes. */
  readonly boxBytes: number
}

export type Holding = { readonly amount: bigint; readonly frozen: boolean }

/** Texts are bytes, because the ledger does not require UTF-8. */
export type Asset = {
  readonly creator: MapKey
  readonly total: bigint
  readonly decimals: number
  readonly defaultFrozen: boolean
  readonly unitName: Uint8Array
  readonly name: Uint8Array
  readonly url: Uint8Array
  readonly metadataHash?: Uint8Array | undefined
  readonly manager: MapKey
  readonly reserve: MapKey
  readonly freeze: MapKey
  readonly clawback: MapKey
}

export const none: Account = {
  microAlgos: 0n,
  status: 'Offline',
  incentiveEligible: false,
  lastHeartbeat: 0n,
  assetsHeld: 0,
  assetsCreated: 0,
}

/** Whether the account equals one that does not exist. */
export function isNone(account: Account): boolean {
  return (
    account.microAlgos === 0n &&
    account.authorizer === undefined &&
    account.status === 'Offline' &&
    account.participation === undefined &&
    !account.incentiveEligible &&
    account.lastHeartbeat === 0n &&
    account.assetsHeld === 0 &&
    account.assetsCreated === 0 &&
    account.apps === undefined
  )
}

export const noApps: AppTotals = {
  created: 0,
  optedIn: 0,
  integers: 0,
  byteStrings: 0,
  extraPages: 0,
  boxes: 0,
  boxBytes: 0,
}

/** Returns the account with numbers added to its totals. */
export function withApps(account: Account, added: Partial<AppTotals>): Account {
  const { apps = noApps } = account
  const names = Object.keys(noApps) as (keyof AppTotals)[]
  const sums = Object.fromEntries(names.map((name) => [name, apps[name] + (added[name] ?? 0)])) as AppTotals
  return { ...account, apps: names.every((name) => sums[name] === 0) ? undefined : sums }
}

export function minBalance({ assetsHeld, apps }: Account): bigint {
  const base = Consensus.minBalanceMicroAlgos + Consensus.minBalancePerAssetMicroAlgos * BigInt(assetsHeld)
  return apps === undefined ? base : base + appsMinBalance(apps)
}

function appsMinBalance(apps: AppTotals): bigint {
  const { perApp, perValue, perInteger, perByteString, perBox, perBoxByte } = Consensus.minBalanceOfApps
  const states = perApp * (apps.created + apps.optedIn + apps.extraPages)
  const values = (perValue + perInteger) * apps.integers + (perValue + perByteString) * apps.byteStrings
  return BigInt(states + values + perBox * apps.boxes + perBoxByte * apps.boxBytes)
}
