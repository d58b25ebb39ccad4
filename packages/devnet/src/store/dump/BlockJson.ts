/** Blocks as JSON: each one's header and transactions. Everything else about a block follows from these two. */
import { createHash } from 'node:crypto'
import { Bytes, Hash, Msgpack, Submission, Transaction } from '@latchkey/algorand'
import type { Outcome } from '../../ledger/apply/index.js'
import * as Block from '../../ledger/Block.js'
import * as Commitment from '../../ledger/Commitment.js'
import * as Key from '../../ledger/Key.js'
import { base64, type Member } from './Member.js'

export function toJson({ header, members }: Block.Block): object {
  return {
    header: base64(header),
    transactions: members.map(({ signed, outcome }) => ({
      signed: base64(signed),
      closingAmount: outcome.closingAmount?.toString(),
      assetClosingAmount: outcome.assetClosingAmount?.toString(),
      createdAssetId: outcome.createdAssetId?.toString(),
    })),
  }
}

export type Chain = {
  blocks: Block.Block[]
  /** As the last header has it. */
  transactionCount: bigint
}

/** A chain of blocks of this network, each committing to the one before and to its transactions. Never none. */
export function chainFromJson(member: Member, genesisHash: Key.Key): Chain {
  const blocks: Block.Block[] = []
  let previous: { block: Block.Block; transactionCount: bigint } | undefined
  for (const one of member.list()) {
    const { header: headerMember, transactions } = one.object(['header', 'transactions'])
    const header = readHeader(headerMember)
    if (header.genesisHash !== genesisHash) headerMember.refuse('is of another network')
    const block = blockOf(header, transactions)
    const transactionCount = header.numbers.tc
    if (previous !== undefined) {
      checkLink(headerMember, header, previous.block)
      if (transactionCount !== previous.transactionCount + BigInt(block.members.length)) {
        transactions.refuse('are not as many as the header counts')
      }
    }
    blocks.push(block)
    previous = { block, transactionCount }
  }
  return previous === undefined
    ? member.refuse('is empty: there is at least the last block')
    : { blocks, transactionCount: previous.transactionCount }
}

function checkLink(member: Member, { numbers, hashes }: Header, previous: Block.Block): void {
  if (numbers.rnd !== previous.round + 1n) {
    member.refuse(`is that of round ${numbers.rnd}, after one of round ${previous.round}`)
  }
  if (!isSame(hashes.prev, previous.hash) || !isSame(hashes.prev512, previous.hash512)) {
    member.refuse('does not follow the block before it')
  }
}

type Header = {
  bytes: Uint8Array
  genesisHash: Key.Key
  numbers: { rnd: bigint; ts: bigint; tc: bigint }
  hashes: { [name in (typeof hashNames)[number]]?: Uint8Array }
}

const hashNames = ['gh', 'prev', 'prev512', 'txn', 'txn256', 'txn512'] as const
const isHashName = (name: string): name is (typeof hashNames)[number] => (hashNames as readonly string[]).includes(name)

/** What is absent is zero or none. */
function readHeader(member: Member): Header {
  const bytes = member.bytes()
  const numbers = { rnd: 0n, ts: 0n, tc: 0n }
  const hashes: Header['hashes'] = {}
  decoding(member, () => {
    const reader = new Msgpack.Reader(bytes)
    let before = ''
    for (let left = reader.mapHeader(); left > 0; left--) {
      const name = reader.str()
      if (name <= before) member.refuse('has its names out of order')
      before = name
      if (name === 'rnd' || name === 'ts' || name === 'tc') numbers[name] = reader.uint()
      else if (isHashName(name)) hashes[name] = reader.bin()
      else reader.skip()
    }
    if (reader.remaining > 0) member.refuse('goes on after its end')
  })
  return { bytes, genesisHash: Key.ofField(hashes.gh), numbers, hashes }
}

function blockOf({ bytes, numbers, hashes }: Header, transactions: Member): Block.Block {
  const read = transactions.list().map(readTransaction)
  const entries = read.map(({ entry }) => entry)
  const roots = Commitment.ofRound(numbers.rnd, entries)
  // The first block commits to a list of none, whatever it holds.
  const isFirstWithSome = numbers.rnd === 0n && entries.length > 0
  if (
    isFirstWithSome ||
    !isSame(roots.txn, hashes.txn) ||
    !isSame(roots.txn256, hashes.txn256) ||
    !isSame(roots.txn512, hashes.txn512)
  ) {
    transactions.refuse('are not those that the header commits to')
  }
  return {
    round: numbers.rnd,
    timestamp: numbers.ts,
    hash: Hash.hash(Hash.domains.blockHeader, bytes),
    hash512: createHash('sha512').update(Hash.domains.blockHeader).update(bytes).digest(),
    header: bytes,
    members: read.map(({ member }) => member),
  }
}

function readTransaction(member: Member): { member: Block.Member; entry: Commitment.Entry } {
  const it = member.object(['signed'], ['closingAmount', 'assetClosingAmount', 'createdAssetId'])
  const signed = it.signed.bytes()
  const outcome: Outcome = {
    ...(it.closingAmount && { closingAmount: it.closingAmount.unsigned() }),
    ...(it.assetClosingAmount && { assetClosingAmount: it.assetClosingAmount.unsigned() }),
    ...(it.createdAssetId && { createdAssetId: it.createdAssetId.unsigned() }),
  }
  return decoding(it.signed, () => {
    const { signed: decoded } = Submission.decodeFirst(signed)
    if (!isSame(Submission.encode(decoded), signed)) it.signed.refuse('is not the canonical form of a transaction')
    const transaction = Submission.transactionBytes(decoded.txn)
    const key = Key.of(Transaction.digest(transaction))
    return { member: { key, signed, outcome }, entry: { transaction, entry: Block.encodeEntry(decoded, outcome) } }
  })
}

/** Says where it was, if what is read inside is not what it should be. */
export function decoding<T>(member: Member, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Msgpack.DecodeError) && !(error instanceof Msgpack.EncodeError)) throw error
    return member.refuse(`cannot be read: ${error.message}`)
  }
}

function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one === undefined || other === undefined ? one === other : Bytes.equal(one, other)
}
