/** The participation keys of the node. */
import { Hash, Msgpack } from '@latchkey/algorand'
import type { RawAnswer } from '@latchkey/http'
import * as MapKey from '../ledger/MapKey.js'
import type { ParticipationKey } from '../participation/ParticipationKeys.js'
import { ParticipationError } from '../participation/SqliteFile.js'
import { ApiError } from './ApiError.js'
import type { Value } from './HttpResponse.js'
import * as HttpResponse from './HttpResponse.js'
import { address, digest, type Query, type Route, type RouteContext } from './Route.js'

export const participationRoutes: readonly Route[] = [
  { method: 'GET', path: '/v2/participation', summary: 'The participation keys of the node', handle: list },
  { method: 'POST', path: '/v2/participation', summary: 'Adds a participation key', handle: install },
  {
    method: 'POST',
    path: '/v2/participation/generate/{address}',
    summary: 'Creates a participation key',
    query: ['first', 'last', 'dilution'],
    handle: generate,
  },
  { method: 'GET', path: '/v2/participation/{participation-id}', summary: 'A participation key', handle: getOne },
  {
    method: 'POST',
    path: '/v2/participation/{participation-id}',
    summary: 'Adds state proof keys to a participation key',
    handle: append,
  },
  {
    method: 'DELETE',
    path: '/v2/participation/{participation-id}',
    summary: 'Removes a participation key',
    handle: remove,
  },
]

/** A node without keys answers null, which clients treat as an empty list. */
function list({ node }: RouteContext): RawAnswer {
  const keys = node.participation.list()
  return HttpResponse.json(keys.length === 0 ? null : keys.map(keyJson))
}

function getOne({ node, path }: RouteContext): RawAnswer {
  const key = node.participation.get(participationId(path[0]!))
  if (key === undefined) throw new ApiError(404, 'the participation ID was not found')
  return HttpResponse.json(keyJson(key))
}

function remove({ node, path }: RouteContext): RawAnswer {
  if (!node.participation.delete(participationId(path[0]!))) throw new ApiError(404, 'participation id not found')
  return HttpResponse.empty()
}

/** State proofs are not made here, so the keys are read and not kept. */
async function append({ node, path, request }: RouteContext): Promise<RawAnswer> {
  const id = participationId(path[0]!)
  if (stateProofKeyCount(await request.body()) === 0) {
    throw new ApiError(400, 'empty request, please attach keys to request body')
  }
  if (node.participation.get(id) === undefined) throw new ApiError(500, 'the participation ID was not found')
  return HttpResponse.empty()
}

/** Reads a list of keys with their rounds. As on a node, an empty map is an empty list. */
function stateProofKeyCount(body: Buffer): number {
  const unreadable = (reason: string) => new ApiError(400, `unable to parse keys from body: ${reason}`)
  if (body.length === 0) throw unreadable('EOF')
  const reader = new Msgpack.Reader(body)
  try {
    if (reader.tryNil()) return 0
    if (!reader.isArray() && reader.mapHeader() === 0) return 0
    const count = reader.arrayHeader()
    for (let left = count; left > 0; left--) readStateProofKey(reader)
    return count
  } catch (error) {
    if (error instanceof Msgpack.DecodeError) throw unreadable(`msgpack decode error: ${error.message}`)
    throw error
  }
}

function readStateProofKey(reader: Msgpack.Reader): void {
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name === 'rnd') reader.uint()
    else if (name === 'key') readSigner(reader)
    else throw unknownField(name)
  }
}

function readSigner(reader: Msgpack.Reader): void {
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name !== 'pk' && name !== 'sk') throw unknownField(name)
    reader.bin()
  }
}

function unknownField(name: string): Msgpack.DecodeError {
  return new Msgpack.DecodeError(
    `no matching struct field found when decoding stream map with key ${name.slice(0, 100)}`,
  )
}

async function install({ node, request }: RouteContext): Promise<RawAnswer> {
  const body = await request.body()
  if (body.length === 0) throw new ApiError(400, 'payload was of zero length')
  return HttpResponse.json({ partId: Hash.toText(MapKey.bytes(orBadRequest(() => node.participation.install(body)))) })
}

/** A node answers before it has generated the key, and only logs a failure. */
function generate({ node, path, query }: RouteContext): RawAnswer {
  const account = address(path[0]!)
  const dilution = query.uint('dilution') ?? 0n
  const first = required(query, 'first')
  const last = required(query, 'last')
  if (first <= last) orBadRequest(() => node.participation.generate(account, { first, last, dilution }))
  return HttpResponse.text('{}', 200, 'text/plain; charset=UTF-8')
}

function required(query: Query, name: string): bigint {
  const value = query.uint(name)
  if (value !== undefined) return value
  throw new ApiError(400, `Invalid format for parameter ${name}: query parameter '${name}' is required`)
}

function orBadRequest<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof ParticipationError) throw new ApiError(400, error.message)
    throw error
  }
}

function participationId(text: string): MapKey.MapKey {
  const id = digest(text)
  if (id !== undefined) return id
  throw new ApiError(400, `attempted to decode a string which was not a participation id: "${text}"`)
}

function keyJson({ id, account, keys }: ParticipationKey): Value {
  return {
    address: MapKey.address(account),
    id: Hash.toText(MapKey.bytes(id)),
    key: {
      'selection-participation-key': keys.selectionKey,
      'state-proof-key': keys.stateProofKey,
      'vote-first-valid': keys.firstRound,
      'vote-key-dilution': keys.keyDilution,
      'vote-last-valid': keys.lastRound,
      'vote-participation-key': keys.voteKey,
    },
  }
}
