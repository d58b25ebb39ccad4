/**
 * The participation keys of the node. They take part in no consensus: clients list them, and register those of an
 * account to go online. They are kept in memory only, like snapshots; the keys of the genesis always exist initially.
 */
import { randomBytes } from 'node:crypto'
import { Bytes, Ed25519, Hash, Msgpack } from '@latchkey/algorand'
import type { Participation } from '../ledger/Account.js'
import type { AccountParticipation } from '../ledger/Genesis.js'
import * as MapKey from '../ledger/MapKey.js'
import * as ParticipationKeyFile from './ParticipationKeyFile.js'
import { ParticipationError } from './SqliteFile.js'

export type ParticipationKey = AccountParticipation & { readonly id: MapKey.MapKey }

/** A node has a few. This bounds how many a client can make it keep. */
const maxKeys = 1_000
const domain = new Uint8Array(Buffer.from('PK'))
const stateProofKeyBytes = 64

export class ParticipationKeys {
  readonly #genesis: readonly AccountParticipation[]
  readonly #keys = new Map<MapKey.MapKey, ParticipationKey>()

  constructor(genesis: readonly AccountParticipation[]) {
    this.#genesis = genesis
    this.reset()
  }

  /** In no particular order, as on a node. */
  list(): ParticipationKey[] {
    return [...this.#keys.values()]
  }

  get(id: MapKey.MapKey): ParticipationKey | undefined {
    return this.#keys.get(id)
  }

  /** Returns whether the key existed. */
  delete(id: MapKey.MapKey): boolean {
    return this.#keys.delete(id)
  }

  /** Adds the key in a file created by `goal` or `algokey`, and returns its id. Throws a ParticipationError. */
  install(file: Uint8Array): MapKey.MapKey {
    const { account, keys, selectionSecret } = ParticipationKeyFile.read(file)
    return this.#add({ account, keys, id: idOf(account, keys, selectionSecret) })
  }

  /** Generates the key of an account for a range of rounds. Throws a ParticipationError. */
  generate(account: MapKey.MapKey, { first, last, dilution }: Range): MapKey.MapKey {
    const selection = Ed25519.keyPairFromSeed(randomBytes(32))
    const keys: Participation = {
      voteKey: Ed25519.keyPairFromSeed(randomBytes(32)).publicKey,
      selectionKey: selection.publicKey,
      stateProofKey: new Uint8Array(randomBytes(stateProofKeyBytes)),
      firstRound: first,
      lastRound: last,
      keyDilution: dilution || defaultDilution(first, last),
    }
    return this.#add({ account, keys, id: idOf(account, keys, selection.secretKey) })
  }

  /** Keeps only the keys of the genesis. */
  reset(): void {
    this.#keys.clear()
    for (const one of this.#genesis) this.#add({ ...one, id: idOf(one.account, one.keys, undefined) })
  }

  #add(key: ParticipationKey): MapKey.MapKey {
    if (this.#keys.has(key.id))
      throw new ParticipationError('ParticipationRegistry: cannot register duplicate participation key')
    if (this.#keys.size >= maxKeys)
      throw new ParticipationError(`the development node keeps at most ${maxKeys} participation keys`)
    this.#keys.set(key.id, key)
    return key.id
  }
}

type Range = { first: bigint; last: bigint; dilution: bigint }

/** One more than the square root of the number of rounds, like `goal`. */
function defaultDilution(first: bigint, last: bigint): bigint {
  return 1n + BigInt(Math.floor(Math.sqrt(Number(last - first))))
}

/** The hash with which nodes identify a key. It covers the secret of the selection key. */
function idOf(account: MapKey.MapKey, keys: Participation, selectionSecret: Uint8Array | undefined): MapKey.MapKey {
  const fields: [string, bigint | Uint8Array | undefined][] = [
    ['addr', MapKey.bytes(account)],
    ['fv', keys.firstRound],
    ['kd', keys.keyDilution],
    ['lv', keys.lastRound],
    ['vote-id', keys.voteKey],
    ['vrfsk', selectionSecret],
  ]
  const present = fields.filter(([, value]) => value !== undefined && value !== 0n) as [string, bigint | Uint8Array][]
  const writer = new Msgpack.Writer().mapHeader(present.length)
  for (const [name, value] of present) {
    writer.str(name)
    if (typeof value === 'bigint') writer.uint(value)
    else writer.bin(value)
  }
  return MapKey.of(Hash.sha512_256(Bytes.concat([domain, writer.bytes()])))
}
