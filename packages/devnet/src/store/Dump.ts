/**
 * A ledger at one moment as one JSON document, and back. Any reader of JSON takes it without loss: integers are decimal
 * text, addresses and ids as people know them, other bytes base64. One account, asset or block is one line.
 */
import { createHash } from 'node:crypto'
import { Hash, Submission } from '@latchkey/algorand'
import * as Candidate from '../ledger/Candidate.js'
import * as Consensus from '../ledger/Consensus.js'
import type { Genesis } from '../ledger/Genesis.js'
import * as Key from '../ledger/Key.js'
import type { Snapshot } from '../ledger/Snapshot.js'
import { TransactionRejectedError } from '../ledger/TransactionRejectedError.js'
import * as BlockJson from './dump/BlockJson.js'
import * as ClockJson from './dump/ClockJson.js'
import { base64, DumpError, Member } from './dump/Member.js'
import * as StateJson from './dump/StateJson.js'

export { DumpError } from './dump/Member.js'

export const format = 'latchkey-devnet'
export const version = 1

export function write(moment: Snapshot, genesisHash: Key.Key): string {
  try {
    return textOf([
      ['format', format],
      ['version', version],
      ['genesisHash', base64(Key.bytes(genesisHash))],
      ...present(moment),
      ['blocks', moment.blocks.map(BlockJson.toJson)],
    ])
  } catch (error) {
    if (error instanceof RangeError && /string length/.test(error.message))
      throw new DumpError('document', 'would be larger than a text can be')
    throw error
  }
}

/**
 * One short text that is the same for ledgers that will answer whatever comes in the same way. How many of the blocks
 * before the last are still kept does not count.
 */
export function hash(moment: Snapshot): string {
  const lastBlock = base64(moment.blocks.at(-1)!.hash)
  const text = textOf([['format', `${format} state ${version}`], ...present(moment), ['lastBlock', lastBlock]])
  return Hash.toText(createHash('sha512-256').update(text).digest())
}

type Part = readonly [name: string, value: string | number | object | readonly object[]]

/** All but the past. */
function present({ state, pending, clock }: Snapshot): Part[] {
  return [
    ['clock', ClockJson.toJson(clock)],
    ['transactionCount', state.transactionCount.toString()],
    ...Object.entries(StateJson.toJson(state)),
    ['pending', pending.map(base64)],
  ]
}

function textOf(parts: readonly Part[]): string {
  return `{\n${parts.map(([name, value]) => `${JSON.stringify(name)}: ${lines(value)}`).join(',\n')}\n}\n`
}

function lines(value: Part[1]): string {
  if (!Array.isArray(value) || value.length === 0) return JSON.stringify(value)
  return `[\n${value.map((one) => JSON.stringify(one)).join(',\n')}\n]`
}

const names = ['format', 'version', 'genesisHash', 'clock', 'transactionCount', 'pending', 'blocks'] as const

/** The moment, whole and consistent, or a DumpError that names what is not. */
export function read(text: string, genesis: Genesis): Snapshot {
  const document = parse(text)
  checkVersion(document)
  const members = new Member(document).object([...names, ...StateJson.names])
  const { genesisHash } = genesis.chain
  if (members.genesisHash.key() !== genesisHash) {
    const expected = base64(Key.bytes(genesisHash))
    members.genesisHash.refuse(`is not ${expected}: the dump is of a devnet with other accounts at its beginning`)
  }
  const { blocks, transactionCount } = BlockJson.chainFromJson(members.blocks, genesisHash)
  if (members.transactionCount.unsigned() !== transactionCount) {
    members.transactionCount.refuse(`is not that of the last block, ${transactionCount}`)
  }
  const lastRound = blocks.at(-1)!.round
  return {
    state: StateJson.fromJson(members, { genesis, transactionCount, lastRound }),
    blocks,
    pending: members.pending.list().map((member) => groupOf(member, genesis)),
    clock: ClockJson.fromJson(members.clock),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DumpError('document', `is not JSON: ${(error as Error).message}`)
  }
}

/** First of all: what a later version has in it is not ours to judge. */
function checkVersion(document: unknown): void {
  const { format: itsFormat, version: itsVersion } = (document ?? {}) as { format?: unknown; version?: unknown }
  if (itsFormat !== format) throw new DumpError('document.format', `is not ${format}: this is no dump of a devnet`)
  if (itsVersion !== version) {
    throw new DumpError('document.version', `is not ${version}: the dump was made by another version of this program`)
  }
}

/** As the ledger would take it from whoever sends it, but for what depends on its state. */
function groupOf(member: Member, { chain }: Genesis): Uint8Array {
  const bytes = member.bytes()
  return BlockJson.decoding(member, () => {
    const group = Submission.decodeAll(bytes, Consensus.maxGroupSize)
    if (group.length < 1 || group.length > Consensus.maxGroupSize) member.refuse('is not a group of transactions')
    if (!Buffer.concat(group.map(Submission.encode)).equals(bytes)) member.refuse('is not in canonical form')
    try {
      Candidate.checkSignatures(Candidate.prepare(group, chain), false)
    } catch (error) {
      if (error instanceof TransactionRejectedError) member.refuse(`would be rejected: ${error.reason}`)
      throw error
    }
    return bytes
  })
}
