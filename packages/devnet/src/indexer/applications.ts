/** Applications. This ledger has none. */
import type { RawResponse } from '@latchkey/http'
import { ApiError } from '../rest/ApiError.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import { uint } from '../rest/Parameters.js'
import { readNextId } from './assets.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import * as Parameters from './Parameters.js'
import * as TransactionFilter from './TransactionFilter.js'

export const applicationRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/v2/applications', handle: (call) => empty(call, 'applications', call.query.get('creator')) },
  { method: 'GET', path: '/v2/applications/{application-id}', handle: notFound },
  { method: 'GET', path: '/v2/applications/{application-id}/box', handle: boxNotFound },
  { method: 'GET', path: '/v2/applications/{application-id}/boxes', handle: noBoxes },
  { method: 'GET', path: '/v2/applications/{application-id}/logs', handle: noLogs },
  {
    method: 'GET',
    path: '/v2/accounts/{account-id}/apps-local-state',
    handle: (call) => empty(call, 'apps-local-states', call.path[0]),
  },
  {
    method: 'GET',
    path: '/v2/accounts/{account-id}/created-applications',
    handle: (call) => empty(call, 'applications', call.path[0]),
  },
]

const limits: Parameters.Limits = { default: 100n, max: 1_000n }
const boxLimits: Parameters.Limits = { default: 1_000n, max: 10_000n }
const hint = 'this ledger runs no programs'

/** The parameters are still checked. */
function empty({ ledger, query }: IndexerCall, name: string, account: string | undefined): RawResponse {
  const applicationId = query.uint('application-id')
  query.flag('include-all')
  Parameters.limit(query, limits)
  Parameters.checkInt64(applicationId)
  if (account !== undefined) Parameters.address(account, 'unable to parse creator address: ')
  readNextId(query)
  return HttpResponse.json({ [name]: [], 'current-round': ledger.last.round })
}

function readId(path: readonly string[]): bigint {
  const applicationId = uint('application-id', path[0]!)
  Parameters.checkInt64(applicationId)
  return applicationId
}

function notFound({ path }: IndexerCall): never {
  throw new ApiError(404, `no application found for application-id: ${readId(path)}`, hint)
}

function boxNotFound({ ledger, path, query }: IndexerCall): never {
  const applicationId = readId(path)
  const name = query.get('name')
  if (name === undefined) {
    throw new ApiError(400, "Invalid format for parameter name: query parameter 'name' is required")
  }
  if (!/^[a-z0-9]+:/.test(name)) {
    const form = "all arguments and box names should be of the form 'encoding:value'"
    throw new ApiError(400, `LookupApplicationBoxByIDAndName received illegal box name (${name}): ${form}`)
  }
  const where = `round=${ledger.last.round}, appid=${applicationId}, boxName=${name}`
  throw new ApiError(404, `no application found for application-id: ${where}`, hint)
}

function noBoxes({ ledger, path, query }: IndexerCall): RawResponse {
  const applicationId = readId(path)
  Parameters.limit(query, boxLimits)
  return HttpResponse.json({ 'application-id': applicationId, boxes: [], round: ledger.last.round })
}

function noLogs({ ledger, path, query }: IndexerCall): RawResponse {
  const applicationId = readId(path)
  TransactionFilter.read(query, { ignores: ['address', 'address-role', 'application-id', 'group-id'] })
  const sender = query.get('sender-address')
  if (sender !== undefined) Parameters.address(sender, 'invalid input: unable to parse address: ')
  return HttpResponse.json({ 'application-id': applicationId, 'current-round': ledger.last.round })
}
