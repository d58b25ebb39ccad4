/** Operations on global fields. */
import { appAddress } from '../application/appAddress.js'
import * as ByteKey from '../application/ByteKey.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { fromBoolean, type Value } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import { callOf, type Operations } from './Operation.js'

const zeroAddress = new Uint8Array(32)

const readers: { readonly [name: string]: (machine: Machine) => Value } = {
  MinTxnFee: ({ context: { parameters } }) => parameters.minTxnFee,
  MinBalance: ({ context: { parameters } }) => parameters.minBalance,
  MaxTxnLife: ({ context: { parameters } }) => parameters.maxTxnLife,
  ZeroAddress: () => zeroAddress,
  GroupSize: ({ context: { group } }) => BigInt(group.length),
  LogicSigVersion: ({ context: { parameters } }) => BigInt(parameters.maxVersion),
  Round: (machine) => callOf(machine).group.ledger.round,
  LatestTimestamp: (machine) => callOf(machine).group.ledger.latestTimestamp,
  CurrentApplicationID: (machine) => callOf(machine).appId,
  CreatorAddress: (machine) => ByteKey.bytes(callOf(machine).application.creator),
  CurrentApplicationAddress: (machine) => ByteKey.bytes(appAddress(callOf(machine).appId)),
  CallerApplicationID: (machine) => callOf(machine).group.parent?.appId ?? 0n,
  CallerApplicationAddress: (machine) => {
    const caller = callOf(machine).group.parent
    return caller === undefined ? zeroAddress : ByteKey.bytes(appAddress(caller.appId))
  },
  GroupID: ({ context: { group }, index }) => group[index]!.grp ?? zeroAddress,
  OpcodeBudget: ({ budget }) => BigInt(budget.remaining),
  AssetCreateMinBalance: ({ context: { parameters } }) => parameters.assetMinBalance,
  AssetOptInMinBalance: ({ context: { parameters } }) => parameters.assetMinBalance,
  GenesisHash: ({ context: { ledger } }) => ledger.genesisHash,
  PayoutsEnabled: ({ context: { parameters } }) => fromBoolean(parameters.payouts.isEnabled),
  PayoutsGoOnlineFee: ({ context: { parameters } }) => parameters.payouts.goOnlineFee,
  PayoutsPercent: ({ context: { parameters } }) => parameters.payouts.percent,
  PayoutsMinBalance: ({ context: { parameters } }) => parameters.payouts.minBalance,
  PayoutsMaxBalance: ({ context: { parameters } }) => parameters.payouts.maxBalance,
}

/** Fields of the chain and of the group. */
export const globals: Operations = {
  global: (machine) => {
    const byte = machine.immediate(1)
    const field = Fields.withByte('global', byte)
    if (field === undefined || field.version > Math.max(machine.version, 1)) {
      throw new EvaluationError(`invalid global field ${Fields.nameOf('global', byte)}`)
    }
    if (field.isAppOnly && machine.mode === 'signature') {
      throw new EvaluationError(`global[${field.name}] not allowed in current mode`)
    }
    const read = readers[field.name]
    if (read === undefined) throw new EvaluationError(`global ${field.name} is not supported`)
    machine.stack.push(read(machine))
  },
}
