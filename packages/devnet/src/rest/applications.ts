/** Applications. */
import type { RawResponse } from '@latchkey/http'
import { ApiError } from './ApiError.js'
import { accountApplicationRecord, applicationJson, localJson } from './applicationEncoding.js'
import * as HttpResponse from './HttpResponse.js'
import { toMsgpack } from './HttpResponse.js'
import { address, includes, type Route, type RouteContext, uint } from './Route.js'

export const applicationRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/applications/{application-id}',
    summary: 'An application',
    handle: getApplication,
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
      return {
        'app-local-state': local && localJson(id, local),
        deleted: application === undefined ? true : undefined,
        id,
        params: hasParameters && application !== undefined ? applicationJson(application) : undefined,
      }
    }),
    'next-token': rest.length > page.length ? page.at(-1)!.toString() : undefined,
    round: last.round,
  })
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
