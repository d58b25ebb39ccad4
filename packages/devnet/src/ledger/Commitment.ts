/** The three Merkle roots by which a block header commits to its transactions. */
import { hash as oneHash } from 'node:crypto'
import { Bytes, Hash } from '@latchkey/algorand'

/** One transaction of a block: its canonical bytes, and its whole entry in the block. */
export type Entry = {
  readonly transaction: Uint8Array
  readonly entry: Uint8Array
  /** The id of the transaction, if it is known. */
  readonly digest?: Uint8Array | undefined
}

/** Without transactions the first root is zero, and therefore absent. */
export type Roots = { readonly txn: Uint8Array | undefined; readonly txn256: Uint8Array; readonly txn512: Uint8Array }

type Algorithm = 'sha512-256' | 'sha256' | 'sha512'

export function roots(entries: readonly Entry[]): Roots {
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
export function ofRound(round: bigint, entries: readonly Entry[]): Partial<Roots> {
  return round === 0n ? { txn: firstRoot } : roots(entries)
}

/** The parts of a leaf. The SHA-512 root is built over the leaves of the SHA-256 root. */
function leafOf(algorithm: Algorithm, { transaction, entry, digest }: Entry): Uint8Array[] {
  const id = algorithm === 'sha512-256' ? digest : undefined
  return [text('TL'), id ?? hash(algorithm, [text('TX'), transaction]), hash(algorithm, [text('STIB'), entry])]
}

export type Proof = {
  /** The concatenated siblings on the path from the leaf to the root, with zeroes for a missing one. */
  readonly path: Uint8Array
  readonly depth: number
  /** The hash of the whole entry, which the leaf contains next to that of the transaction. */
  readonly entryHash: Uint8Array
}

/** Proves that a transaction is part of the root `txn` (SHA-512/256) or `txn256` (SHA-256). */
export function prove(algorithm: 'sha512-256' | 'sha256', entries: readonly Entry[], index: number): Proof {
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
