/** Submits transactions and looks them up. */
import { BoundedMap, Submission, type Transaction } from '@latchkey/algorand'
import { dropConnection, type RawAnswer } from '@latchkey/http'
import type { DevnetNode, SubmitOptions } from '../DevnetNode.js'
import { waiver } from '../ledger/addressCheck.js'
import type { BlockTransaction } from '../ledger/Block.js'
import * as Consensus from '../ledger/Consensus.js'
import type { TransactionStatus } from '../ledger/Ledger.js'
import { LedgerError, submitText } from '../ledger/LedgerError.js'
import * as MapKey from '../ledger/MapKey.js'
import * as avm from '../ledger/programs/avm.js'
import { ApiError } from './ApiError.js'
import { resultOf } from './effectsValue.js'
import { failureData } from './failureData.js'
import * as HttpResponse from './HttpResponse.js'
import { SignedBytes, toIndentedJson, type Value } from './HttpResponse.js'
import { address, type Query, type Route, type RouteContext, transactionId } from './Route.js'

const where = 'in the transaction pool or in the last 1000 confirmed rounds'
/** The message for an unknown transaction. */
export const notFound = `could not find the transaction ${where}`

export const transactionRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/transactions',
    summary: 'Submits a transaction or a group',
    query: [waiver],
    handle: submit,
  },
  {
    method: 'GET',
    path: '/v2/transactions/pending',
    summary: 'The pending transactions',
    query: ['max', 'format'],
    handle: (call) => listPending(call, undefined),
  },
  {
    method: 'GET',
    path: '/v2/transactions/pending/{txid}',
    summary: 'A pending or confirmed transaction',
    query: ['format'],
    handle: getPending,
  },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/transactions/pending',
    summary: 'The pending transactions of an account',
    query: ['max', 'format'],
    handle: (call) => listPending(call, address(call.path[0]!)),
  },
]

function submit({ node, request, query }: RouteContext): RawAnswer | Promise<RawAnswer> {
  const options = { skipsAddressCheck: query.flag(waiver) }
  const body = request.body()
  return body instanceof Promise ? body.then((bytes) => accept(node, bytes, options)) : accept(node, body, options)
}

function accept(node: DevnetNode, body: Buffer, options: SubmitOptions): RawAnswer | Promise<RawAnswer> {
  const failure = node.faults.take('fail')
  if (failure !== undefined) throw new ApiError(failure.status, failure.message)
  const group = decodeGroup(body)
  return avm.withPrograms(() => submitted(node, group, options))
}

function submitted(
  node: DevnetNode,
  group: readonly Submission.Decoded[],
  options: SubmitOptions,
): RawAnswer | Promise<RawAnswer> {
  const txId = submitGroup(node, group, options)
  if (node.faults.take('drop') !== undefined) return dropConnection
  const response = HttpResponse.json({ txId })
  const delay = node.faults.take('delay')
  return delay === undefined ? response : new Promise((resolve) => setTimeout(resolve, delay.ms, response))
}

export function decodeGroup(body: Uint8Array): Submission.Decoded[] {
  let group: Submission.Decoded[]
  try {
    group = Submission.decodeAll(body, Consensus.maxGroupSize)
  } catch (error) {
    throw decodeFailure(error)
  }
  if (group.length === 0) throw new ApiError(400, 'empty txgroup')
  if (group.length > Consensus.maxGroupSize) {
    throw new ApiError(400, `max group size is ${Consensus.maxGroupSize}`)
  }
  return group
}

function decodeFailure(error: unknown): unknown {
  if (!(error instanceof Submission.DecodeError)) return error
  return new ApiError(400, `msgpack decode error [pos ${error.position ?? 0}]: ${error.message}`)
}

function submitGroup(node: DevnetNode, group: readonly Submission.Decoded[], options: SubmitOptions): string {
  try {
    return node.submit(group, options)
  } catch (error) {
    if (error instanceof LedgerError) throw new ApiError(400, submitText(error), error.hint, [], failureData(error))
    throw error
  }
}

/**
 * A shared instance: sellers look up every payment before it is settled, and creating a stack takes longer than the
 * lookup.
 */
const unknownTransaction = new ApiError(404, notFound)

function getPending({ node, path, query }: RouteContext) {
  const key = transactionId(path[0]!)
  const status = node.ledger.findTransaction(key)
  if (status === undefined || node.faults.take('lose') !== undefined) {
    throw unknownTransaction
  }
  const format = query.format()
  return status.type === 'confirmed' && format === 'json'
    ? HttpResponse.jsonText(confirmedText(status.transaction, status.round))
    : HttpResponse.inFormat(pendingValue(status), format)
}

/** Longer texts, of transactions with many inner ones, are not kept. */
const maxKeptText = 16_384

/** The latest lookups: the buyer, seller and facilitator of a payment all look it up. */
const confirmedTexts = new BoundedMap<BlockTransaction, { readonly round: bigint; readonly text: string }>(512)

function confirmedText(transaction: BlockTransaction, round: bigint): string {
  const known = confirmedTexts.get(transaction)
  if (known !== undefined && known.round === round) return known.text
  const text = toIndentedJson(confirmedValue(transaction, round))
  if (text.length <= maxKeptText) confirmedTexts.set(transaction, { round, text })
  return text
}

function pendingValue(status: TransactionStatus): Value {
  if (status.type === 'confirmed') return confirmedValue(status.transaction, status.round)
  return { 'pool-error': status.type === 'dropped' ? status.reason : '', txn: new SignedBytes(status.signed) }
}

/** Nodes recognize the creation of an asset by its fields, so they report no asset if all of them are zero. */
function confirmedValue({ signed, outcome }: BlockTransaction, round: bigint): Value {
  // Such a transaction creates an asset and has no other outcome.
  const isBare = outcome.createdAssetId !== undefined && Submission.decodeFirst(signed).signed.txn.apar === undefined
  return resultOf(new SignedBytes(signed), isBare ? {} : outcome, round)
}

/** The list may be limited to an account; the total is always that of all accounts. */
function listPending({ node, query }: RouteContext, account: MapKey.MapKey | undefined) {
  const format = query.format()
  const pending = node.ledger.pendingTransactions().map(({ transaction }) => transaction)
  const listed = account === undefined ? pending : pending.filter(({ txn }) => concerns(txn, account))
  const top = listed.slice(0, readMax(query)).map(({ decoded }) => new SignedBytes(decoded.bytes, decoded.signed))
  return HttpResponse.inFormat({ 'top-transactions': top, 'total-transactions': pending.length }, format)
}

/** Whether an account sends, or receives the payment or transfer. */
function concerns(txn: Transaction.Transaction, account: MapKey.MapKey): boolean {
  const byType: { [type: string]: (Uint8Array | undefined)[] } = {
    pay: [txn.rcv, txn.close],
    axfer: [txn.arcv, txn.aclose, txn.asnd],
  }
  const parties = [txn.snd, ...(byType[txn.type] ?? [])]
  return parties.some((party) => party !== undefined && MapKey.of(party) === account)
}

/** Absent and zero both mean all. */
function readMax(query: Query): number {
  const max = query.uint('max') ?? 0n
  return max === 0n || max > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(max)
}
