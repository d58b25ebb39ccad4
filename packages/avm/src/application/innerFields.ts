/** The fields that programs set in inner transactions, with the checks that are made at once. */
import { Bytes } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Value } from '../evaluator/Value.js'
import * as Availability from './Availability.js'
import * as ByteKey from './ByteKey.js'
import type { Call, Draft } from './model.js'

type Mutable<T> = { -readonly [name in keyof T]: T[name] }
type AssetParameters = Mutable<NonNullable<Draft['apar']>>
type Schema = Mutable<NonNullable<Draft['apgs']>>

const types: readonly string[] = ['', 'pay', 'keyreg', 'acfg', 'axfer', 'afrz', 'appl', 'stpf', 'hb']
/** The first version that can make a type of transactions. */
const typeVersions: { readonly [type: string]: number } = { pay: 5, axfer: 5, acfg: 5, afrz: 5, keyreg: 6, appl: 6 }

const maxDecimals = 19n
const maxNameBytes = 32
const maxUnitNameBytes = 8
const maxUrlBytes = 96
const maxNoteBytes = 4096
const maxOnCompletion = 5n
const maxGlobalValues = 64n
const maxLocalValues = 16n
const maxExtraPages = 7n
const maxArguments = 16
const maxArgumentBytes = 16_384
const maxReferences = 8
const maxProgramBytes = 16_384

type Setter = (txn: Draft, value: Value, call: Call, name: string) => void

/**
 * Sets a field of the transaction that is being built. Lists are appended to.
 *
 * @throws EvaluationError
 */
export function setField(call: Call, name: string, value: Value): void {
  setters[name]!(call.building!.at(-1)!, value, call, name)
}

const setters: { readonly [name: string]: Setter } = {
  Type: (txn, value, call) => {
    if (typeof value === 'bigint') throw new EvaluationError('Type arg not a byte array')
    txn.type = allowedType(new TextDecoder().decode(value), call)
  },
  TypeEnum: (txn, value, call) => {
    const index = integer(value)
    const type = index < BigInt(types.length) ? types[Number(index)]! : ''
    if (type === '') throw new EvaluationError(`${index} is not a valid TypeEnum`)
    txn.type = allowedType(type, call)
  },
  Sender: (txn, value, call) => {
    txn.snd = availableAddress(call, value)
  },
  Fee: (txn, value) => assign(txn, 'fee', integer(value)),
  Note: (txn, value, _call, name) => assign(txn, 'note', limitedBytes(undefined, value, maxNoteBytes, name)),
  RekeyTo: (txn, value) => assign(txn, 'rekey', address(value)),

  Receiver: (txn, value, call) => assign(txn, 'rcv', availableAddress(call, value)),
  Amount: (txn, value) => assign(txn, 'amt', integer(value)),
  CloseRemainderTo: (txn, value, call) => assign(txn, 'close', availableAddress(call, value)),

  VotePK: (txn, value, _call, name) => assign(txn, 'votekey', exactBytes(value, 32, name)),
  SelectionPK: (txn, value, _call, name) => assign(txn, 'selkey', exactBytes(value, 32, name)),
  StateProofPK: (txn, value, _call, name) => assign(txn, 'sprfkey', exactBytes(value, 64, name)),
  VoteFirst: (txn, value) => assign(txn, 'votefst', integer(value)),
  VoteLast: (txn, value) => assign(txn, 'votelst', integer(value)),
  VoteKeyDilution: (txn, value) => assign(txn, 'votekd', integer(value)),
  Nonparticipation: (txn, value) => assign(txn, 'nonpart', boolean(value)),

  XferAsset: (txn, value, call) => assign(txn, 'xaid', availableAsset(call, value)),
  AssetAmount: (txn, value) => assign(txn, 'aamt', integer(value)),
  AssetSender: (txn, value, call) => assign(txn, 'asnd', availableAddress(call, value)),
  AssetReceiver: (txn, value, call) => assign(txn, 'arcv', availableAddress(call, value)),
  AssetCloseTo: (txn, value, call) => assign(txn, 'aclose', availableAddress(call, value)),

  FreezeAsset: (txn, value, call) => assign(txn, 'faid', availableAsset(call, value)),
  FreezeAssetAccount: (txn, value, call) => assign(txn, 'fadd', availableAddress(call, value)),
  FreezeAssetFrozen: (txn, value) => assign(txn, 'afrz', boolean(value)),

  ConfigAsset: (txn, value, call) => assign(txn, 'caid', availableAsset(call, value)),
  ConfigAssetTotal: (txn, value) => assignParameter(txn, 't', integer(value)),
  ConfigAssetDecimals: (txn, value) => assignParameter(txn, 'dc', Number(boundedInteger(value, maxDecimals))),
  ConfigAssetDefaultFrozen: (txn, value) => assignParameter(txn, 'df', boolean(value)),
  ConfigAssetUnitName: (txn, value) => assignParameter(txn, 'un', shortBytes(value, maxUnitNameBytes)),
  ConfigAssetName: (txn, value) => assignParameter(txn, 'an', shortBytes(value, maxNameBytes)),
  ConfigAssetURL: (txn, value) => assignParameter(txn, 'au', shortBytes(value, maxUrlBytes)),
  ConfigAssetMetadataHash: (txn, value, _call, name) => assignParameter(txn, 'am', exactBytes(value, 32, name)),
  ConfigAssetManager: (txn, value) => assignParameter(txn, 'm', address(value)),
  ConfigAssetReserve: (txn, value) => assignParameter(txn, 'r', address(value)),
  ConfigAssetFreeze: (txn, value) => assignParameter(txn, 'f', address(value)),
  ConfigAssetClawback: (txn, value) => assignParameter(txn, 'c', address(value)),

  ApplicationID: (txn, value, call) => assign(txn, 'apid', availableApp(call, value)),
  OnCompletion: (txn, value) => assign(txn, 'apan', boundedInteger(value, maxOnCompletion)),
  ApplicationArgs: (txn, value) => {
    const args = txn.apaa ?? []
    if (typeof value === 'bigint') throw new EvaluationError('ApplicationArg is not a byte array')
    const bytes = byteString(value)
    const total = args.reduce((sum, { length }) => sum + length, bytes.length)
    if (args.length >= maxArguments) throw new EvaluationError('too many application args')
    if (total > maxArgumentBytes) throw new EvaluationError('application args total length too long')
    txn.apaa = [...args, bytes]
  },
  Accounts: (txn, value, call) => {
    txn.apat = appended(txn.apat, availableAddress(call, value), 'accounts')
  },
  Assets: (txn, value, call) => {
    txn.apas = appended(txn.apas, availableAsset(call, value), 'assets')
  },
  Applications: (txn, value, call) => {
    txn.apfa = appended(txn.apfa, availableApp(call, value), 'apps')
  },
  ApprovalProgram: (txn, value, _call, name) =>
    assign(txn, 'apap', limitedBytes(undefined, value, maxProgramBytes, name)),
  ClearStateProgram: (txn, value, _call, name) =>
    assign(txn, 'apsu', limitedBytes(undefined, value, maxProgramBytes, name)),
  ApprovalProgramPages: (txn, value, _call, name) =>
    assign(txn, 'apap', limitedBytes(txn.apap, value, maxProgramBytes, name)),
  ClearStateProgramPages: (txn, value, _call, name) =>
    assign(txn, 'apsu', limitedBytes(txn.apsu, value, maxProgramBytes, name)),
  GlobalNumUint: (txn, value) => assignSchema(txn, 'apgs', 'nui', boundedInteger(value, maxGlobalValues)),
  GlobalNumByteSlice: (txn, value) => assignSchema(txn, 'apgs', 'nbs', boundedInteger(value, maxGlobalValues)),
  LocalNumUint: (txn, value) => assignSchema(txn, 'apls', 'nui', boundedInteger(value, maxLocalValues)),
  LocalNumByteSlice: (txn, value) => assignSchema(txn, 'apls', 'nbs', boundedInteger(value, maxLocalValues)),
  ExtraProgramPages: (txn, value) => assign(txn, 'apep', Number(boundedInteger(value, maxExtraPages))),
  RejectVersion: (txn, value) => assign(txn, 'aprv', integer(value)),
}

function allowedType(type: string, { version }: Call): string {
  if ((typeVersions[type] ?? Number.POSITIVE_INFINITY) <= version) return type
  throw new EvaluationError(`${type} is not a valid Type for itxn_field`)
}

/** A field that is zero, empty or false is the same as an absent one. */
function isAbsent(value: unknown): boolean {
  if (value instanceof Uint8Array) {
    return value.length === 0 || ((value.length === 32 || value.length === 64) && Bytes.isZero(value))
  }
  return value === 0n || value === 0 || value === false
}

function assign<T extends object, K extends keyof T>(target: T, name: K, value: T[K]): void {
  if (isAbsent(value)) delete target[name]
  else target[name] = value
}

function assignParameter<K extends keyof AssetParameters>(txn: Draft, name: K, value: AssetParameters[K]): void {
  const parameters: AssetParameters = { ...txn.apar }
  assign(parameters, name, value)
  if (Object.keys(parameters).length === 0) delete txn.apar
  else txn.apar = parameters
}

function assignSchema(txn: Draft, field: 'apgs' | 'apls', name: keyof Schema, value: bigint): void {
  const schema: Schema = { ...txn[field] }
  assign(schema, name, value)
  if (Object.keys(schema).length === 0) delete txn[field]
  else txn[field] = schema
}

function integer(value: Value): bigint {
  if (typeof value === 'bigint') return value
  const bytes = Array.from(value, (byte) => `0x${byte.toString(16)}`).join(', ')
  throw new EvaluationError(`[]byte{${bytes}} is not a uint64`)
}

function boundedInteger(value: Value, max: bigint): bigint {
  const number = integer(value)
  if (number > max) throw new EvaluationError(`${number} is larger than max=${max}`)
  return number
}

function boolean(value: Value): boolean {
  const number = integer(value)
  if (number > 1n) throw new EvaluationError(`boolean is neither 1 nor 0: ${number}`)
  return number === 1n
}

function byteString(value: Value): Uint8Array {
  if (typeof value === 'bigint') throw new EvaluationError('not a byte array')
  return value
}

function shortBytes(value: Value, maxBytes: number): Uint8Array {
  const bytes = byteString(value)
  if (bytes.length > maxBytes) throw new EvaluationError('value is too long')
  return bytes
}

function exactBytes(value: Value, length: number, name: string): Uint8Array {
  const bytes = typeof value === 'bigint' ? undefined : value
  if (bytes?.length !== length) throw new EvaluationError(`${name} must be ${length} bytes`)
  return bytes
}

/** Appends bytes. As on a node, a number counts as no bytes. */
function limitedBytes(before: Uint8Array | undefined, value: Value, maxBytes: number, name: string): Uint8Array {
  const bytes = typeof value === 'bigint' ? new Uint8Array() : value
  const length = (before?.length ?? 0) + bytes.length
  if (length > maxBytes) throw new EvaluationError(`${name} may not exceed ${maxBytes} bytes`)
  return before === undefined ? bytes : Bytes.concat([before, bytes])
}

function address(value: Value): Uint8Array {
  if (typeof value === 'bigint' || value.length !== 32) throw new EvaluationError('not an address')
  return value
}

function availableAddress(call: Call, value: Value): Uint8Array {
  const bytes = address(value)
  const key = ByteKey.of(bytes)
  if (!Availability.isAccountAvailable(call, key)) throw new EvaluationError(Availability.unavailableAccount(key))
  return bytes
}

function availableAsset(call: Call, value: Value): bigint {
  const assetId = integer(value)
  if (!Availability.isAssetAvailable(call, assetId)) {
    throw new EvaluationError(`unavailable Asset ${assetId} during assignment`)
  }
  return assetId
}

function availableApp(call: Call, value: Value): bigint {
  const appId = integer(value)
  if (!Availability.isAppAvailable(call, appId)) throw new EvaluationError(`unavailable App ${appId}`)
  return appId
}

function appended<T>(list: readonly T[] | undefined, item: T, name: string): T[] {
  if ((list?.length ?? 0) >= maxReferences) throw new EvaluationError(`too many foreign ${name}`)
  return [...(list ?? []), item]
}
