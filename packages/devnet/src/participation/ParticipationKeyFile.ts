/** A participation key in the format of `goal` and `algokey`: a database with one row. */
import { Msgpack } from '@latchkey/algorand'
import type { Participation } from '../ledger/Account.js'
import * as MapKey from '../ledger/MapKey.js'
import { type Column, ParticipationError, SqliteFile } from './SqliteFile.js'

export type ParticipationKeyFile = {
  readonly account: MapKey.MapKey
  readonly keys: Participation
  /** The secret of the selection key, from which the id of the key is computed. */
  readonly selectionSecret: Uint8Array
}

const table = 'ParticipationAccount'
const addressBytes = 32

/** Throws a ParticipationError. */
export function read(file: Uint8Array): ParticipationKeyFile {
  try {
    return readRow(file)
  } catch (error) {
    if (error instanceof Msgpack.DecodeError) throw new ParticipationError(error.message)
    throw error
  }
}

function readRow(file: Uint8Array): ParticipationKeyFile {
  const [row] = new SqliteFile(file).rows(table) ?? fail('unsupported participation file schema version (expected 3)')
  if (row === undefined)
    return fail('RestoreParticipation: could not read account raw data: sql: no rows in result set')
  const [parent, selection, voting, first, last, dilution, stateProof] = row
  const account = blob(parent, 'parent')
  if (account.length !== addressBytes || account.every((byte) => byte === 0)) {
    return fail('cannot install partkey with missing (zero) parent address')
  }
  const selectionKeys = members(blob(selection, 'vrf'), ['PK', 'SK'])
  return {
    account: MapKey.of(account),
    selectionSecret: sized(selectionKeys['SK'], 64, 'vrf'),
    keys: {
      voteKey: sized(members(blob(voting, 'voting'), [verifier])[verifier], 32, 'voting'),
      selectionKey: sized(selectionKeys['PK'], 32, 'vrf'),
      stateProofKey: sized(rootOf(blob(stateProof, 'stateProof')), 64, 'stateProof'),
      firstRound: integer(first),
      lastRound: integer(last),
      keyDilution: integer(dilution),
    },
  }
}

const verifier = 'OneTimeSignatureVerifier'

/** Reads the byte strings with these names from a msgpack map. */
function members(bytes: Uint8Array, names: readonly string[]): { [name: string]: Uint8Array } {
  const found: { [name: string]: Uint8Array } = {}
  const reader = new Msgpack.Reader(bytes)
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (names.includes(name)) found[name] = reader.bin()
    else reader.skip()
  }
  return found
}

/** The root of the tree of state proof keys: the only node of its last level. */
function rootOf(bytes: Uint8Array): Uint8Array | undefined {
  const reader = new Msgpack.Reader(bytes)
  if (!find(reader, 'tree') || !find(reader, 'lvls')) return undefined
  const levels = reader.arrayHeader()
  for (let level = 1; level < levels; level++) reader.skip()
  return levels > 0 && reader.arrayHeader() === 1 ? reader.bin() : undefined
}

/** Moves to the value of a name in a map. */
function find(reader: Msgpack.Reader, wanted: string): boolean {
  for (let left = reader.mapHeader(); left > 0; left--) {
    if (reader.str() === wanted) return true
    reader.skip()
  }
  return false
}

function blob(column: Column | undefined, name: string): Uint8Array {
  return column instanceof Uint8Array ? column : fail(`the participation key has no ${name}`)
}

function sized(bytes: Uint8Array | undefined, length: number, name: string): Uint8Array {
  return bytes?.length === length ? new Uint8Array(bytes) : fail(`the participation key has no valid ${name}`)
}

function integer(column: Column | undefined): bigint {
  return typeof column === 'bigint' && column >= 0n
    ? column
    : fail('the participation key has no valid range of rounds')
}

function fail(reason: string): never {
  throw new ParticipationError(reason)
}
