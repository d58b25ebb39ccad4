/** What the ledger knows about accounts and assets. Records are never changed in place, so that copies can share them. */
import * as Consensus from './Consensus.js'
import type { Key } from './Key.js'

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
  /** Whose signature counts, if it is not the account's own. */
  readonly authorizer?: Key | undefined
  readonly status: Status
  readonly participation?: Participation | undefined
  readonly incentiveEligible: boolean
  /** The round up to which an account that went online counts as heard of. */
  readonly lastHeartbeat: bigint
  readonly assetsHeld: number
  readonly assetsCreated: number
}

export type Holding = { readonly amount: bigint; readonly frozen: boolean }

/** Texts are bytes: the ledger does not ask that they be UTF-8. */
export type Asset = {
  readonly creator: Key
  readonly total: bigint
  readonly decimals: number
  readonly defaultFrozen: boolean
  readonly unitName: Uint8Array
  readonly name: Uint8Array
  readonly url: Uint8Array
  readonly metadataHash?: Uint8Array | undefined
  readonly manager: Key
  readonly reserve: Key
  readonly freeze: Key
  readonly clawback: Key
}

export const none: Account = {
  microAlgos: 0n,
  status: 'Offline',
  incentiveEligible: false,
  lastHeartbeat: 0n,
  assetsHeld: 0,
  assetsCreated: 0,
}

/** Indistinguishable from an account that was never there. */
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
