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
    account.assetsCreated === 0
  )
}

export function minBalance(account: Account): bigint {
  return Consensus.minBalanceMicroAlgos + Consensus.minBalancePerAssetMicroAlgos * BigInt(account.assetsHeld)
}
