/** Blocks in the format of an indexer. */
import { Address, Bytes, Msgpack } from '@latchkey/algorand'
import type * as Block from '../ledger/Block.js'
import * as MapKey from '../ledger/MapKey.js'
import * as StateProofVoters from '../ledger/StateProofVoters.js'
import type { Value } from '../rest/HttpResponse.js'

export type Members = { readonly [name: string]: Value | undefined }

/** Omits the transactions. */
export function blockJson(block: Block.Block): Members {
  const { numbers, bytes, texts, voters } = readHeader(block.header)
  const number = (name: string): bigint => numbers.get(name) ?? 0n
  const hash = (name: string): Uint8Array => bytes.get(name) ?? MapKey.bytes(MapKey.zero)
  return {
    bonus: numbers.get('bi'),
    'fees-collected': numbers.get('fc'),
    'genesis-hash': hash('gh'),
    'genesis-id': texts.get('gen') ?? '',
    'previous-block-hash': hash('prev'),
    'previous-block-hash-512': nonZero(bytes.get('prev512')),
    rewards: {
      'fee-sink': Address.encode(hash('fees')),
      'rewards-calculation-round': number('rwcalr'),
      'rewards-level': number('earn'),
      'rewards-pool': Address.encode(hash('rwd')),
      'rewards-rate': number('rate'),
      'rewards-residue': number('frac'),
    },
    round: block.round,
    seed: hash('seed'),
    'state-proof-tracking': voters === undefined ? [] : [stateProofJson(voters)],
    timestamp: block.timestamp,
    'transactions-root': hash('txn'),
    'transactions-root-sha256': hash('txn256'),
    'transactions-root-sha512': nonZero(bytes.get('txn512')),
    'txn-counter': number('tc'),
    'upgrade-state': {
      'current-protocol': texts.get('proto') ?? '',
      'next-protocol-approvals': 0,
      'next-protocol-switch-on': 0,
      'next-protocol-vote-before': 0,
    },
    'upgrade-vote': { 'upgrade-approve': false, 'upgrade-delay': 0 },
  }
}

function stateProofJson({ commitment, microAlgos }: StateProofVoters.Voters): Members {
  return {
    'next-round': StateProofVoters.nextProofRound,
    'online-total-weight': microAlgos,
    type: 0,
    'voters-commitment': commitment,
  }
}

type Header = {
  readonly numbers: ReadonlyMap<string, bigint>
  readonly bytes: ReadonlyMap<string, Uint8Array>
  readonly texts: ReadonlyMap<string, string>
  readonly voters: StateProofVoters.Voters | undefined
}

const byteNames = ['fees', 'gh', 'prev', 'prev512', 'rwd', 'seed', 'txn', 'txn256', 'txn512']
const textNames = ['gen', 'proto']
const numberNames = ['bi', 'earn', 'fc', 'frac', 'rate', 'rnd', 'rwcalr', 'tc', 'ts']

function readHeader(header: Uint8Array): Header {
  const numbers = new Map<string, bigint>()
  const bytes = new Map<string, Uint8Array>()
  const texts = new Map<string, string>()
  let voters: StateProofVoters.Voters | undefined
  const reader = new Msgpack.Reader(header)
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (byteNames.includes(name)) bytes.set(name, reader.bin())
    else if (textNames.includes(name)) texts.set(name, reader.str())
    else if (numberNames.includes(name)) numbers.set(name, reader.uint())
    else if (name === 'spt') voters = StateProofVoters.decode(reader)
    else reader.skip()
  }
  return { numbers, bytes, texts, voters }
}

function nonZero(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes === undefined || Bytes.isZero(bytes) ? undefined : bytes
}
