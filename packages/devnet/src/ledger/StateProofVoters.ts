/**
 * The voters of state proofs: the header of every 256th block commits to the accounts that were online 16 rounds before,
 * so that they could sign a proof of the blocks that follow. A development ledger makes no proofs.
 */
import { Bytes, Msgpack } from '@latchkey/algorand'
import type { Account } from './Account.js'
import type { MapKey } from './MapKey.js'
import type { State } from './State.js'
import { sumhash512 } from './sumhash512.js'

/** The part of a header about state proofs, without the round of the next one. */
export type Voters = {
  /** The root of a vector commitment, or nothing without voters. */
  readonly commitment: Uint8Array | undefined
  /** The Algos of all voters. */
  readonly microAlgos: bigint
}

const interval = 256n
const lookbackRounds = 16n
const maxVoters = 1_024
/** The rounds that a key of a voter signs in. */
const keyLifetimeRounds = 256n
/** The first proof, which stays the next one. */
export const nextProofRound = 512n

/** Keeps the voters for the next block that commits to them. */
export class StateProofVoters {
  #next: Voters | undefined

  /** Selects the voters among the accounts after a round, if a block commits to them. */
  record(round: bigint, state: State): void {
    if ((round + lookbackRounds) % interval === 0n) this.#next = select(state.onlineAccounts(), round + lookbackRounds)
  }

  /** Restarts from a state without its history, which is used for the next commitment if it is near. */
  restart(round: bigint, state: State): void {
    const commitmentRound = (round / interval + 1n) * interval
    const isNear = round >= commitmentRound - lookbackRounds
    this.#next = isNear ? select(state.onlineAccounts(), commitmentRound) : undefined
  }

  /** The voters that the header of a round commits to. */
  committedIn(round: bigint): Voters | undefined {
    return round > 0n && round % interval === 0n ? this.#next : undefined
  }
}

type Voter = readonly [key: MapKey, account: Account]

/** Selects the voters for a commitment: accounts whose keys are valid until the next one, those with most Algos first. */
function select(accounts: Iterable<Voter>, round: bigint): Voters {
  const lastRound = round + interval
  const voters = [...accounts].filter(
    ([, { participation: keys }]) => keys !== undefined && keys.lastRound >= lastRound,
  )
  voters.sort(([oneKey, one], [otherKey, other]) => {
    if (one.microAlgos !== other.microAlgos) return one.microAlgos > other.microAlgos ? -1 : 1
    return oneKey > otherKey ? -1 : 1
  })
  return {
    commitment: voters.length === 0 ? undefined : vectorRoot(voters.slice(0, maxVoters).map(leafOf)),
    microAlgos: voters.reduce((sum, [, { microAlgos }]) => sum + microAlgos, 0n),
  }
}

/** The root of a vector commitment: leaves at their bit-reversed index, padded to a power of two. */
function vectorRoot(leaves: readonly Uint8Array[]): Uint8Array {
  const depth = Math.ceil(Math.log2(leaves.length))
  let row = new Array<Uint8Array>(2 ** depth).fill(sumhash512(Bytes.fromUtf8('MB')))
  for (const [index, leaf] of leaves.entries()) {
    let position = 0
    for (let bit = 0; bit < depth; bit++) position |= ((index >> bit) & 1) << (depth - 1 - bit)
    row[position] = leaf
  }
  while (row.length > 1) {
    const below = row
    row = Array.from({ length: below.length / 2 }, (_, index) =>
      sumhash512(Bytes.concat([Bytes.fromUtf8('MA'), below[2 * index]!, below[2 * index + 1]!])),
    )
  }
  return row[0]!
}

function leafOf([, { microAlgos, participation }]: Voter): Uint8Array {
  const numbers = Buffer.alloc(16)
  numbers.writeBigUInt64LE(microAlgos, 0)
  numbers.writeBigUInt64LE(keyLifetimeRounds, 8)
  return sumhash512(Bytes.concat([Bytes.fromUtf8('spp'), numbers, participation!.stateProofKey]))
}

/** Encodes the member `spt` of a header. */
export function encode(voters: Voters | undefined): Uint8Array {
  const { commitment, microAlgos = 0n } = voters ?? {}
  const writer = new Msgpack.Writer().mapHeader(1).uint(0n)
  writer.mapHeader(1 + Number(microAlgos > 0n) + Number(commitment !== undefined))
  writer.str('n').uint(nextProofRound)
  if (microAlgos > 0n) writer.str('t').uint(microAlgos)
  if (commitment !== undefined) writer.str('v').bin(commitment)
  return writer.bytes().slice()
}

/** Reads the member `spt` of a header. */
export function decode(reader: Msgpack.Reader): Voters {
  reader.mapHeader()
  reader.uint()
  let [commitment, microAlgos]: [Uint8Array | undefined, bigint] = [undefined, 0n]
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name === 'v') commitment = reader.bin()
    else if (name === 't') microAlgos = reader.uint()
    else reader.skip()
  }
  return { commitment, microAlgos }
}
