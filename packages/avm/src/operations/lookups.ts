/** Operations that read accounts, assets and applications. */

import * as Availability from '../application/Availability.js'
import { appAddress } from '../application/appAddress.js'
import * as ByteKey from '../application/ByteKey.js'
import type { AccountView, Application, AssetView, HoldingView } from '../application/model.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { fromBoolean, type Value } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import { callOf, type Operations } from './Operation.js'

const noBytes = new Uint8Array(32)

type Readers<T> = { readonly [name: string]: (record: T) => Value }

const holdingFields: Readers<HoldingView> = {
  AssetBalance: ({ amount }) => amount,
  AssetFrozen: ({ frozen }) => fromBoolean(frozen),
}

const assetFields: Readers<AssetView> = {
  AssetTotal: ({ total }) => total,
  AssetDecimals: ({ decimals }) => BigInt(decimals),
  AssetDefaultFrozen: ({ defaultFrozen }) => fromBoolean(defaultFrozen),
  AssetUnitName: ({ unitName }) => unitName,
  AssetName: ({ name }) => name,
  AssetURL: ({ url }) => url,
  AssetMetadataHash: ({ metadataHash }) => metadataHash ?? noBytes,
  AssetManager: ({ manager }) => ByteKey.bytes(manager),
  AssetReserve: ({ reserve }) => ByteKey.bytes(reserve),
  AssetFreeze: ({ freeze }) => ByteKey.bytes(freeze),
  AssetClawback: ({ clawback }) => ByteKey.bytes(clawback),
  AssetCreator: ({ creator }) => ByteKey.bytes(creator),
}

type IdentifiedApp = { readonly appId: bigint; readonly application: Application }

const appFields: Readers<IdentifiedApp> = {
  AppApprovalProgram: ({ application }) => application.approvalProgram,
  AppClearStateProgram: ({ application }) => application.clearStateProgram,
  AppGlobalNumUint: ({ application }) => BigInt(application.globalSchema.integers),
  AppGlobalNumByteSlice: ({ application }) => BigInt(application.globalSchema.byteStrings),
  AppLocalNumUint: ({ application }) => BigInt(application.localSchema.integers),
  AppLocalNumByteSlice: ({ application }) => BigInt(application.localSchema.byteStrings),
  AppExtraProgramPages: ({ application }) => BigInt(application.extraPages),
  AppCreator: ({ application }) => ByteKey.bytes(application.creator),
  AppAddress: ({ appId }) => ByteKey.bytes(appAddress(appId)),
  AppVersion: ({ application }) => application.version,
  AppSizeSponsor: ({ application }) => ByteKey.bytes(application.sizeSponsor ?? ByteKey.zeroAddress),
  AppForeignBoxReads: ({ application }) => fromBoolean(application.allowsForeignBoxReads),
  AppFamilyBoxAccess: ({ application }) => fromBoolean(application.allowsFamilyBoxAccess),
}

const accountFields: Readers<AccountView> = {
  AcctBalance: ({ microAlgos }) => microAlgos,
  AcctMinBalance: ({ minBalance }) => minBalance,
  AcctAuthAddr: ({ authorizer }) => ByteKey.bytes(authorizer ?? ByteKey.zeroAddress),
  AcctTotalNumUint: ({ totalSchema }) => BigInt(totalSchema.integers),
  AcctTotalNumByteSlice: ({ totalSchema }) => BigInt(totalSchema.byteStrings),
  AcctTotalExtraAppPages: ({ totalExtraPages }) => BigInt(totalExtraPages),
  AcctTotalAppsCreated: ({ appsCreated }) => BigInt(appsCreated),
  AcctTotalAppsOptedIn: ({ appsOptedIn }) => BigInt(appsOptedIn),
  AcctTotalAssetsCreated: ({ assetsCreated }) => BigInt(assetsCreated),
  AcctTotalAssets: ({ assetsHeld }) => BigInt(assetsHeld),
  AcctTotalBoxes: ({ boxes }) => BigInt(boxes),
  AcctTotalBoxBytes: ({ boxBytes }) => BigInt(boxBytes),
  AcctIncentiveEligible: ({ isIncentiveEligible }) => fromBoolean(isIncentiveEligible),
  AcctLastProposed: ({ lastProposed }) => lastProposed,
  AcctLastHeartbeat: ({ lastHeartbeat }) => lastHeartbeat,
}

/** Lookups of accounts, assets and applications. */
export const lookups: Operations = {
  balance: (machine) => {
    machine.replace(1, accountAt(machine, -1).microAlgos)
  },
  min_balance: (machine) => {
    machine.replace(1, accountAt(machine, -1).minBalance)
  },
  asset_holding_get: (machine) => {
    const call = callOf(machine)
    const field = fieldOf(machine, 'assetHolding', 'asset_holding_get')
    const { address, id } = Availability.holdingOf(call, machine.stack.at(-2)!, machine.stack.at(-1) as bigint)
    pushField(machine, 2, holdingFields, field, call.group.ledger.holding(address, id))
  },
  asset_params_get: (machine) => {
    const call = callOf(machine)
    const field = fieldOf(machine, 'assetParams', 'asset_params_get')
    const assetId = Availability.assetOf(call, machine.stack.at(-1) as bigint, true)
    pushField(machine, 1, assetFields, field, call.group.ledger.asset(assetId))
  },
  app_params_get: (machine) => {
    const call = callOf(machine)
    const field = fieldOf(machine, 'appParams', 'app_params_get')
    const appId = Availability.appOf(call, machine.stack.at(-1) as bigint, true)
    const application = call.group.ledger.application(appId)
    pushField(machine, 1, appFields, field, application === undefined ? undefined : { appId, application })
  },
  acct_params_get: (machine) => {
    const account = accountAt(machine, -1)
    const field = fieldOf(machine, 'acctParams', 'acct_params_get')
    machine.replace(1, accountFields[field.name]!(account), fromBoolean(account.microAlgos > 0n))
  },
  voter_params_get: (machine) => {
    const call = callOf(machine)
    const address = Availability.accountOf(call, machine.stack.at(-1)!)
    const field = fieldOf(machine, 'voterParams', 'voter_params_get')
    const voter = call.group.ledger.voter(address)
    const value = field.name === 'VoterBalance' ? voter?.microAlgos : fromBoolean(voter?.isIncentiveEligible ?? false)
    machine.replace(1, value ?? 0n, fromBoolean(voter !== undefined))
  },
  online_stake: (machine) => {
    machine.stack.push(callOf(machine).group.ledger.onlineStake())
  },
  app_params_set: (machine) => {
    const { appId, group } = callOf(machine)
    const field = fieldOf(machine, 'appParamsSettable', 'app_params_set')
    const value = machine.stack.at(-1) as bigint
    const application = group.ledger.application(appId)
    if (application === undefined) throw new EvaluationError(`app ${appId} does not exist`)
    const name = field.name === 'AppForeignBoxReads' ? 'allowsForeignBoxReads' : 'allowsFamilyBoxAccess'
    group.ledger.setApplication(appId, { ...application, [name]: value !== 0n })
    machine.replace(1)
  },
}

function accountAt(machine: Machine, position: number): AccountView {
  const call = callOf(machine)
  return call.group.ledger.account(Availability.accountOf(call, machine.stack.at(position)!))
}

function fieldOf(machine: Machine, group: Fields.GroupName, instruction: string): Fields.Field {
  const byte = machine.immediate(1)
  const field = Fields.withByte(group, byte)
  if (field !== undefined && field.version <= machine.version) return field
  throw new EvaluationError(`invalid ${instruction} field ${byte}`)
}

/** Pushes the value of a field and 1, or two zeroes if there is no such record. */
function pushField<T>(
  machine: Machine,
  count: number,
  readers: Readers<T>,
  { name }: Fields.Field,
  record: T | undefined,
): void {
  machine.replace(count, record === undefined ? 0n : readers[name]!(record), fromBoolean(record !== undefined))
}
