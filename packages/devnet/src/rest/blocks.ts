/** Blocks. */
import { Address, Hash, Msgpack, Submission } from '@latchkey/algorand'
import type { InnerTransaction } from '@latchkey/avm'
import * as Block from '../ledger/Block.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import * as StateProofVoters from '../ledger/StateProofVoters.js'
import { ApiError } from './ApiError.js'
import { entryMembers } from './effectsValue.js'
import type { Value } from './HttpResponse.js'
import * as HttpResponse from './HttpResponse.js'
import { type Route, type RouteContext, transactionId, uint } from './Route.js'
import { notFound } from './transactions.js'

export const blockRoutes: readonly Route[] = [
  { method: 'GET', path: '/v2/blocks/{round}', summary: 'A block', query: ['format', 'header-only'], handle: getBlock },
  { method: 'GET', path: '/v2/blocks/{round}/hash', summary: 'The hash of a block', handle: getHash },
  {
    method: 'GET',
    path: '/v2/blocks/{round}/txids',
    summary: 'The ids of the transactions of a block',
    handle: getTransactionIds,
  },
  { method: 'GET', path: '/v2/blocks/{round}/logs', summary: 'The logs of programs in a block', handle: getLogs },
  {
    method: 'GET',
    path: '/v2/blocks/{round}/transactions/{txid}/proof',
    summary: 'Proves that a transaction is in a block',
    query: ['hashtype'],
    handle: getTransactionProof,
  },
  {
    method: 'GET',
    path: '/v2/blocks/{round}/lightheader/proof',
    summary: 'Proof of a header in a state proof: none',
    handle: getStateProof,
  },
  {
    method: 'GET',
    path: '/v2/stateproofs/{round}',
    summary: 'The state proof of a round: none',
    handle: getStateProof,
  },
]

const notInLedger = 'failed to retrieve information from the ledger'

function blockOf({ node, path }: RouteContext): Block.Block {
  const block = node.ledger.block(uint('round', path[0]!))
  if (block === undefined) throw new ApiError(404, notInLedger)
  return block
}

function getBlock(call: RouteContext) {
  const format = call.query.format()
  const isHeaderOnly = call.query.flag('header-only')
  const block = blockOf(call)
  if (format === 'json') return HttpResponse.inFormat({ block: blockJson(block, isHeaderOnly) }, 'json')
  if (isHeaderOnly) return HttpResponse.bytes(new Msgpack.Writer().mapHeader(1).str('block').raw(block.header).bytes())
  return HttpResponse.bytes(Block.encode(block), ['X-Algorand-Struct', 'block-v1'])
}

function getHash(call: RouteContext) {
  return HttpResponse.json({ blockHash: Hash.toText(blockOf(call).hash) })
}

function getTransactionIds(call: RouteContext) {
  return HttpResponse.json({ blockTxids: blockOf(call).transactions.map(({ key }) => Hash.toText(MapKey.bytes(key))) })
}

/** The logs of each call, also of those that programs made. The id is that of the top-level transaction. */
function getLogs(call: RouteContext) {
  const logs = blockOf(call).transactions.flatMap(({ key, signed, outcome }) => {
    if (outcome.delta === undefined) return []
    const { txn } = Submission.decodeFirst(signed).signed
    const txId = Hash.toText(MapKey.bytes(key))
    const effects = { ...outcome, delta: Delta.decode(outcome.delta) }
    return logsOf({ txn, effects }).map((one) => ({ ...one, txId }))
  })
  return HttpResponse.json({ logs })
}

function logsOf({ txn, effects: { delta, createdAppId } }: InnerTransaction): { [name: string]: Value }[] {
  if (delta === undefined) return []
  const own = { 'application-index': createdAppId ?? txn.apid ?? 0n, logs: delta.logs }
  return [...(delta.logs.length === 0 ? [] : [own]), ...delta.inners.flatMap(logsOf)]
}

function getTransactionProof({ node, path, query }: RouteContext) {
  const round = uint('round', path[0]!)
  const hashtype = query.get('hashtype') ?? 'sha512_256'
  const key = transactionId(path[1]!)
  if (hashtype !== 'sha512_256' && hashtype !== 'sha256') throw new ApiError(400, 'invalid hash type')
  const block = node.ledger.block(round)
  // Here a node reports a missing block as an internal error.
  if (block === undefined) throw new ApiError(500, notInLedger)
  const idx = block.transactions.findIndex((transaction) => transaction.key === key)
  if (idx < 0) throw new ApiError(404, notFound)
  const entries = block.transactions.map(Block.commitmentEntry)
  const proof = Block.prove(hashtype === 'sha256' ? 'sha256' : 'sha512-256', entries, idx)
  return HttpResponse.json({ hashtype, idx, proof: proof.path, stibhash: proof.entryHash, treedepth: proof.depth })
}

/** A development ledger makes no state proofs. */
function getStateProof({ node, path }: RouteContext): never {
  const round = uint('round', path[0]!)
  if (round > node.ledger.last.round) throw new ApiError(500, 'given round is greater than the latest round')
  throw new ApiError(404, 'no state proof can be found for that round')
}

/** The members of a header. */
export function headerJson(header: Uint8Array): { [name: string]: Value } {
  const fields: { [name: string]: Value } = {}
  const reader = new Msgpack.Reader(header)
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    fields[name] = readField(name, reader)
  }
  return fields
}

function blockJson({ header, transactions }: Block.Block, isHeaderOnly: boolean): Value {
  const fields = headerJson(header)
  if (transactions.length > 0 && !isHeaderOnly) fields['txns'] = transactions.map(transactionJson)
  return fields
}

function readField(name: string, reader: Msgpack.Reader): Value {
  switch (name) {
    case 'fees':
    case 'rwd':
      return Address.encode(reader.bin())
    case 'prev':
      return `blk-${Hash.toText(reader.bin())}`
    case 'gen':
    case 'proto':
      return reader.str()
    case 'spt': {
      const { commitment, microAlgos } = StateProofVoters.decode(reader)
      return { 0: { n: StateProofVoters.nextProofRound, t: microAlgos || undefined, v: commitment } }
    }
    case 'gh':
    case 'prev512':
    case 'seed':
    case 'txn':
    case 'txn256':
    case 'txn512':
      return reader.bin()
    default:
      return reader.uint()
  }
}

function transactionJson({ signed, outcome: { delta, ...effects } }: Block.BlockTransaction): Value {
  const decoded = Submission.decodeFirst(signed).signed
  return {
    ...Submission.toJson({ ...decoded, txn: { ...decoded.txn, gen: undefined, gh: undefined } }),
    ...entryMembers({ ...effects, ...(delta && { delta: Delta.decode(delta) }) }),
    hgi: decoded.txn.gen === undefined ? undefined : true,
  }
}
