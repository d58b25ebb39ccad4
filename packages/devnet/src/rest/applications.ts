/** Programs and applications: the responses of a node that has none. */
import type { RawResponse } from '@latchkey/http'
import { ApiError } from './ApiError.js'
import * as HttpResponse from './HttpResponse.js'
import { address, uint } from './Parameters.js'
import type { Route, RouteContext } from './Route.js'

export const applicationRoutes: readonly Route[] = [
  { method: 'POST', path: '/v2/teal/compile', handle: () => notEnabled('/teal/compile') },
  { method: 'POST', path: '/v2/teal/disassemble', handle: () => notEnabled('/teal/disassemble') },
  { method: 'POST', path: '/v2/teal/dryrun', handle: () => notEnabled('/teal/dryrun') },
  { method: 'GET', path: '/v2/applications/{application-id}', handle: getApplication },
  { method: 'GET', path: '/v2/applications/{application-id}/boxes', handle: listBoxes },
  { method: 'GET', path: '/v2/applications/{application-id}/box', handle: getBox },
  { method: 'GET', path: '/v2/accounts/{address}/applications/{application-id}', handle: getAccountApplication },
]

function notEnabled(path: string): RawResponse {
  const setting = 'in the configuration file by setting the EnableDeveloperAPI to true'
  return HttpResponse.text(`${path} was not enabled ${setting}`, 404, 'text/plain; charset=UTF-8')
}

function getApplication({ path }: RouteContext): RawResponse {
  uint('application-id', path[0]!)
  throw new ApiError(404, 'application does not exist')
}

function listBoxes({ path }: RouteContext): RawResponse {
  uint('application-id', path[0]!)
  return HttpResponse.json({ boxes: [] })
}

function getBox({ path }: RouteContext): RawResponse {
  uint('application-id', path[0]!)
  throw new ApiError(404, 'box not found')
}

function getAccountApplication({ path }: RouteContext): RawResponse {
  address(path[0]!)
  uint('application-id', path[1]!)
  throw new ApiError(404, 'account application info not found')
}
