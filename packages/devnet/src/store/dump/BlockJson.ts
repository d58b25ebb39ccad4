/** Blocks as JSON: header and transactions, from which the rest of a block is computed. */
import { createHash } from 'node:crypto'
import { Bytes, Hash, Msgpack, Submission } from '@latchkey/algorand'
import type { Outcome } from '../../ledger/apply/index.js'
import * as Block from '../../ledger/Block.js'
import * as MapKey from '../../ledger/MapKey.js'
import * as Delta from '../../ledger/programs/Delta.js'
import { base64, type JsonCursor } from './JsonCursor.js'

export function toJson({ header, transactions }: Block.Block): object {
  return {
    header: base64(header),
    transactions: transactions.map(({ signed, outcome }) => ({
      signed: base64(signed),
      closingAmount: outcome.closingAmount?.toString(),
      assetClosingAmount: outcome.assetClosingAmount?.toString(),
      createdAssetId: outcome.createdAssetId?.toString(),
      createdAppId: outcome.createdAppId?.toString(),
      delta: outcome.delta && base64(outcome.delta),
    })),
  }
}

export type Chain = {
  blocks: Block.Block[]
  /** The count in the last header. */
  transactionCount: bigint
}

/** Reads at least one block of this network, each committing to the previous one and to its transactions. */
export function chainFromJson(member: JsonCursor, genesisHash: MapKey.MapKey): Chain {
  const blocks: Block.Block[] = []
  let previous: { block: Block.Block; transactionCount: bigint } | undefined
  for (const one of member.list()) {
    const { header: headerMember, transactions } = one.object(['header', 'transactions'])
    const header = readHeader(headerMember)
    if (header.genesisHash !== genesisHash) headerMember.fail('belongs to another network')
    const block = blockOf(header, transactions)
    const transactionCount = header.numbers.tc
    if (previous !== undefined) {
      checkLink(headerMember, header, previous.block)
      if (transactionCount !== previous.transactionCount + BigInt(Block.transactionCountOf(block))) {
        transactions.fail('do not match the count in the header')
      }
    }
    blocks.push(block)
    previous = { block, transactionCount }
  }
  return previous === undefined
    ? member.fail('is empty: at least the last block is required')
    : { blocks, transactionCount: previous.transactionCount }
}

function checkLink(member: JsonCursor, { numbers, hashes }: Header, previous: Block.Block): void {
  if (numbers.rnd !== previous.round + 1n) {
    member.fail(`is of round ${numbers.rnd}, but follows round ${previous.round}`)
  }
  if (!isSame(hashes.prev, previous.hash) || !isSame(hashes.prev512, previous.hash512)) {
    member.fail('does not follow the block before it')
  }
}

type Header = {
  bytes: Uint8Array
  genesisHash: MapKey.MapKey
  numbers: { rnd: bigint; ts: bigint; tc: bigint }
  hashes: { [name in (typeof hashNames)[number]]?: Uint8Array }
}

const hashNames = ['gh', 'prev', 'prev512', 'txn', 'txn256', 'txn512'] as const
const isHashName = (name: string): name is (typeof hashNames)[number] => (hashNames as readonly string[]).includes(name)

/** Absent numbers are zero. */
function readHeader(member: JsonCursor): Header {
  const bytes = member.bytes()
  const numbers = { rnd: 0n, ts: 0n, tc: 0n }
  const hashes: Header['hashes'] = {}
  decoding(member, () => {
    const reader = new Msgpack.Reader(bytes)
    let before = ''
    for (let left = reader.mapHeader(); left > 0; left--) {
      const name = reader.str()
      if (name <= before) member.fail('has its names out of order')
      before = name
      if (name === 'rnd' || name === 'ts' || name === 'tc') numbers[name] = reader.uint()
      else if (isHashName(name)) hashes[name] = reader.bin()
      else reader.skip()
    }
    if (reader.remaining > 0) member.fail('has trailing bytes')
  })
  return { bytes, genesisHash: MapKey.ofField(hashes.gh), numbers, hashes }
}

function blockOf({ bytes, numbers, hashes }: Header, transactions: JsonCursor): Block.Block {
  const read = transactions.list().map(readTransaction)
  const entries = read.map(({ entry }) => entry)
  const roots = Block.rootsOfRound(numbers.rnd, entries)
  // The first block commits to an empty list.
  const isNonEmptyGenesis = numbers.rnd === 0n && entries.length > 0
  if (
    isNonEmptyGenesis ||
    !isSame(roots.txn, hashes.txn) ||
    !isSame(roots.txn256, hashes.txn256) ||
    !isSame(roots.txn512, hashes.txn512)
  ) {
    transactions.fail('are not those that the header commits to')
  }
  return {
    round: numbers.rnd,
    timestamp: numbers.ts,
    hash: Hash.hash(Hash.domains.blockHeader, bytes),
    hash512: createHash('sha512').update(Hash.domains.blockHeader).update(bytes).digest(),
    header: bytes,
    load: Block.loadOfHeader(bytes),
    transactions: read.map(({ transaction }) => transaction),
  }
}

function readTransaction(member: JsonCursor): { transaction: Block.BlockTransaction; entry: Block.CommitmentEntry } {
  const it = member.object(
    ['signed'],
    ['closingAmount', 'assetClosingAmount', 'createdAssetId', 'createdAppId', 'delta'],
  )
  const signed = it.signed.bytes()
  const outcome: Outcome = {
    ...(it.closingAmount && { closingAmount: it.closingAmount.unsigned() }),
    ...(it.assetClosingAmount && { assetClosingAmount: it.assetClosingAmount.unsigned() }),
    ...(it.createdAssetId && { createdAssetId: it.createdAssetId.unsigned() }),
    ...(it.createdAppId && { createdAppId: it.createdAppId.unsigned() }),
    ...(it.delta && { delta: it.delta.bytes() }),
  }
  return decoding(it.signed, () => {
    const decoded = Submission.decodeFirst(signed)
    if (outcome.delta !== undefined) Delta.decode(outcome.delta)
    if (!isSame(decoded.bytes, signed)) it.signed.fail('is not the canonical form of a transaction')
    return {
      transaction: { key: MapKey.of(decoded.digest), signed, outcome },
      entry: Block.commitmentEntryOf(decoded, outcome),
    }
  })
}

/** Adds the path of the member to a decoding error. */
export function decoding<T>(member: JsonCursor, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Msgpack.DecodeError) && !(error instanceof Msgpack.EncodeError)) throw error
    return member.fail(`cannot be read: ${error.message}`)
  }
}

function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one === undefined || other === undefined ? one === other : Bytes.equal(one, other)
}
