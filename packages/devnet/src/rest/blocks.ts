/** Blocks. */
import { Address, Hash, Msgpack, Submission } from '@latchkey/algorand'
import * as Block from '../ledger/Block.js'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import * as HttpResponse from './HttpResponse.js'
import { uint } from './Parameters.js'
import { SignedBytes, type Value } from './ResponseValue.js'
import type { Route, RouteContext } from './Route.js'

export const blockRoutes: readonly Route[] = [
  { method: 'GET', path: '/v2/blocks/{round}', handle: getBlock },
  { method: 'GET', path: '/v2/blocks/{round}/hash', handle: getHash },
  { method: 'GET', path: '/v2/blocks/{round}/txids', handle: getTransactionIds },
]

function blockOf({ node, path }: RouteContext): Block.Block {
  const block = node.ledger.block(uint('round', path[0]!))
  if (block === undefined) throw new ApiError(404, 'failed to retrieve information from the ledger')
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

function blockJson({ header, transactions }: Block.Block, isHeaderOnly: boolean): Value {
  const fields: { [name: string]: Value } = {}
  const reader = new Msgpack.Reader(header)
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    fields[name] = readField(name, reader)
  }
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
    case 'spt':
      reader.skip()
      return { 0: { n: 512 } }
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

function transactionJson({ signed, outcome }: Block.BlockTransaction): Value {
  const decoded = Submission.decodeFirst(signed).signed
  const inside = Submission.encode({ ...decoded, txn: { ...decoded.txn, gen: undefined, gh: undefined } })
  return new SignedBytes(inside, {
    aca: outcome.assetClosingAmount || undefined,
    ca: outcome.closingAmount || undefined,
    caid: outcome.createdAssetId,
    hgi: decoded.txn.gen === undefined ? undefined : true,
  })
}
