/** The chain as programs read it: block headers and the genesis hash. */
import { Msgpack } from '@latchkey/algorand'
import type { BlockHeader, Ledger } from '@latchkey/avm'
import type { Block } from '../Block.js'
import type { History } from '../History.js'
import type { Chain } from '../IncomingTransaction.js'
import * as MapKey from '../MapKey.js'
import type { OnlineStake, State } from '../State.js'
import type { ProgramChain } from './ApplicationHost.js'
import * as avm from './avm.js'

type Options = {
  readonly chain: Chain
  readonly history: History
  readonly onlineStake: OnlineStake
  readonly state: State
}

export function chainReader({ chain, history, onlineStake, state }: Options): ProgramChain {
  return {
    latestTimestamp: () => history.last.timestamp,
    onlineStake: () => onlineStake.countedIn(history.last.round + 1n),
    // Balances of earlier rounds are not kept, so the vote of an account is that of the last round.
    voter: (key) => {
      const { status, microAlgos, incentiveEligible } = state.account(key)
      return status === 'Online' ? { microAlgos, isIncentiveEligible: incentiveEligible } : undefined
    },
    genesisHash: MapKey.bytes(chain.genesisHash),
    blockHeader: (round) => {
      const block = history.block(round)
      if (block !== undefined) return headerOf(block)
      throw unavailable(round, history.last)
    },
  }
}

/** The chain of a list of blocks, without the state. */
export function blockReader(genesisHash: MapKey.MapKey, blocks: readonly Block[]): Ledger {
  return {
    genesisHash: MapKey.bytes(genesisHash),
    blockHeader: (round) => {
      const block = blocks.find((one) => one.round === round)
      if (block !== undefined) return headerOf(block)
      throw unavailable(round, blocks.at(-1)!)
    },
  }
}

function unavailable(round: bigint, last: Block): Error {
  const { EvaluationError } = avm.get()
  return new EvaluationError(`ledger does not have entry ${round} (latest ${last.round})`)
}

/** Read once for each block: a loop that reads headers has a cost of 1 for each. */
const headers = new WeakMap<Block, BlockHeader>()

function headerOf(block: Block): BlockHeader {
  let header = headers.get(block)
  if (header === undefined) {
    header = readHeader(block.header)
    headers.set(block, header)
  }
  return header
}

/** Reads an encoded header. Absent members are zero. */
function readHeader(header: Uint8Array): BlockHeader {
  const members = membersOf(header)
  const bytes = (name: string, length: number): Uint8Array =>
    (members.get(name) as Uint8Array | undefined) ?? new Uint8Array(length)
  const uint = (name: string): bigint => (members.get(name) as bigint | undefined) ?? 0n
  return {
    seed: bytes('seed', 32),
    timestamp: uint('ts'),
    branch: bytes('prev', 32),
    branch512: bytes('prev512', 64),
    proposer: bytes('prp', 32),
    feesCollected: uint('fc'),
    bonus: uint('bi'),
    proposerPayout: uint('pp'),
    feeSink: bytes('fees', 32),
    protocol: members.get('proto') as string,
    transactionCounter: uint('tc'),
    sha512_256Commitment: bytes('txn', 32),
    sha256Commitment: bytes('txn256', 32),
    sha512Commitment: bytes('txn512', 64),
  }
}

const texts = new Set(['gen', 'proto'])

function membersOf(header: Uint8Array): Map<string, bigint | string | Uint8Array> {
  const members = new Map<string, bigint | string | Uint8Array>()
  const reader = new Msgpack.Reader(header)
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    const kind = reader.peek()
    if (texts.has(name)) members.set(name, reader.str())
    else if (kind === 0xc4) members.set(name, reader.bin().slice())
    else if (name === 'spt') reader.skip()
    else members.set(name, reader.uint())
  }
  return members
}
