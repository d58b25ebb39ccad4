/** Blocks. */
import { Address, Hash, Msgpack, Submission } from '@latchkey/algorand'
import * as Block from '../ledger/Block.js'
import * as Key from '../ledger/Key.js'
import { uint } from './Parameters.js'
import type { Call, Route } from './Route.js'
import * as Answer from './responses.js'
import { SignedBytes, type Value } from './Value.js'

export const blockRoutes: readonly Route[] = [
  { method: 'GET', path: '/v2/blocks/{round}', handle: getBlock },
  { method: 'GET', path: '/v2/blocks/{round}/hash', handle: getHash },
  { method: 'GET', path: '/v2/blocks/{round}/txids', handle: getTransactionIds },
]

function blockOf({ node, path }: Call): Block.Block {
  const block = node.ledger.block(uint('round', path[0]!))
  if (block === undefined) throw new Answer.ApiError(404, 'failed to retrieve information from the ledger')
  return block
}

function getBlock(call: Call) {
  const format = call.query.format()
  const isHeaderOnly = call.query.flag('header-only')
  const block = blockOf(call)
  if (format === 'json') return Answer.inFormat({ block: blockJson(block, isHeaderOnly) }, 'json')
  if (isHeaderOnly) return Answer.bytes(new Msgpack.Writer().mapHeader(1).str('block').raw(block.header).bytes())
  return Answer.bytes(Block.encode(block), ['X-Algorand-Struct', 'block-v1'])
}

function getHash(call: Call) {
  return Answer.json({ blockHash: Hash.toText(blockOf(call).hash) })
}

function getTransactionIds(call: Call) {
  return Answer.json({ blockTxids: blockOf(call).members.map(({ key }) => Hash.toText(Key.bytes(key))) })
}

function blockJson({ header, members }: Block.Block, isHeaderOnly: boolean): Value {
  const fields: { [name: string]: Value } = {}
  const reader = new Msgpack.Reader(header)
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    fields[name] = readField(name, reader)
  }
  if (members.length > 0 && !isHeaderOnly) fields['txns'] = members.map(memberJson)
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

function memberJson({ signed, outcome }: Block.Member): Value {
  const decoded = Submission.decodeFirst(signed).signed
  const inside = Submission.encode({ ...decoded, txn: { ...decoded.txn, gen: undefined, gh: undefined } })
  return new SignedBytes(inside, {
    aca: outcome.assetClosingAmount || undefined,
    ca: outcome.closingAmount || undefined,
    caid: outcome.createdAssetId,
    hgi: decoded.txn.gen === undefined ? undefined : true,
  })
}
