/** Applications. This ledger has none. */
import { Address } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import { ApiError } from './ApiError.js'
import * as HttpResponse from './HttpResponse.js'
import { address, problemOfUint, uint } from './Parameters.js'
import type { Route, RouteContext } from './Route.js'

export const applicationRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/applications/{application-id}',
    summary: 'An application: none exists',
    handle: getApplication,
  },
  {
    method: 'GET',
    path: '/v2/applications/{application-id}/boxes',
    summary: 'The boxes of an application: none',
    query: ['limit', 'max', 'next', 'prefix', 'round', 'include'],
    handle: listBoxes,
  },
  {
    method: 'GET',
    path: '/v2/applications/{application-id}/box',
    summary: 'A box of an application: none exists',
    query: ['name'],
    handle: getBox,
  },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/applications',
    summary: 'The applications of an account: none',
    query: ['limit', 'next', 'include'],
    handle: listApplications,
  },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/applications/{application-id}',
    summary: 'An application of an account: none exists',
    query: ['format'],
    handle: getAccountApplication,
  },
]

/** The maximum number of applications in one response of a node: more without their parameters, which are large. */
const maxBatch = 1_000n
const maxBatchWithoutParameters = 100_000n

function getApplication({ path }: RouteContext): RawResponse {
  uint('application-id', path[0]!)
  throw new ApiError(404, 'application does not exist')
}

function listBoxes({ path, query, node }: RouteContext): RawResponse {
  uint('application-id', path[0]!)
  const limit = query.uint('limit') ?? 0n
  const round = query.uint('round')
  query.uint('max')
  const [next, prefix] = [query.get('next'), query.get('prefix')]
  const last = node.ledger.last.round
  if (round !== undefined && round > last) throw new ApiError(400, 'given round is greater than the latest round')
  if (next !== undefined && next !== '') checkBoxName(next, 'invalid next token: ')
  if (prefix !== undefined && prefix !== '') checkBoxName(prefix, 'invalid prefix: ')
  const isPaged =
    limit !== 0n || next !== undefined || round !== undefined || (prefix ?? '') !== '' || includes(query, 'values')
  return HttpResponse.json({ boxes: [], round: isPaged ? last : undefined })
}

function getBox({ path, query }: RouteContext): RawResponse {
  uint('application-id', path[0]!)
  const name = query.get('name')
  if (name === undefined)
    throw new ApiError(400, "Invalid format for parameter name: query parameter 'name' is required")
  checkBoxName(name, '')
  throw new ApiError(404, 'box not found')
}

function listApplications({ path, query, node }: RouteContext): RawResponse {
  address(path[0]!)
  query.page(includes(query, 'params') ? maxBatch : maxBatchWithoutParameters, 'applications')
  return HttpResponse.json({ 'application-resources': [], round: node.ledger.last.round })
}

function includes(query: RouteContext['query'], what: string): boolean {
  return (query.get('include') ?? '').split(',').includes(what)
}

function getAccountApplication({ path, query }: RouteContext): RawResponse {
  address(path[0]!)
  uint('application-id', path[1]!)
  query.format()
  throw new ApiError(404, 'account application info not found')
}

/** Names are written as an encoding and a value. An ABI value is not checked, because no box has its name anyway. */
function checkBoxName(name: string, prefix: string): void {
  const problem = problemOfName(name)
  if (problem !== undefined) throw new ApiError(400, prefix + problem)
}

function problemOfName(name: string): string | undefined {
  const [, encoding, value] = /^([^:]*):(.*)$/s.exec(name) ?? []
  if (encoding === undefined || value === undefined) {
    return "all arguments and box names should be of the form 'encoding:value'"
  }
  switch (encoding) {
    case 'str':
    case 'string':
      return undefined
    case 'abi':
      return value.includes(':')
        ? undefined
        : `Could not decode abi string (${value}): should split abi-type and abi-value with colon`
    case 'int':
    case 'integer': {
      const problem = problemOfUint(value)
      return problem && `Could not parse uint64 from string (${value}): ${problem}`
    }
    case 'addr':
    case 'address':
      return Address.isValid(value) ? undefined : `Could not unmarshal checksummed address from string (${value})`
    case 'b32':
    case 'base32':
    case 'byte base32':
      return value.length % 8 === 0 && /^[A-Z2-7]*={0,6}$/.test(value)
        ? undefined
        : `Could not decode base32-encoded string (${value})`
    case 'b64':
    case 'base64':
    case 'byte base64':
      return isBase64(value) ? undefined : `Could not decode base64-encoded string (${value})`
    default:
      return `Unknown encoding: ${encoding}`
  }
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
