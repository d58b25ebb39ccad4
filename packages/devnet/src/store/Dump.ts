/**
 * Reads and writes a snapshot of the ledger as one JSON document. Any JSON parser reads it without loss: integers are
 * decimal strings, addresses and ids in their usual form, other bytes base64. Each account, asset and block is one
 * line.
 */
import { createHash } from 'node:crypto'
import { Hash, Submission } from '@latchkey/algorand'
import { DumpError } from '../errors.js'
import type { Block } from '../ledger/Block.js'
import * as Consensus from '../ledger/Consensus.js'
import type { Genesis } from '../ledger/Genesis.js'
import * as IncomingTransaction from '../ledger/IncomingTransaction.js'
import type { Snapshot } from '../ledger/LedgerChange.js'
import { LedgerError } from '../ledger/LedgerError.js'
import * as MapKey from '../ledger/MapKey.js'
import * as avm from '../ledger/programs/avm.js'
import { blockReader } from '../ledger/programs/chainReader.js'
import * as BlockJson from './dump/BlockJson.js'
import { base64, JsonCursor } from './dump/JsonCursor.js'
import * as LifetimesJson from './dump/LifetimesJson.js'
import * as StateJson from './dump/StateJson.js'

export const format = 'latchkey-devnet'
/** Version 2 has applications. A dump without any is written in version 1, which earlier programs read. */
export const version = 1
const versionWithPrograms = 2

export function write(snapshot: Snapshot, genesisHash: MapKey.MapKey): string {
  try {
    return textOf([
      ['format', format],
      ['version', hasPrograms(snapshot) ? versionWithPrograms : version],
      ['genesisHash', base64(MapKey.bytes(genesisHash))],
      ...currentState(snapshot),
      ['blocks', snapshot.blocks.map(BlockJson.toJson)],
      ...(snapshot.lifetimes === undefined ? [] : Object.entries(LifetimesJson.toJson(snapshot.lifetimes))),
    ])
  } catch (error) {
    // The calls here throw a RangeError only if a string gets too long.
    if (!(error instanceof RangeError)) throw error
    throw new DumpError('dump_too_large', 'the dump would be larger than a string can be', { cause: error })
  }
}

function hasPrograms({ state: { applications, locals, boxes }, blocks }: Snapshot): boolean {
  if (applications.size + locals.size + boxes.size > 0) return true
  return blocks.some(({ transactions }) => transactions.some(({ outcome }) => outcome.createdAppId || outcome.delta))
}

/**
 * Equal for two ledgers that respond identically to every later request. The number of kept earlier blocks does not
 * count.
 */
export function hash(snapshot: Snapshot): string {
  const lastBlock = base64(snapshot.blocks.at(-1)!.hash)
  const text = textOf([['format', `${format} state ${version}`], ...currentState(snapshot), ['lastBlock', lastBlock]])
  return Hash.toText(createHash('sha512-256').update(text).digest())
}

type Part = readonly [name: string, value: string | number | object | readonly object[]]

/** Everything except earlier blocks. */
function currentState({ state, pending, clock }: Snapshot): Part[] {
  return [
    ['clock', StateJson.clockToJson(clock)],
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

/** Returns a complete and consistent snapshot, and otherwise throws a DumpError that names the invalid member. */
export function read(text: string, genesis: Genesis): Snapshot {
  const document = parse(text)
  checkVersion(document)
  const members = new JsonCursor(document).object(
    [...names, ...StateJson.names],
    [...StateJson.optionalNames, ...LifetimesJson.names],
  )
  const { genesisHash } = genesis.chain
  if (members.genesisHash.key() !== genesisHash) {
    const expected = base64(MapKey.bytes(genesisHash))
    throw new DumpError(
      'dump_network',
      `document.genesisHash is not ${expected}: the dump is of a devnet with another number of accounts or genesis hash, or of a version with another genesis`,
      { member: 'document.genesisHash' },
    )
  }
  const { blocks, transactionCount } = BlockJson.chainFromJson(members.blocks, genesisHash)
  if (members.transactionCount.unsigned() !== transactionCount) {
    members.transactionCount.fail(`is not that of the last block, ${transactionCount}`)
  }
  const lastRound = blocks.at(-1)!.round
  return {
    state: StateJson.fromJson(members, { genesis, transactionCount, lastRound }),
    blocks,
    pending: members.pending.list().map((member) => groupOf(member, genesis, blocks)),
    clock: StateJson.clockFromJson(members.clock),
    lifetimes: LifetimesJson.fromJson(members, lastRound),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DumpError('invalid_dump', `document is not JSON: ${(error as Error).message}`, {
      member: 'document',
      cause: error,
    })
  }
}

/** Checked first, because the members of another version are unknown. */
function checkVersion(document: unknown): void {
  const { format: itsFormat, version: itsVersion } = (document ?? {}) as { format?: unknown; version?: unknown }
  if (itsFormat !== format) {
    const message = `document.format is not ${format}: this is not the dump of a devnet`
    throw new DumpError('invalid_dump', message, { member: 'document.format' })
  }
  if (itsVersion !== version && itsVersion !== versionWithPrograms) {
    const message = `document.version is neither ${version} nor ${versionWithPrograms}: the dump was written by another version`
    throw new DumpError('dump_version', message, { member: 'document.version' })
  }
}

/** Checks a group as on submission, except for checks that depend on the state. */
function groupOf(member: JsonCursor, { chain }: Genesis, blocks: readonly Block[]): Uint8Array {
  const bytes = member.bytes()
  return BlockJson.decoding(member, () => {
    const group = Submission.decodeAll(bytes, Consensus.maxGroupSize)
    if (group.length < 1 || group.length > Consensus.maxGroupSize) member.fail('is not a group of transactions')
    if (!Buffer.concat(group.map((one) => one.bytes)).equals(bytes)) member.fail('is not in canonical form')
    try {
      const reader = blockReader(chain.genesisHash, blocks)
      IncomingTransaction.checkSignatures(IncomingTransaction.prepare(group, chain), { chain: reader })
    } catch (error) {
      if (error instanceof LedgerError) member.fail(`would be rejected: ${error.message}`)
      // Without programs, only a signature that libsodium refuses needs them.
      const hasPrograms = group.some(({ signed }) => signed.lsig !== undefined || signed.txn.type === 'appl')
      if (avm.isNotLoaded(error) && !hasPrograms) member.fail('would be rejected: a signature is not valid')
      throw error
    }
    return bytes
  })
}
