/** The boxes of applications. */
import type { RawResponse } from '@latchkey/http'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import * as BoxName from './BoxName.js'
import * as HttpResponse from './HttpResponse.js'
import { includes, type Route, type RouteContext, uint } from './Route.js'

export const boxRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/applications/{application-id}/boxes',
    summary: 'The boxes of an application, in pages',
    query: ['limit', 'max', 'next', 'prefix', 'round', 'include'],
    handle: listBoxes,
  },
  {
    method: 'GET',
    path: '/v2/applications/{application-id}/box',
    summary: 'A box of an application',
    query: ['name'],
    handle: getBox,
  },
]

/** A node's default of `MaxAPIBoxPerApplication`. */
const maxBoxes = 100_000n
/** The bytes of names and values in one page, where a name counts with its key in a node's database. */
const maxPageBytes = 1_000_000
const keyBytes = 11

type Box = readonly [name: MapKey.MapKey, value: Uint8Array]

function listBoxes({ path, query, node }: RouteContext): RawResponse {
  const id = uint('application-id', path[0]!)
  const limit = query.uint('limit') ?? 0n
  const max = query.uint('max') ?? 0n
  const round = query.uint('round')
  const [next, prefix] = [query.get('next'), query.get('prefix')]
  const { ledger } = node
  const last = ledger.last.round
  if (round !== undefined && round > last) throw new ApiError(400, 'given round is greater than the latest round')
  const hasValues = includes(query, 'values')
  const isPaged = limit !== 0n || next !== undefined || round !== undefined || (prefix ?? '') !== '' || hasValues
  if (!isPaged) return listAll(ledger, id, max)
  const after = next === undefined || next === '' ? undefined : readName(next, 'invalid next token: ')
  const start = prefix === undefined || prefix === '' ? '' : readName(prefix, 'invalid prefix: ')
  const rest = boxesAt(ledger, id, round ?? last).filter(
    ([name]) => name.startsWith(start) && (after === undefined || name > after),
  )
  const page = pageOf(rest, limit === 0n || limit > maxBoxes ? maxBoxes : limit, hasValues)
  return HttpResponse.json({
    boxes: page.map(([name, value]) => ({ name: MapKey.bytes(name), value: hasValues ? value : undefined })),
    'next-token': page.length < rest.length ? nextToken(page.at(-1)![0]) : undefined,
    round: round ?? last,
  })
}

/** All names at once, unless there are more than the client or the node permits. */
function listAll({ state }: Ledger, id: bigint, max: bigint): RawResponse {
  const names = [...state.boxesOf(id).keys()].sort()
  const most = max === 0n || max > maxBoxes ? maxBoxes + 1n : max
  if (BigInt(names.length) > most) {
    const data = { max, 'max-api-box-per-application': maxBoxes, 'total-boxes': names.length }
    throw new ApiError(400, 'Result limit exceeded', 'use limit and next to get them in pages', [], data)
  }
  return HttpResponse.json({ boxes: names.map((name) => ({ name: MapKey.bytes(name) })) })
}

/** The boxes after a round, by name: those of now, without the changes of later rounds. */
function boxesAt({ state, deltas, last }: Ledger, id: bigint, round: bigint): Box[] {
  const boxes = new Map(state.boxesOf(id))
  for (let later = last.round; later > round; later--) {
    const delta = deltas.get(later)
    if (delta === undefined) {
      throw new ApiError(400, 'given round is no longer available; use a more recent round')
    }
    for (const { appId, name, before } of delta.boxes) {
      if (appId !== id) continue
      if (before === undefined) boxes.delete(name)
      else boxes.set(name, before)
    }
  }
  return [...boxes].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** A page has at least one box, however large it is. */
function pageOf(boxes: readonly Box[], limit: bigint, hasValues: boolean): readonly Box[] {
  let bytes = 0
  const end = boxes.findIndex(([name, value], index) => {
    bytes += keyBytes + name.length + (hasValues ? value.length : 0)
    return BigInt(index) >= limit || (bytes > maxPageBytes && index > 0)
  })
  return end === -1 ? boxes : boxes.slice(0, end)
}

/** The last name of a page. The next page begins after it. */
function nextToken(name: MapKey.MapKey): string {
  return `b64:${Buffer.from(MapKey.bytes(name)).toString('base64')}`
}

function getBox({ path, query, node }: RouteContext): RawResponse {
  const id = uint('application-id', path[0]!)
  const name = query.get('name')
  if (name === undefined)
    throw new ApiError(400, "Invalid format for parameter name: query parameter 'name' is required")
  const key = readName(name, '')
  const value = node.ledger.state.box(id, key)
  if (value === undefined) throw new ApiError(404, 'box not found')
  return HttpResponse.json({ name: MapKey.bytes(key), round: node.ledger.last.round, value })
}

/** Names are written as an encoding and a value. */
function readName(name: string, prefix: string): MapKey.MapKey {
  const decoded = BoxName.decode(name)
  if ('problem' in decoded) throw new ApiError(400, prefix + decoded.problem)
  return MapKey.of(decoded.bytes)
}
