/** A block: its header, and its transactions as they stand in it. */
import { createHash } from 'node:crypto'
import { Hash, Msgpack, Submission } from '@latchkey/algorand'
import type { Outcome } from './apply/index.js'
import type { Candidate } from './Candidate.js'
import * as Commitment from './Commitment.js'
import * as Consensus from './Consensus.js'
import type { Chain } from './Evaluate.js'
import * as Key from './Key.js'

export type Block = {
  readonly round: bigint
  readonly timestamp: bigint
  readonly hash: Uint8Array
  /** SHA-512 of the header, which the next header commits to as well. */
  readonly hash512: Uint8Array
  readonly header: Uint8Array
  readonly members: readonly Member[]
}

/** A transaction in a block. Bytes, not objects: thousands of blocks are kept. */
export type Member = {
  readonly key: Key.Key
  /** The canonical signed transaction. */
  readonly signed: Uint8Array
  readonly outcome: Outcome
}

/** A transaction that took effect. */
export type Applied = { readonly candidate: Candidate; readonly outcome: Outcome }

export type Making = {
  chain: Chain
  previous: Pick<Block, 'hash' | 'hash512' | 'round'> | undefined
  timestamp: bigint
  transactionCount: bigint
  applied: readonly Applied[]
}

const rewardsRecalculationRound = 500_000n
const bonusMicroAlgos = 10_000_000n
/** msgpack of { 0: { n: 512 } }: the first state proof, which a development ledger never comes to make. */
const stateProofs = Uint8Array.of(0x81, 0x00, 0x81, 0xa1, 0x6e, 0xcd, 0x02, 0x00)

export function make({ chain, previous, timestamp, transactionCount, applied }: Making): Block {
  const round = previous === undefined ? 0n : previous.round + 1n
  const roots = Commitment.ofRound(
    round,
    applied.map(({ candidate, outcome }) => ({
      transaction: candidate.bytes,
      entry: encodeEntry(candidate.signed, outcome),
    })),
  )
  const header = encodeHeader([
    ['bi', previous && bonusMicroAlgos],
    ['fc', applied.reduce((sum, { candidate }) => sum + (candidate.txn.fee ?? 0n), 0n)],
    ['fees', Key.bytes(chain.feeSink)],
    ['gen', chain.genesisId],
    ['gh', Key.bytes(chain.genesisHash)],
    ['prev', previous?.hash],
    ['prev512', previous?.hash512],
    ['proto', Consensus.version],
    ['rnd', round],
    ['rwcalr', rewardsRecalculationRound],
    ['rwd', Key.bytes(chain.rewardsPool)],
    ['seed', previous?.hash ?? Key.bytes(chain.genesisHash)],
    ['spt', previous && { raw: stateProofs }],
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
    hash512: createHash('sha512').update('BH').update(header).digest(),
    header,
    members: applied.map(memberOf),
  }
}

/** Copied: what was just encoded may be a view of memory that is shared with its neighbours. */
function memberOf({ candidate, outcome }: Applied): Member {
  return { key: candidate.key, signed: candidate.signedBytes.slice(), outcome }
}

type Field = bigint | string | Uint8Array | { readonly raw: Uint8Array }

/** Names must come in order; what is absent or zero is left out. */
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
 * A signed transaction as it stands in a block: what every member of the block shares is left out, what it did is
 * added. The names that are added all come before those that are there.
 */
export function encodeEntry(signed: Submission.Submitted, outcome: Outcome): Uint8Array {
  const inside = Submission.encode({ ...signed, txn: { ...signed.txn, gen: undefined, gh: undefined } })
  const added: [string, bigint | true][] = []
  if (outcome.assetClosingAmount) added.push(['aca', outcome.assetClosingAmount])
  if (outcome.closingAmount) added.push(['ca', outcome.closingAmount])
  if (outcome.createdAssetId) added.push(['caid', outcome.createdAssetId])
  if (signed.txn.gen !== undefined) added.push(['hgi', true])
  // Four names at most are there: the number of both still fits the first byte.
  const writer = new Msgpack.Writer().mapHeader((inside[0]! & 0x0f) + added.length)
  for (const [name, value] of added) {
    writer.str(name)
    if (value === true) writer.bool(true)
    else writer.uint(value)
  }
  return writer.raw(inside.subarray(1)).bytes()
}

/** The whole block as nodes hand it out. */
export function encode({ header, members, round }: Block): Uint8Array {
  const certificate = new Msgpack.Writer()
  if (round === 0n) certificate.mapHeader(0)
  else certificate.mapHeader(1).str('rnd').uint(round)
  return new Msgpack.Writer()
    .mapHeader(2)
    .str('block')
    .raw(withMembers(header, members))
    .str('cert')
    .raw(certificate.bytes())
    .bytes()
}

/** `txns` is the last name in order. */
function withMembers(header: Uint8Array, members: readonly Member[]): Uint8Array {
  if (members.length === 0) return header
  const reader = new Msgpack.Reader(header)
  const fields = reader.mapHeader()
  const writer = new Msgpack.Writer().mapHeader(fields + 1).raw(header.subarray(reader.position))
  writer.str('txns').arrayHeader(members.length)
  for (const { signed, outcome } of members) writer.raw(encodeEntry(Submission.decodeFirst(signed).signed, outcome))
  return writer.bytes()
}

export function sizeOf({ header, members }: Block): number {
  return members.reduce((sum, { signed }) => sum + signed.length, header.length)
}
