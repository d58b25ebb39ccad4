/** Handles requests of indexer clients: CORS, token, routing, and error responses. */
import { Access, type RawAnswer, type RawHandler, type RawRequest, type RawResponse } from '@latchkey/http'
import type { Ledger } from '../ledger/Ledger.js'
import { ApiError } from '../rest/ApiError.js'
import { json } from '../rest/HttpResponse.js'
import { decodeParameter, Query, Router } from '../rest/Route.js'
import { version } from '../version.js'
import { accountRoutes } from './accounts.js'
import { applicationRoutes } from './applications.js'
import { assetRoutes } from './assets.js'
import { blockRoutes } from './blocks.js'
import type { IndexerCall, IndexerContext, IndexerRoute } from './IndexerRoute.js'
import { TransactionIndex } from './TransactionIndex.js'
import { Turns } from './Turns.js'
import { transactionRoutes } from './transactions.js'

export type IndexerHandlerOptions = {
  /** Must track lifetimes. */
  ledger: Ledger
  /** Required from clients if it is set. */
  token?: string | undefined
  /** Resolves when all changes are on the disk. Undefined if they already are, or are not stored. */
  synced?: (() => Promise<void> | undefined) | undefined
  /** Called with internal errors. */
  onError?: ((error: unknown) => void) | undefined
}

const router = new Router<IndexerRoute>([
  { method: 'GET', path: '/health', access: 'open', handle: health },
  ...transactionRoutes,
  ...accountRoutes,
  ...assetRoutes,
  ...blockRoutes,
  ...applicationRoutes,
])

export function create(options: IndexerHandlerOptions): RawHandler {
  const { ledger, token, synced = () => undefined, onError = () => {} } = options
  const context: Omit<IndexerContext, 'turns'> = { ledger, transactions: new TransactionIndex(ledger) }
  const turns = new Turns()
  const tokenCheck = token === undefined ? undefined : new Access.TokenCheck(token)

  const errorResponse = (error: unknown): RawResponse => {
    if (error instanceof ApiError) return error.toResponse()
    onError(error)
    return json({ message: 'internal error of the devnet; see its log' }, 500)
  }

  const serve = async (request: RawRequest): Promise<RawResponse> => {
    const [path = '', ...query] = request.target.split('?')
    const match = router.match(path)
    if (match === undefined || match.path.includes('')) throw new ApiError(404, 'Not Found')
    request.matched?.(match.pattern)
    const route = match.routes.get(request.method)
    if (route === undefined) throw new ApiError(405, 'Method Not Allowed', undefined, ['Allow', 'OPTIONS, GET'])
    if (route.access !== 'open' && tokenCheck !== undefined) {
      if (!tokenCheck.matches(tokenOf(request))) throw new ApiError(401, 'Invalid API Token')
      request.authenticated?.()
    }
    const parameters = { path: match.path.map(decodeParameter), query: new Query(query.join('?')) }
    return route.handle({ ...context, ...parameters, turns: turns.of(request.onClose) })
  }

  return async (request): Promise<RawAnswer> => {
    if (request.method === 'OPTIONS') return preflight(request)
    let response = await serve(request).catch(errorResponse)
    // No response is sent before the changes that it may reveal are on the disk.
    const pending = synced()
    if (pending !== undefined) response = await pending.then(() => response, errorResponse)
    return withOrigin(response, request)
  }
}

function tokenOf(request: RawRequest): string | undefined {
  return request.header('x-indexer-api-token') ?? /^Bearer (.*)$/i.exec(request.header('authorization') ?? '')?.[1]
}

function withOrigin(response: RawResponse, request: RawRequest): RawResponse {
  if (!request.header('origin')) return response
  return { ...response, headers: [...response.headers, 'Access-Control-Allow-Origin', '*', 'Vary', 'Origin'] }
}

/** Any page may use the API with any header, as on a real indexer. */
function preflight(request: RawRequest): RawResponse {
  const headers = ['Vary', 'Origin', 'Allow', 'OPTIONS, GET']
  if (request.header('origin')) {
    headers.push('Access-Control-Allow-Origin', '*')
    headers.push('Access-Control-Allow-Methods', 'GET,HEAD,PUT,PATCH,POST,DELETE')
    const asked = request.header('access-control-request-headers')
    headers.push('Access-Control-Allow-Headers', asked || 'X-Indexer-API-Token,Content-Type')
    if (request.header('access-control-request-private-network') === 'true') {
      headers.push('Access-Control-Allow-Private-Network', 'true')
    }
  }
  return { status: 204, headers, body: '' }
}

/**
 * Returns the state of the indexer, which follows the ledger in the same process and is therefore never behind.
 * `oldest-round` tells which blocks and transactions are kept.
 */
function health({ ledger }: IndexerCall): RawResponse {
  const { round } = ledger.last
  return json({
    data: { 'migration-required': false, 'oldest-round': ledger.oldestRound, 'read-only-mode': true },
    'db-available': true,
    'is-migrating': false,
    message: round.toString(),
    round,
    version: `latchkey-devnet ${version}`,
  })
}
