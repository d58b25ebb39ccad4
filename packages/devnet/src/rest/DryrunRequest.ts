/** The body of a dry run, in msgpack or JSON: transactions, and the accounts and applications that they use. */
import { Json, Msgpack, Submission } from '@latchkey/algorand'
import { none } from '../ledger/Account.js'
import * as Consensus from '../ledger/Consensus.js'
import * as MapKey from '../ledger/MapKey.js'
import type { DryrunInput } from '../ledger/programs/Dryrun.js'
import { State } from '../ledger/State.js'
import { StateOverlay } from '../ledger/StateOverlay.js'
import { ApiError } from './ApiError.js'

const maxDepth = 12
const nil = 0xc0
const noBytes = new Uint8Array()

type Members = { readonly [name: string]: unknown }

/** @throws ApiError */
export function read(body: Buffer): DryrunInput {
  if (body.length === 0) throw new ApiError(400, 'failed to decode object: EOF')
  try {
    const isMsgpack = (body[0]! & 0x80) !== 0
    return inputOf(isMsgpack ? readMsgpack(new Msgpack.Reader(body)) : readJson(body.toString('utf8')))
  } catch (error) {
    if (error instanceof Msgpack.DecodeError || error instanceof SyntaxError) {
      throw new ApiError(400, `failed to decode object: ${error.message}`)
    }
    throw error
  }
}

type Request = { readonly transactions: readonly Submission.Submitted[]; readonly members: Members }

function readMsgpack(reader: Msgpack.Reader): Request {
  const members: { [name: string]: unknown } = {}
  let transactions: Submission.Submitted[] = []
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name !== 'txns' || reader.peek() === nil) members[name] = readValue(reader, 0)
    else transactions = Array.from({ length: limited(reader.arrayHeader()) }, () => readTransaction(reader))
  }
  return { transactions, members }
}

function readTransaction(reader: Msgpack.Reader): Submission.Submitted {
  const { signed, end } = Submission.decodeFirst(reader.bytes, reader.position)
  reader.position = end
  return signed
}

function readJson(text: string): Request {
  const members = objectOf(Json.parse(text), 'request')
  const list = listOf(members, 'txns')
  limited(list.length)
  return { transactions: list.map((one) => Submission.fromJson(one)), members }
}

function limited(count: number): number {
  if (count <= Consensus.maxGroupSize) return count
  throw new SyntaxError(`more than ${Consensus.maxGroupSize} transactions`)
}

/** Any value of msgpack: maps with names, lists, text, bytes, integers and booleans. */
function readValue(reader: Msgpack.Reader, depth: number): unknown {
  if (depth > maxDepth) throw new SyntaxError('nested too deeply')
  if (reader.tryNil()) return undefined
  const byte = reader.peek()
  if (byte === 0xc2 || byte === 0xc3) return reader.bool()
  if (reader.isArray()) return Array.from({ length: reader.arrayHeader() }, () => readValue(reader, depth + 1))
  if (byte <= 0x7f || (byte >= 0xcc && byte <= 0xcf)) return reader.uint()
  if (byte >= 0xc4 && byte <= 0xc6) return reader.bin().slice()
  if ((byte & 0xe0) === 0xa0 || (byte >= 0xd9 && byte <= 0xdb)) return reader.str()
  const members: { [name: string]: unknown } = {}
  for (let left = reader.mapHeader(); left > 0; left--) members[reader.str()] = readValue(reader, depth + 1)
  return members
}

function inputOf({ transactions, members }: Request): DryrunInput {
  if (transactions.length === 0) throw new ApiError(400, 'dryrun: no transactions')
  if (listOf(members, 'sources').length > 0) {
    throw new ApiError(400, 'dryrun: sources are not supported', 'compile them with /v2/teal/compile first')
  }
  const state = new State(Consensus.transactionCounterAtGenesis)
  const overlay = new StateOverlay(state)
  for (const one of listOf(members, 'apps')) addApplication(overlay, objectOf(one, 'apps'))
  for (const one of listOf(members, 'accounts')) addAccount(overlay, objectOf(one, 'accounts'))
  overlay.commit(state)
  const round = integerOf(members, 'round')
  const timestamp = integerOf(members, 'latest-timestamp')
  return { transactions, state, round: round || undefined, latestTimestamp: timestamp || undefined }
}

function addAccount(overlay: StateOverlay, account: Members): void {
  const key = addressOf(account, 'address')
  if (key === undefined) throw new SyntaxError('accounts: address is missing')
  const authorizer = addressOf(account, 'auth-addr')
  const { apps, assetsCreated, assetsHeld } = overlay.account(key)
  const microAlgos = integerOf(account, 'amount')
  overlay.putAccount(key, { ...none, apps, assetsCreated, assetsHeld, microAlgos, authorizer })
  for (const one of listOf(account, 'created-apps')) addApplication(overlay, objectOf(one, 'created-apps'))
  for (const one of listOf(account, 'created-assets')) addAsset(overlay, objectOf(one, 'created-assets'))
  for (const one of listOf(account, 'assets')) {
    const holding = objectOf(one, 'assets')
    const frozen = holding['is-frozen'] === true
    overlay.putHolding(key, integerOf(holding, 'asset-id'), { amount: integerOf(holding, 'amount'), frozen })
  }
  for (const one of listOf(account, 'apps-local-state')) {
    const local = objectOf(one, 'apps-local-state')
    const appId = integerOf(local, 'id')
    overlay.putLocal(key, appId, schemaOf(local, 'schema'))
    for (const [name, value] of valuesOf(local, 'key-value')) overlay.putLocalValue(key, appId, name, value)
  }
}

function addApplication(overlay: StateOverlay, application: Members): void {
  const appId = integerOf(application, 'id')
  if (overlay.application(appId) !== undefined) return
  const params = objectOf(application['params'] ?? {}, 'params')
  overlay.putApplication(appId, {
    creator: addressOf(params, 'creator') ?? MapKey.zero,
    approvalProgram: bytesOf(params, 'approval-program') ?? noBytes,
    clearStateProgram: bytesOf(params, 'clear-state-program') ?? noBytes,
    globalSchema: schemaOf(params, 'global-state-schema'),
    localSchema: schemaOf(params, 'local-state-schema'),
    extraPages: Number(integerOf(params, 'extra-program-pages')),
    version: integerOf(params, 'version'),
    sizeSponsor: undefined,
    allowsForeignBoxReads: false,
    allowsFamilyBoxAccess: false,
  })
  for (const [name, value] of valuesOf(params, 'global-state')) overlay.putGlobal(appId, name, value)
}

function addAsset(overlay: StateOverlay, asset: Members): void {
  const params = objectOf(asset['params'] ?? {}, 'params')
  const role = (name: string): MapKey.MapKey => addressOf(params, name) ?? MapKey.zero
  const text = (name: string): Uint8Array => new Uint8Array(Buffer.from(String(params[name] ?? '')))
  overlay.putAsset(integerOf(asset, 'index'), {
    creator: role('creator'),
    total: integerOf(params, 'total'),
    decimals: Number(integerOf(params, 'decimals')),
    defaultFrozen: params['default-frozen'] === true,
    unitName: text('unit-name'),
    name: text('name'),
    url: text('url'),
    metadataHash: bytesOf(params, 'metadata-hash'),
    manager: role('manager'),
    reserve: role('reserve'),
    freeze: role('freeze'),
    clawback: role('clawback'),
  })
}

function valuesOf(members: Members, name: string): [MapKey.MapKey, bigint | Uint8Array][] {
  return listOf(members, name).map((one) => {
    const entry = objectOf(one, name)
    const value = objectOf(entry['value'], `${name}.value`)
    const isInteger = integerOf(value, 'type') === 2n
    const key = MapKey.of(bytesOf(entry, 'key') ?? noBytes)
    return [key, isInteger ? integerOf(value, 'uint') : (bytesOf(value, 'bytes') ?? noBytes)]
  })
}

function schemaOf(members: Members, name: string) {
  const schema = objectOf(members[name] ?? {}, name)
  const count = (part: string): number => Number(integerOf(schema, part))
  return { integers: count('num-uint'), byteStrings: count('num-byte-slice') }
}

function objectOf(value: unknown, name: string): Members {
  if (!Json.isObject(value)) throw new SyntaxError(`${name} is not an object`)
  return value as Members
}

function listOf(members: Members, name: string): readonly unknown[] {
  const value = members[name] ?? []
  if (!Array.isArray(value)) throw new SyntaxError(`${name} is not a list`)
  return value
}

function integerOf(members: Members, name: string): bigint {
  const value = members[name] ?? 0n
  const integer = typeof value === 'bigint' ? value : Json.uint64(value)
  if (integer === undefined) throw new SyntaxError(`${name} is not an unsigned integer`)
  return integer
}

/** Bytes in msgpack, or base64 in JSON. Keys of state are base64 in both. */
function bytesOf(members: Members, name: string): Uint8Array | undefined {
  const value = members[name] ?? undefined
  if (value === undefined || value instanceof Uint8Array) return value
  if (typeof value === 'string') return new Uint8Array(Buffer.from(value, 'base64'))
  throw new SyntaxError(`${name} is not base64`)
}

function addressOf(members: Members, name: string): MapKey.MapKey | undefined {
  const value = members[name] ?? ''
  if (value === '') return undefined
  if (value instanceof Uint8Array && value.length === 32) return MapKey.of(value)
  try {
    return MapKey.fromAddress(String(value))
  } catch {
    throw new SyntaxError(`${name} is not an address`)
  }
}
