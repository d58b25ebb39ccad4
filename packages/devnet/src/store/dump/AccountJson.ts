/** An account as JSON, with its holdings. The numbers of assets held and created are computed. */
import { type Account, none, type Participation, type Status } from '../../ledger/Account.js'
import * as MapKey from '../../ledger/MapKey.js'
import type { HeldAsset } from '../../ledger/State.js'
import { base64, type JsonCursor } from './JsonCursor.js'

export function toJson(key: MapKey.MapKey, account: Account, held: readonly HeldAsset[]): object {
  const { microAlgos, authorizer, status, participation, incentiveEligible, lastHeartbeat } = account
  return {
    address: MapKey.address(key),
    microAlgos: microAlgos.toString(),
    authorizer: authorizer && MapKey.address(authorizer),
    status,
    participation: participation && participationJson(participation),
    incentiveEligible,
    lastHeartbeat: lastHeartbeat.toString(),
    holdings: [...held].sort((a, b) => (a.assetId < b.assetId ? -1 : 1)).map(holdingJson),
  }
}

function holdingJson({ assetId, holding: { amount, frozen } }: HeldAsset): object {
  return { assetId: assetId.toString(), amount: amount.toString(), frozen }
}

function participationJson(keys: Participation): object {
  return {
    voteKey: base64(keys.voteKey),
    selectionKey: base64(keys.selectionKey),
    stateProofKey: base64(keys.stateProofKey),
    firstRound: keys.firstRound.toString(),
    lastRound: keys.lastRound.toString(),
    keyDilution: keys.keyDilution.toString(),
  }
}

const statuses: readonly Status[] = ['Offline', 'Online', 'Not Participating']
const required = ['address', 'microAlgos', 'status', 'incentiveEligible', 'lastHeartbeat', 'holdings'] as const

export type Read = {
  key: MapKey.MapKey
  /** Without the numbers of its assets. */
  account: Account
  holdings: { held: HeldAsset; place: JsonCursor }[]
  place: JsonCursor
}

export function fromJson(member: JsonCursor): Read {
  const it = member.object(required, ['authorizer', 'participation'])
  const key = it.address.address()
  const account: Account = {
    ...none,
    microAlgos: it.microAlgos.unsigned(),
    authorizer: it.authorizer?.address(),
    status: it.status.oneOf(statuses),
    participation: it.participation && participationOf(it.participation),
    incentiveEligible: it.incentiveEligible.boolean(),
    lastHeartbeat: it.lastHeartbeat.unsigned(),
  }
  if (account.authorizer === key) it.authorizer!.fail('is the account itself, which is written without authorizer')
  if ((account.status === 'Online') !== (account.participation !== undefined)) {
    it.status.fail('does not match its participation: accounts have keys if and only if they are online')
  }
  return { key, account, holdings: it.holdings.list().map((one) => holdingOf(key, one)), place: it.address }
}

function holdingOf(key: MapKey.MapKey, member: JsonCursor): { held: HeldAsset; place: JsonCursor } {
  const { assetId, amount, frozen } = member.object(['assetId', 'amount', 'frozen'])
  const holding = { amount: amount.unsigned(), frozen: frozen.boolean() }
  return { held: { key, assetId: assetId.unsigned(), holding }, place: assetId }
}

const voteKeyBytes = 32
const stateProofKeyBytes = 64

function participationOf(member: JsonCursor): Participation {
  const it = member.object(['voteKey', 'selectionKey', 'stateProofKey', 'firstRound', 'lastRound', 'keyDilution'])
  return {
    voteKey: it.voteKey.bytesOf(voteKeyBytes),
    selectionKey: it.selectionKey.bytesOf(voteKeyBytes),
    stateProofKey: it.stateProofKey.bytesOf(stateProofKeyBytes),
    firstRound: it.firstRound.unsigned(),
    lastRound: it.lastRound.unsigned(),
    keyDilution: it.keyDilution.unsigned(),
  }
}
