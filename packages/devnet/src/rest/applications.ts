/** Applications and their boxes. */
import type { RawResponse } from '@latchkey/http'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import { accountApplicationRecord, applicationJson, localJson } from './applicationEncoding.js'
import * as BoxName from './BoxName.js'
import * as HttpResponse from './HttpResponse.js'
import { toMsgpack } from './HttpResponse.js'
import { address, type Route, type RouteContext, uint } from './Route.js'

export const applicationRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/applications/{application-id}',
    summary: 'An application',
    handle: getApplication,
  },
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
  {
    method: 'GET',
    path: '/v2/accounts/{address}/applications',
    summary: 'The applications of an account, in pages',
    query: ['limit', 'next', 'include'],
    handle: listApplications,
  },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/applications/{application-id}',
    summary: 'An application of an account',
    query: ['format'],
    handle: getAccountApplication,
  },
]

/** The maximum number of applications in one response of a node: more without their parameters, which are large. */
const maxBatch = 1_000n
const maxBatchWithoutParameters = 100_000n

function getApplication({ path, node }: RouteContext): RawResponse {
  const id = uint('application-id', path[0]!)
  const application = node.ledger.state.application(id)
  if (application === undefined) throw new ApiError(404, 'application does not exist')
  return HttpResponse.json({ id, params: applicationJson(application) })
}

function listBoxes({ path, query, node }: RouteContext): RawResponse {
  const id = uint('application-id', path[0]!)
  const limit = query.uint('limit') ?? 0n
  const round = query.uint('round')
  const max = query.uint('max') ?? 0n
  const [next, prefix] = [query.get('next'), query.get('prefix')]
  const last = node.ledger.last.round
  if (round !== undefined && round > last) throw new ApiError(400, 'given round is greater than the latest round')
  const after = next === undefined || next === '' ? undefined : readName(next, 'invalid next token: ')
  const start = prefix === undefined || prefix === '' ? '' : readName(prefix, 'invalid prefix: ')
  const hasValues = includes(query, 'values')
  const isPaged = limit !== 0n || next !== undefined || round !== undefined || start !== '' || hasValues
  const boxes = [...node.ledger.state.boxesOf(id)]
    .filter(([name]) => name.startsWith(start) && (after === undefined || name >= after))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const most = isPaged ? (limit === 0n ? maxBatch : limit) : max
  if (!isPaged && max !== 0n && BigInt(boxes.length) > max) {
    throw new ApiError(400, 'Result limit exceeded', 'use limit and next to get them in pages')
  }
  const page = most === 0n || most > BigInt(boxes.length) ? boxes : boxes.slice(0, Number(most))
  return HttpResponse.json({
    boxes: page.map(([name, value]) => ({ name: MapKey.bytes(name), value: hasValues ? value : undefined })),
    'next-token': isPaged && page.length < boxes.length ? nextToken(boxes[page.length]![0]) : undefined,
    round: isPaged ? last : undefined,
  })
}

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

function listApplications({ path, query, node }: RouteContext): RawResponse {
  const key = address(path[0]!)
  const hasParameters = includes(query, 'params')
  const { limit, after } = query.page(hasParameters ? maxBatch : maxBatchWithoutParameters, 'applications')
  const { state, last } = node.ledger
  const ids = [...new Set([...state.appsCreatedBy(key), ...state.appsOptedInBy(key)])]
  const rest = ids.filter((id) => id > after).sort((a, b) => (a < b ? -1 : 1))
  const page = rest.slice(0, Number(limit))
  return HttpResponse.json({
    'application-resources': page.map((id) => {
      const [local, application] = [state.local(key, id), state.application(id)]
      const isOwn = application?.params.creator === key
      return {
        'app-local-state': local && localJson(id, local),
        id,
        params: isOwn && hasParameters ? applicationJson(application) : undefined,
      }
    }),
    'next-token': rest.length > page.length ? page.at(-1)!.toString() : undefined,
    round: last.round,
  })
}

function includes(query: RouteContext['query'], what: string): boolean {
  return (query.get('include') ?? '').split(',').includes(what)
}

function getAccountApplication({ path, query, node }: RouteContext): RawResponse {
  const key = address(path[0]!)
  const id = uint('application-id', path[1]!)
  const format = query.format()
  const { state, last } = node.ledger
  const [local, application] = [state.local(key, id), state.application(id)]
  const created = application?.params.creator === key ? application : undefined
  if (local === undefined && created === undefined) throw new ApiError(404, 'account application info not found')
  if (format === 'msgpack') return HttpResponse.bytes(toMsgpack(accountApplicationRecord(local, created)))
  return HttpResponse.json({
    'app-local-state': local && localJson(id, local),
    'created-app': created && applicationJson(created),
    round: last.round,
  })
}

/** Names are written as an encoding and a value. */
function readName(name: string, prefix: string): MapKey.MapKey {
  const decoded = BoxName.decode(name)
  if ('problem' in decoded) throw new ApiError(400, prefix + decoded.problem)
  return MapKey.of(decoded.bytes)
}
