/** Submitting transactions, and asking after them. */

import { Submission } from '@latchkey/algorand'
import { dropConnection, type RawAnswer as HttpAnswer } from '@latchkey/http'
import type { Outcome } from '../ledger/apply/index.js'
import * as Consensus from '../ledger/Consensus.js'
import type { Known } from '../ledger/Ledger.js'
import { submitText, TransactionRejectedError } from '../ledger/TransactionRejectedError.js'
import type { Node } from '../Node.js'
import { address, type Query, transactionId } from './Parameters.js'
import type { Call, Route } from './Route.js'
import * as Answer from './responses.js'
import { SignedBytes, type Value } from './Value.js'

export const transactionRoutes: readonly Route[] = [
  { method: 'POST', path: '/v2/transactions', handle: submit },
  { method: 'GET', path: '/v2/transactions/pending', handle: (call) => listPending(call, undefined) },
  { method: 'GET', path: '/v2/transactions/pending/{txid}', handle: getPending },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/transactions/pending',
    handle: (call) => listPending(call, address(call.path[0]!)),
  },
]

function submit({ node, request, query }: Call): HttpAnswer | Promise<HttpAnswer> {
  // Waives a check of addresses that this ledger does not make; it is read so that it may be given.
  query.flag('skip-pq-address-check')
  const body = request.body()
  return body instanceof Promise ? body.then((bytes) => accept(node, bytes)) : accept(node, body)
}

function accept(node: Node, body: Buffer): HttpAnswer | Promise<HttpAnswer> {
  const failure = node.faults.take('fail')
  if (failure !== undefined) throw new Answer.ApiError(failure.status, failure.message)
  const txId = submitGroup(node, decodeGroup(body))
  if (node.faults.take('drop') !== undefined) return dropConnection
  const answer = Answer.json({ txId })
  const delay = node.faults.take('delay')
  return delay === undefined ? answer : new Promise((resolve) => setTimeout(resolve, delay.ms, answer))
}

export function decodeGroup(body: Uint8Array): Submission.Submitted[] {
  let group: Submission.Submitted[]
  try {
    group = Submission.decodeAll(body, Consensus.maxGroupSize)
  } catch (error) {
    throw decodeFailure(error)
  }
  if (group.length === 0) throw new Answer.ApiError(400, 'empty txgroup')
  if (group.length > Consensus.maxGroupSize) {
    throw new Answer.ApiError(400, `max group size is ${Consensus.maxGroupSize}`)
  }
  return group
}

function decodeFailure(error: unknown): unknown {
  if (!(error instanceof Submission.DecodeError)) return error
  return new Answer.ApiError(400, `msgpack decode error [pos ${error.position ?? 0}]: ${error.message}`)
}

function submitGroup(node: Node, group: readonly Submission.Submitted[]): string {
  try {
    return node.submit(group)
  } catch (error) {
    if (error instanceof TransactionRejectedError) throw new Answer.ApiError(400, submitText(error), error.hint)
    throw error
  }
}

function getPending({ node, path, query }: Call) {
  const key = transactionId(path[0]!)
  const format = query.format()
  const known = node.ledger.find(key)
  if (known === undefined || node.faults.take('lose') !== undefined) {
    const where = 'in the transaction pool or in the last 1000 confirmed rounds'
    throw new Answer.ApiError(404, `could not find the transaction ${where}`)
  }
  return Answer.inFormat(pendingValue(known), format)
}

function pendingValue(known: Known): Value {
  if (known.type === 'confirmed') return resultOf(known.member.signed, known.member.outcome, known.round)
  return { 'pool-error': known.type === 'dropped' ? known.reason : '', txn: new SignedBytes(known.signed) }
}

/** What is zero is absent, but for the error that there is none. */
export function resultOf(signed: Uint8Array, outcome: Outcome, confirmedRound?: bigint): Value {
  return {
    'asset-closing-amount': outcome.assetClosingAmount || undefined,
    'asset-index': outcome.createdAssetId,
    'closing-amount': outcome.closingAmount || undefined,
    'confirmed-round': confirmedRound,
    'pool-error': '',
    txn: new SignedBytes(signed),
  }
}

function listPending({ node, query }: Call, sender: string | undefined) {
  const format = query.format()
  const waiting = node.ledger.pendingTransactions().map(({ candidate }) => candidate)
  const wanted = sender === undefined ? waiting : waiting.filter((candidate) => candidate.sender === sender)
  const top = wanted.slice(0, readMax(query)).map(({ signed }) => new SignedBytes(Submission.encode(signed)))
  return Answer.inFormat({ 'top-transactions': top, 'total-transactions': wanted.length }, format)
}

/** None and zero both mean all. */
function readMax(query: Query): number {
  const max = query.uint('max') ?? 0n
  return max === 0n || max > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(max)
}
