/** A block: its header, its transactions, and the Merkle roots by which the header commits to them. */
import { hash as oneHash } from 'node:crypto'
import { Bytes, Hash, Msgpack, Submission, Transaction } from '@latchkey/algorand'
import type { Outcome } from './apply/index.js'
import * as Consensus from './Consensus.js'
import type { Chain } from './Evaluate.js'
import type { IncomingTransaction } from './IncomingTransaction.js'
import * as MapKey from './MapKey.js'
import * as Delta from './programs/Delta.js'
import * as StateProofVoters from './StateProofVoters.js'

export type Block = {
  readonly round: bigint
  readonly timestamp: bigint
  readonly hash: Uint8Array
  /** SHA-512 of the header, which the next header commits to as well. */
  readonly hash512: Uint8Array
  readonly header: Uint8Array
  /** The load and the tax in the header. */
  readonly load: Load
  readonly transactions: readonly BlockTransaction[]
}

/** A transaction in a block, as bytes instead of objects, because thousands of blocks are kept. */
export type BlockTransaction = {
  readonly key: MapKey.MapKey
  /** The canonical signed transaction. */
  readonly signed: Uint8Array
  readonly outcome: Outcome
}

/** A transaction with its effect. */
export type Applied = { readonly transaction: IncomingTransaction; readonly outcome: Outcome }

export type BlockInput = {
  chain: Chain
  previous: Pick<Block, 'hash' | 'hash512' | 'round' | 'load'> | undefined
  timestamp: bigint
  transactionCount: bigint
  /** The fees of all transactions, also of those that programs made. */
  feesCollected: bigint
  applied: readonly Applied[]
  /** The voters that the header commits to. */
  voters?: StateProofVoters.Voters | undefined
}

const rewardsRecalculationRound = 500_000n
const bonusMicroAlgos = 10_000_000n
/** The state proofs in headers that commit to no voters. */
const withoutVoters = StateProofVoters.encode(undefined)

export function make(input: BlockInput): Block {
  const { chain, previous, timestamp, transactionCount, feesCollected, applied, voters } = input
  const round = previous === undefined ? 0n : previous.round + 1n
  const entries = applied.map(({ transaction: { decoded }, outcome }) => commitmentEntryOf(decoded, outcome))
  const load = { load: loadOf(entries), tax: previous === undefined ? 0n : nextTax(previous.load) }
  const roots = rootsOfRound(round, entries)
  const header = encodeHeader([
    ['bi', previous && bonusMicroAlgos],
    ['ct', load.tax],
    ['fc', feesCollected],
    ['fees', MapKey.bytes(chain.feeSink)],
    ['gen', chain.genesisId],
    ['gh', MapKey.bytes(chain.genesisHash)],
    ['ld', load.load],
    ['prev', previous?.hash],
    ['prev512', previous?.hash512],
    ['proto', Consensus.version],
    ['rnd', round],
    ['rwcalr', rewardsRecalculationRound],
    ['rwd', MapKey.bytes(chain.rewardsPool)],
    ['seed', previous?.hash ?? MapKey.bytes(chain.genesisHash)],
    ['spt', previous && { raw: voters === undefined ? withoutVoters : StateProofVoters.encode(voters) }],
    ['tc', transactionCount],
    ['ts', timestamp],
    ['txn', roots.txn],
    ['txn256', roots.txn256],
    ['txn512', roots.txn512],
  ])
  return {
    round,
    timestamp,
    hash: Hash.hash(Hash.domains.blockHeader, header),
    hash512: sha512(Hash.prefixed(Hash.domains.blockHeader, header)),
    header,
    load,
    transactions: applied.map(blockTransactionOf),
  }
}

function sha512(data: Uint8Array): Uint8Array {
  return Buffer.from(oneHash('sha512', data, 'binary'), 'latin1')
}

/** Copies the bytes, because newly encoded bytes may be a view of a larger buffer. */
function blockTransactionOf({ transaction, outcome }: Applied): BlockTransaction {
  return { key: transaction.key, signed: transaction.decoded.bytes.slice(), outcome }
}

type Field = bigint | string | Uint8Array | { readonly raw: Uint8Array }

/** Names must be given in order; absent and zero values are omitted. */
function encodeHeader(fields: readonly (readonly [string, Field | undefined])[]): Uint8Array {
  const present = fields.filter(([, value]) => value !== undefined && value !== 0n) as [string, Field][]
  const writer = new Msgpack.Writer().mapHeader(present.length)
  for (const [name, value] of present) {
    writer.str(name)
    if (typeof value === 'bigint') writer.uint(value)
    else if (typeof value === 'string') writer.str(value)
    else if (value instanceof Uint8Array) writer.bin(value)
    else writer.raw(value.raw)
  }
  return writer.bytes().slice()
}

/**
 * A signed transaction as encoded in a block (SignedTxnInBlock): genesis id and hash are omitted, the outcome is added.
 * The names of the outcome sort before those of the signed transaction.
 */
function encodeEntry({ signed, bytes, transactionBytes }: Submission.Decoded, outcome: Outcome): Uint8Array {
  const added: [string, bigint | true | Uint8Array][] = []
  if (outcome.assetClosingAmount) added.push(['aca', outcome.assetClosingAmount])
  if (outcome.createdAppId) added.push(['apid', outcome.createdAppId])
  if (outcome.closingAmount) added.push(['ca', outcome.closingAmount])
  if (outcome.createdAssetId) added.push(['caid', outcome.createdAssetId])
  if (outcome.delta) added.push(['dt', outcome.delta])
  if (signed.txn.gen !== undefined) added.push(['hgi', true])
  // The signed transaction has at most four names, so the sum still fits the first byte.
  const writer = new Msgpack.Writer().mapHeader((bytes[0]! & 0x0f) + added.length)
  for (const [name, value] of added) {
    writer.str(name)
    if (value === true) writer.bool(true)
    else if (typeof value === 'bigint') writer.uint(value)
    else writer.raw(value)
  }
  // The transaction is the last member.
  const before = bytes.subarray(1, bytes.length - transactionBytes.length)
  return writer
    .raw(before)
    .raw(Transaction.withoutFields(transactionBytes, ['gen', 'gh']))
    .bytes()
}

/** The data that the roots of the block commit to. */
export function commitmentEntry({ signed, outcome }: BlockTransaction): CommitmentEntry {
  return commitmentEntryOf(Submission.decodeFirst(signed), outcome)
}

export function commitmentEntryOf(decoded: Submission.Decoded, outcome: Outcome): CommitmentEntry {
  return { transaction: decoded.transactionBytes, digest: decoded.digest, entry: encodeEntry(decoded, outcome) }
}

/** Encodes the whole block as nodes serve it. */
export function encode({ header, transactions, round }: Block): Uint8Array {
  const certificate = new Msgpack.Writer()
  if (round === 0n) certificate.mapHeader(0)
  else certificate.mapHeader(1).str('rnd').uint(round)
  return new Msgpack.Writer()
    .mapHeader(2)
    .str('block')
    .raw(withTransactions(header, transactions))
    .str('cert')
    .raw(certificate.bytes())
    .bytes()
}

/** `txns` is the last name in order. */
function withTransactions(header: Uint8Array, transactions: readonly BlockTransaction[]): Uint8Array {
  if (transactions.length === 0) return header
  const reader = new Msgpack.Reader(header)
  const fields = reader.mapHeader()
  const writer = new Msgpack.Writer().mapHeader(fields + 1).raw(header.subarray(reader.position))
  writer.str('txns').arrayHeader(transactions.length)
  for (const { signed, outcome } of transactions) writer.raw(encodeEntry(Submission.decodeFirst(signed), outcome))
  return writer.bytes()
}

/** The number of transactions, including those of applications. */
export function transactionCountOf({ transactions }: Block): number {
  return transactions.reduce((sum, { outcome }) => sum + 1 + Delta.countInner(outcome.delta), 0)
}

export function sizeOf({ header, transactions }: Block): number {
  return transactions.reduce(
    (sum, { signed, outcome }) => sum + signed.length + (outcome.delta?.length ?? 0),
    header.length,
  )
}

/**
 * How full a block is, and the resulting tax on fees, which nodes do not charge yet. Both in millionths: of the largest
 * block, and of the minimum fee.
 */
type Load = { readonly load: bigint; readonly tax: bigint }

const million = 1_000_000n
/** A block with this load does not change the tax. */
const targetLoad = million / 2n
/** A full block adds this to the tax and multiplies it by as much more; an empty one does the opposite. */
const maxTaxChange = million / 10n

/** The load of a block with these transactions. */
function loadOf(entries: readonly CommitmentEntry[]): bigint {
  const bytes = entries.reduce((sum, { entry }) => sum + entry.length, 0)
  return (BigInt(bytes) * million) / BigInt(Consensus.maxBlockTransactionBytes)
}

/** Reads the load and tax of a header. Names are in order, so those after the load are not read. */
export function loadOfHeader(header: Uint8Array): Load {
  const reader = new Msgpack.Reader(header)
  const found = { ct: 0n, ld: 0n }
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name > 'ld') break
    if (name === 'ct' || name === 'ld') found[name] = reader.uint()
    else reader.skip()
  }
  return { load: found.ld, tax: found.ct }
}

/** Returns the tax of the next block. */
export function nextTax({ load, tax }: Load): bigint {
  if (load <= targetLoad) {
    const down = (maxTaxChange * (targetLoad - load)) / targetLoad
    const lowered = (tax * (million - down)) / million
    return lowered > down ? lowered - down : 0n
  }
  const up = (maxTaxChange * (load - targetLoad)) / targetLoad
  const raised = (tax * (million + up)) / million + up
  return raised > Consensus.maxUint64 ? Consensus.maxUint64 : raised
}

/** One transaction of a block: its canonical bytes, and its whole entry in the block. */
export type CommitmentEntry = {
  readonly transaction: Uint8Array
  readonly entry: Uint8Array
  /** The id of the transaction, if it is known. */
  readonly digest?: Uint8Array | undefined
}

/** Without transactions the first root is zero, and therefore absent. */
type Roots = { readonly txn: Uint8Array | undefined; readonly txn256: Uint8Array; readonly txn512: Uint8Array }

type Algorithm = 'sha512-256' | 'sha256' | 'sha512'

export function rootsOf(entries: readonly CommitmentEntry[]): Roots {
  const sha256Leaves = entries.map((entry) => leafOf('sha256', entry))
  return {
    txn: tree(
      'sha512-256',
      entries.map((entry) => hash('sha512-256', leafOf('sha512-256', entry))),
    ),
    txn256: vector('sha256', sha256Leaves),
    txn512: vector('sha512', sha256Leaves),
  }
}

/** The genesis block commits to a flat list of transactions, which is empty: "PF" and an empty array. */
const firstRoot: Uint8Array = Hash.sha512_256(Uint8Array.of(0x50, 0x46, 0x90))

/** The roots in the header of a round. */
export function rootsOfRound(round: bigint, entries: readonly CommitmentEntry[]): Partial<Roots> {
  return round === 0n ? { txn: firstRoot } : rootsOf(entries)
}

/** The parts of a leaf. The SHA-512 root is built over the leaves of the SHA-256 root. */
function leafOf(algorithm: Algorithm, { transaction, entry, digest }: CommitmentEntry): Uint8Array[] {
  const id = algorithm === 'sha512-256' ? digest : undefined
  return [text('TL'), id ?? hash(algorithm, [text('TX'), transaction]), hash(algorithm, [text('STIB'), entry])]
}

type Proof = {
  /** The concatenated siblings on the path from the leaf to the root, with zeroes for a missing one. */
  readonly path: Uint8Array
  readonly depth: number
  /** The hash of the whole entry, which the leaf contains next to that of the transaction. */
  readonly entryHash: Uint8Array
}

/** Proves that a transaction is part of the root `txn` (SHA-512/256) or `txn256` (SHA-256). */
export function prove(algorithm: 'sha512-256' | 'sha256', entries: readonly CommitmentEntry[], index: number): Proof {
  const leaves = entries.map((entry) => leafOf(algorithm, entry))
  const isVector = algorithm === 'sha256'
  const row = isVector ? vectorRow(algorithm, leaves) : leaves.map((leaf) => hash(algorithm, leaf))
  const siblings: Uint8Array[] = []
  tree(algorithm, row, { position: isVector ? reversed(index, depthOf(leaves.length)) : index, siblings })
  return { path: Bytes.concat(siblings), depth: siblings.length, entryHash: leaves[index]![2]! }
}

/** A position in the lowest row, and the siblings on the path from there to the root. */
type Path = { position: number; readonly siblings: Uint8Array[] }

/** A node without a sibling is paired with zeroes. */
function tree(algorithm: Algorithm, leaves: readonly Uint8Array[], path?: Path): Uint8Array | undefined {
  let row = leaves
  while (row.length > 1) {
    const none = new Uint8Array(row[0]!.length)
    if (path !== undefined) {
      path.siblings.push(row[path.position ^ 1] ?? none)
      path.position >>= 1
    }
    const above: Uint8Array[] = []
    for (let index = 0; index < row.length; index += 2) {
      above.push(hash(algorithm, [text('MA'), row[index]!, row[index + 1] ?? none]))
    }
    row = above
  }
  return row[0]
}

function vector(algorithm: Algorithm, leaves: readonly Uint8Array[][]): Uint8Array {
  return tree(algorithm, vectorRow(algorithm, leaves))!
}

/** The lowest row of a vector commitment: padded to a power of two, leaves at the bit-reversed index. */
function vectorRow(algorithm: Algorithm, leaves: readonly Uint8Array[][]): Uint8Array[] {
  const depth = depthOf(leaves.length)
  const row = new Array<Uint8Array>(2 ** depth).fill(bottom[algorithm])
  for (const [index, leaf] of leaves.entries()) row[reversed(index, depth)] = hash(algorithm, leaf)
  return row
}

function depthOf(leaves: number): number {
  return leaves <= 1 ? 0 : Math.ceil(Math.log2(leaves))
}

function reversed(index: number, bits: number): number {
  let result = 0
  for (let bit = 0; bit < bits; bit++) if ((index & (1 << bit)) !== 0) result |= 1 << (bits - 1 - bit)
  return result
}

const texts = new Map(['TL', 'TX', 'STIB', 'MA', 'MB'].map((name) => [name, new Uint8Array(Buffer.from(name))]))
const text = (name: string): Uint8Array => texts.get(name)!

/** Node's fastest way to compute a short hash. */
function hash(algorithm: Algorithm, parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.from(oneHash(algorithm, Bytes.concat(parts), 'binary'), 'latin1')
}

/** The padding leaf. */
const bottom = {
  'sha512-256': hash('sha512-256', [text('MB')]),
  sha256: hash('sha256', [text('MB')]),
  sha512: hash('sha512', [text('MB')]),
}
