/** Parses the responses of nodes, member by member. */
import { Address, Bytes, Json, Msgpack, Transaction } from '@latchkey/algorand'
import type { Members, NodeResponse } from './PoolNode.js'
import { rejectionCode } from './rejections.js'
import type {
  AccountHoldings,
  AccountState,
  AssetInfo,
  Holding,
  LeasedTransaction,
  LeasedTransfer,
  SimulationFailure,
  SubmitResult,
  SuggestedParameters,
  TransactionState,
} from './types.js'

const maxHoldings = 200
const maxUnitNameLength = 32
const genesisHashLength = 32
/** The last second of the year 9999. */
const maxSeconds = 253_402_300_799
/** The limit of the protocol. */
const maxDecimals = 19

export function readParameters(members: Members): SuggestedParameters {
  const genesisHash = Bytes.fromBase64(members.text('genesis-hash'))
  if (genesisHash?.length !== genesisHashLength) throw members.invalid()
  return {
    genesisHash,
    genesisId: members.text('genesis-id'),
    lastRound: BigInt(members.integer('last-round')),
    minFee: members.uint('min-fee'),
    feePerByte: members.uint('fee'),
  }
}

export function readAccount(members: Members, address: string): AccountState {
  const authAddress = members.address('auth-addr')
  return {
    microAlgos: members.uint('amount'),
    minBalance: members.uint('min-balance'),
    authAddress: authAddress === address ? undefined : authAddress,
  }
}

export function readHoldings(members: Members, address: string): AccountHoldings {
  const listed = members.has('assets') ? members.list('assets') : []
  const count = members.has('total-assets-opted-in') ? members.integer('total-assets-opted-in') : 0
  return {
    ...readAccount(members, address),
    holdings: listed.slice(0, maxHoldings).map((element) => {
      const holding = members.objectOf(element)
      return { assetId: holding.uint('asset-id'), ...readHolding(holding) }
    }),
    holdingCount: Math.max(count, listed.length),
  }
}

export function readHolding(members: Members): Holding {
  return { amount: members.uint('amount'), isFrozen: members.isTrue('is-frozen') }
}

export function readAsset(response: NodeResponse): AssetInfo | undefined {
  if (response.status === 404) return undefined
  const params = response.members().object('params')
  const decimals = params.integer('decimals')
  if (decimals > maxDecimals) throw params.invalid()
  // Nodes omit a unit whose bytes are not text.
  return {
    decimals,
    unitName: params.optionalText('unit-name')?.slice(0, maxUnitNameLength),
    name: params.optionalText('name')?.slice(0, maxUnitNameLength),
    creator: params.address('creator'),
    isFrozenByDefault: params.isTrue('default-frozen'),
  }
}

export function readTransaction(response: NodeResponse): TransactionState {
  if (response.status === 404) return { type: 'unknown' }
  const members = response.members()
  const round = members.has('confirmed-round') ? members.integer('confirmed-round') : 0
  if (round > 0) return { type: 'confirmed', round: BigInt(round) }
  const reason = members.optionalText('pool-error') ?? ''
  return reason === '' ? { type: 'pending' } : { type: 'dropped', reason }
}

export function readContent(members: Members, transactionId: string): Transaction.Transaction | undefined {
  const signed = members.has('txn') ? members.object('txn') : undefined
  return signed === undefined ? undefined : decodeTransaction(signed.value('txn'), transactionId)
}

/** Finds the transaction of a sender with a lease in a block. */
export function readLease(members: Members, sender: string, lease: Uint8Array): LeasedTransfer | undefined {
  const text = Bytes.toBase64(lease)
  for (const txn of transactionsOf(members)) {
    if (txn.optionalText('lx') === text && txn.optionalText('snd') === sender) return leasedTransfer(txn)
  }
  return undefined
}

/** Returns every transaction of a block that holds a lease. */
export function readLeases(members: Members): LeasedTransaction[] {
  const found: LeasedTransaction[] = []
  for (const txn of transactionsOf(members)) {
    const [lease, sender] = [txn.optionalText('lx'), txn.optionalText('snd')]
    if (lease === undefined || sender === undefined) continue
    found.push({ sender, lease, lastValid: txn.has('lv') ? txn.uint('lv') : 0n, ...leasedTransfer(txn) })
  }
  return found
}

function* transactionsOf(members: Members): Generator<Members> {
  const block = members.object('block')
  for (const element of block.has('txns') ? block.list('txns') : []) yield block.objectOf(element).object('txn')
}

function leasedTransfer(txn: Members): LeasedTransfer {
  const isAssetTransfer = txn.optionalText('type') === 'axfer'
  const uint = (name: string): bigint => (isAssetTransfer && txn.has(name) ? txn.uint(name) : 0n)
  const receiver = isAssetTransfer ? txn.address('arcv') : undefined
  return { isAssetTransfer, receiver, assetId: uint('xaid'), amount: uint('aamt') }
}

/** If nodes report different states of a transaction, the most certain one counts. */
export const certainty = { unknown: 0, dropped: 1, pending: 2, confirmed: 3 } as const

const maxReasonLength = 500

export function readSimulation(members: Members): SimulationFailure | undefined {
  const result = members.objectOf(members.list('txn-groups')[0])
  const message = (result.optionalText('failure-message') ?? '').slice(0, maxReasonLength)
  if (message === '') return undefined
  const [failedAt] = result.has('failed-at') ? result.list('failed-at') : []
  return { message, code: rejectionCode(message), failedAt: typeof failedAt === 'number' ? failedAt : undefined }
}

export function readSubmission(response: NodeResponse): Exclude<SubmitResult, { type: 'unanswered' }> {
  if (response.status === 200) return { type: 'accepted' }
  if (response.status !== 400) throw response.unexpected()
  const reason = response.reason() ?? ''
  return { type: 'refused', reason, code: rejectionCode(reason), isAmbiguous: false }
}

export function encodeSimulation(group: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const writer = new Msgpack.Writer().mapHeader(2).str('allow-empty-signatures').bool(true)
  writer.str('txn-groups').arrayHeader(1).mapHeader(1).str('txns').arrayHeader(group.length)
  for (const signed of group) writer.raw(signed)
  return new Uint8Array(writer.bytes())
}

export function readBlockTime(members: Members): Date {
  const header = members.object('block')
  const seconds = header.has('ts') ? header.integer('ts') : 0
  if (seconds > maxSeconds) throw header.invalid()
  return new Date(seconds * 1000)
}

type Reader = (value: unknown) => unknown

const uint: Reader = (value) => Json.uint64(value)
const text: Reader = (value) => (typeof value === 'string' ? value : undefined)
const flag: Reader = (value) => (typeof value === 'boolean' ? value : undefined)
const base64: Reader = (value) => (typeof value === 'string' ? Bytes.fromBase64(value) : undefined)
const address: Reader = (value) =>
  typeof value === 'string' && Address.isValid(value) ? Address.decode(value) : undefined
const number: Reader = (value) => (typeof value === 'number' ? value : undefined)
const listOf =
  (read: Reader): Reader =>
  (value) =>
    Array.isArray(value) ? value.map(read) : undefined
const objectOf =
  (readers: { readonly [name: string]: Reader }): Reader =>
  (value) =>
    Json.isObject(value) ? readMembers(value, readers) : undefined

const schema = objectOf({ nui: uint, nbs: uint })

/** State proofs and heartbeats are not supported, because no account sends them. */
const fields: { readonly [name: string]: Reader } = {
  ...{ type: text, snd: address, fee: uint, fv: uint, lv: uint, note: base64, gen: text, gh: base64, grp: base64 },
  ...{ lx: base64, rekey: address, votekey: base64, selkey: base64, sprfkey: base64, votefst: uint, votelst: uint },
  ...{ votekd: uint, nonpart: flag, rcv: address, amt: uint, close: address, caid: uint },
  apar: objectOf({
    ...{ t: uint, dc: number, df: flag, un: text, an: text, au: text, am: base64 },
    ...{ m: address, r: address, f: address, c: address },
  }),
  ...{ xaid: uint, aamt: uint, asnd: address, arcv: address, aclose: address, fadd: address, faid: uint, afrz: flag },
  ...{ apid: uint, apan: uint, apaa: listOf(base64), apat: listOf(address), apfa: listOf(uint), apas: listOf(uint) },
  apbx: listOf(objectOf({ i: uint, n: base64 })),
  ...{ apls: schema, apgs: schema, apap: base64, apsu: base64, apep: number },
}

/**
 * Returns the transaction with the given id, and undefined for anything else. The transaction is encoded again to
 * detect a node that omits something, adds something or lies.
 */
export function decodeTransaction(value: unknown, transactionId: string): Transaction.Transaction | undefined {
  if (!Json.isObject(value)) return undefined
  const transaction = readMembers(value, fields) as Transaction.Transaction
  try {
    return Transaction.id(transaction) === transactionId ? transaction : undefined
  } catch (error) {
    if (error instanceof Transaction.EncodeError) return undefined
    throw error
  }
}

/** Ignores unknown members: the id reveals whether one was missed. */
function readMembers(members: Json.Members, readers: { readonly [name: string]: Reader }): { [name: string]: unknown } {
  const read: { [name: string]: unknown } = {}
  for (const [name, reader] of Object.entries(readers)) {
    if (Object.hasOwn(members, name)) read[name] = reader(members[name])
  }
  return read
}
