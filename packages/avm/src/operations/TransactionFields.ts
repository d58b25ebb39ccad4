/** Values of the fields of transactions. */
import { Bytes, type Transaction } from '@latchkey/algorand'
import type { Effects } from '../application/Effects.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { fromBoolean, type Value } from '../evaluator/Value.js'
import type { Field } from '../opcodes/Fields.js'
import { headerAt } from './blocks.js'

type Fields = Transaction.Transaction

const types: readonly string[] = ['', 'pay', 'keyreg', 'acfg', 'axfer', 'afrz', 'appl']
const zeroAddress = new Uint8Array(32)
const zeroKey = new Uint8Array(64)
const noBytes = new Uint8Array()
/** Programs are read in pages, because they may be longer than a byte string. */
const pageBytes = 4096

const text = (value: string | undefined): Uint8Array => (value === undefined ? noBytes : Bytes.fromUtf8(value))

const scalars: { readonly [name: string]: (transaction: Fields) => Value } = {
  Sender: ({ snd }) => snd,
  Fee: ({ fee = 0n }) => fee,
  FirstValid: ({ fv = 0n }) => fv,
  LastValid: ({ lv = 0n }) => lv,
  Note: ({ note = noBytes }) => note,
  Lease: ({ lx = zeroAddress }) => lx,
  RekeyTo: ({ rekey = zeroAddress }) => rekey,
  Type: ({ type }) => Bytes.fromUtf8(type),
  TypeEnum: ({ type }) => BigInt(Math.max(0, types.indexOf(type))),

  Receiver: ({ rcv = zeroAddress }) => rcv,
  Amount: ({ amt = 0n }) => amt,
  CloseRemainderTo: ({ close = zeroAddress }) => close,

  VotePK: ({ votekey = zeroAddress }) => votekey,
  SelectionPK: ({ selkey = zeroAddress }) => selkey,
  StateProofPK: ({ sprfkey = zeroKey }) => sprfkey,
  VoteFirst: ({ votefst = 0n }) => votefst,
  VoteLast: ({ votelst = 0n }) => votelst,
  VoteKeyDilution: ({ votekd = 0n }) => votekd,
  Nonparticipation: ({ nonpart = false }) => fromBoolean(nonpart),

  XferAsset: ({ xaid = 0n }) => xaid,
  AssetAmount: ({ aamt = 0n }) => aamt,
  AssetSender: ({ asnd = zeroAddress }) => asnd,
  AssetReceiver: ({ arcv = zeroAddress }) => arcv,
  AssetCloseTo: ({ aclose = zeroAddress }) => aclose,

  FreezeAsset: ({ faid = 0n }) => faid,
  FreezeAssetAccount: ({ fadd = zeroAddress }) => fadd,
  FreezeAssetFrozen: ({ afrz = false }) => fromBoolean(afrz),

  ConfigAsset: ({ caid = 0n }) => caid,
  ConfigAssetTotal: ({ apar }) => apar?.t ?? 0n,
  ConfigAssetDecimals: ({ apar }) => BigInt(apar?.dc ?? 0),
  ConfigAssetDefaultFrozen: ({ apar }) => fromBoolean(apar?.df ?? false),
  ConfigAssetUnitName: ({ apar }) => asBytes(apar?.un),
  ConfigAssetName: ({ apar }) => asBytes(apar?.an),
  ConfigAssetURL: ({ apar }) => asBytes(apar?.au),
  ConfigAssetMetadataHash: ({ apar }) => apar?.am ?? zeroAddress,
  ConfigAssetManager: ({ apar }) => apar?.m ?? zeroAddress,
  ConfigAssetReserve: ({ apar }) => apar?.r ?? zeroAddress,
  ConfigAssetFreeze: ({ apar }) => apar?.f ?? zeroAddress,
  ConfigAssetClawback: ({ apar }) => apar?.c ?? zeroAddress,

  ApplicationID: ({ apid = 0n }) => apid,
  OnCompletion: ({ apan = 0n }) => apan,
  NumAppArgs: ({ apaa = [] }) => BigInt(apaa.length),
  NumAccounts: ({ apat = [] }) => BigInt(apat.length),
  NumAssets: ({ apas = [] }) => BigInt(apas.length),
  NumApplications: ({ apfa = [] }) => BigInt(apfa.length),
  ApprovalProgram: ({ apap = noBytes }) => apap,
  ClearStateProgram: ({ apsu = noBytes }) => apsu,
  NumApprovalProgramPages: ({ apap = noBytes }) => BigInt(Math.ceil(apap.length / pageBytes)),
  NumClearStateProgramPages: ({ apsu = noBytes }) => BigInt(Math.ceil(apsu.length / pageBytes)),
  GlobalNumUint: ({ apgs }) => apgs?.nui ?? 0n,
  GlobalNumByteSlice: ({ apgs }) => apgs?.nbs ?? 0n,
  LocalNumUint: ({ apls }) => apls?.nui ?? 0n,
  LocalNumByteSlice: ({ apls }) => apls?.nbs ?? 0n,
  ExtraProgramPages: ({ apep = 0 }) => BigInt(apep),
  RejectVersion: ({ aprv = 0n }) => aprv,
}

const arrays: { readonly [name: string]: (transaction: Fields) => readonly Value[] } = {
  ApplicationArgs: ({ apaa = [] }) => apaa,
  Accounts: ({ snd, apat = [] }) => [snd, ...apat],
  Assets: ({ apas = [] }) => apas,
  Applications: ({ apid = 0n, apfa = [] }) => [apid, ...apfa],
  ApprovalProgramPages: ({ apap = noBytes }) => pagesOf(apap),
  ClearStateProgramPages: ({ apsu = noBytes }) => pagesOf(apsu),
}

/** A transaction whose fields a program reads. */
export type Source = {
  readonly machine: Machine
  readonly transaction: Fields
  /** The effects of the transaction, if it has been applied. */
  readonly effects: Effects | undefined
  /** The index in its group. */
  readonly index: number
  readonly id: () => Uint8Array
}

/** The value of a field that is not a list. */
export function scalar({ machine, transaction, effects, index, id }: Source, { name }: Field): Value {
  switch (name) {
    case 'GroupIndex':
      return BigInt(index)
    case 'TxID':
      return id()
    case 'FirstValidTime':
      return headerAt(machine, (transaction.fv ?? 0n) - 1n).timestamp
    case 'NumLogs':
      return BigInt(effects?.delta?.logs.length ?? 0)
    case 'LastLog':
      return effects?.delta?.logs.at(-1) ?? noBytes
    case 'CreatedAssetID':
      return effects?.createdAssetId ?? 0n
    case 'CreatedApplicationID':
      return effects?.createdAppId ?? 0n
    default:
      return scalars[name]!(transaction)
  }
}

/** An element of a field that is a list. */
export function element({ transaction, effects }: Source, { name }: Field, position: bigint): Value {
  const values = name === 'Logs' ? (effects?.delta?.logs ?? []) : arrays[name]!(transaction)
  const value = position < BigInt(values.length) ? values[Number(position)] : undefined
  if (value === undefined) throw new EvaluationError(`invalid ${name} index ${position}`)
  return value
}

function asBytes(value: Uint8Array | string | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : text(value)
}

function pagesOf(program: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(program.length / pageBytes) }, (_, page) =>
    program.subarray(page * pageBytes, (page + 1) * pageBytes),
  )
}
