/** Handles requests: CORS, access, routing, compression, and error responses. */
import { promisify } from 'node:util'
import { constants, gzip as gzipInBackground, gzipSync } from 'node:zlib'
import {
  Access,
  BodyError,
  dropConnection,
  type RawAnswer,
  type RawHandler,
  type RawRequest,
  type RawResponse,
} from '@latchkey/http'
import type { DevnetNode } from './DevnetNode.js'
import { ApiError } from './rest/ApiError.js'
import { accountRoutes } from './rest/accounts.js'
import { administrationRoutes } from './rest/administration.js'
import { applicationRoutes } from './rest/applications.js'
import { blockRoutes } from './rest/blocks.js'
import { boxRoutes } from './rest/boxes.js'
import { cheatRoutes } from './rest/cheats.js'
import { deltaRoutes } from './rest/deltas.js'
import { json } from './rest/HttpResponse.js'
import { participationRoutes } from './rest/participation.js'
import { decodeParameter, type Match, Query, type Route, Router } from './rest/Route.js'
import { simulateRoutes } from './rest/simulate.js'
import { statusRoutes } from './rest/status.js'
import { swaggerRoute } from './rest/swagger.js'
import { tealRoutes } from './rest/teal.js'
import { transactionRoutes } from './rest/transactions.js'

export type RequestHandlerOptions = {
  node: DevnetNode
  /** Required from clients if it is set. */
  token?: string | undefined
  /** Resolves when all changes are on the disk. Undefined if they already are, or are not stored. */
  synced?: (() => Promise<void> | undefined) | undefined
  /** Called with internal errors. */
  onError?: ((error: unknown) => void) | undefined
}

const own: readonly Route[] = [
  ...transactionRoutes,
  ...statusRoutes,
  ...accountRoutes,
  ...simulateRoutes,
  ...blockRoutes,
  ...deltaRoutes,
  ...participationRoutes,
  ...administrationRoutes,
  ...applicationRoutes,
  ...boxRoutes,
  ...tealRoutes,
  ...cheatRoutes,
]

/** All routes. Those with a summary are part of the algod API. */
export const routes: readonly Route[] = [...own, swaggerRoute(own)]

const router = new Router(routes)

export function create({
  node,
  token,
  synced = () => undefined,
  onError = () => {},
}: RequestHandlerOptions): RawHandler {
  const tokenCheck = token === undefined ? undefined : new Access.TokenCheck(token)

  const errorResponse = (error: unknown): RawResponse => {
    if (error instanceof ApiError) return error.toResponse()
    if (error instanceof BodyError) return bodyErrorResponse(error)
    onError(error)
    return json({ message: 'internal error of the devnet; see its log' }, 500)
  }

  /** No response is sent before the changes that it may reveal are on the disk. */
  const afterSync = (response: RawAnswer): RawAnswer | Promise<RawAnswer> => {
    const pending = synced()
    return pending === undefined ? response : pending.then(() => response, errorResponse)
  }

  const serve = (request: RawRequest, path: string, query: string): RawAnswer | Promise<RawAnswer> => {
    const { route, parameters } = find(request, path)
    if (route.access === 'cheat') checkCheat(request)
    if (route.access !== 'open' && tokenCheck !== undefined) {
      if (!tokenCheck.matches(tokenOf(request))) throw new ApiError(401, 'Invalid API Token')
      request.authenticated?.()
    }
    return route.handle({ request, node, path: parameters, query: new Query(query) })
  }

  return (request) => {
    const queryStart = request.target.indexOf('?')
    const rawPath = queryStart < 0 ? request.target : request.target.slice(0, queryStart)
    const path = rawPath.length > 1 && rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath
    const finish = (response: RawAnswer) => compress(withOrigin(response, request, path), request)
    try {
      if (request.method === 'OPTIONS') return preflight(request, path)
      const response = serve(request, path, queryStart < 0 ? '' : request.target.slice(queryStart + 1))
      if (!(response instanceof Promise)) {
        const result = afterSync(response)
        return result instanceof Promise ? result.then(finish) : finish(result)
      }
      return response.catch(errorResponse).then(afterSync).then(finish)
    } catch (error) {
      return finish(errorResponse(error))
    }
  }
}

function find(request: RawRequest, path: string): { route: Route; parameters: readonly string[] } {
  const match = router.match(path)
  if (match === undefined) throw new ApiError(404, 'Not Found')
  request.matched?.(match.pattern)
  const route = match.routes.get(request.method)
  if (route === undefined) throw new ApiError(405, 'Method Not Allowed', undefined, ['Allow', allowedMethods(match)])
  return { route, parameters: match.path.map(decodeParameter) }
}

function allowedMethods({ routes }: Match): string {
  return ['OPTIONS', ...routes.keys()].join(', ')
}

function tokenOf(request: RawRequest): string | undefined {
  return request.header('x-algo-api-token') || /^Bearer (.*)$/i.exec(request.header('authorization') ?? '')?.[1]
}

/**
 * Cheats are closed to other machines, and to web pages of other origins in a browser on this machine: a page cannot
 * suppress its Origin header or choose the Host header. They are also closed if the address of the peer is unknown, as
 * in a host that passes no `ConnectionInfo`.
 */
function checkCheat(request: RawRequest): void {
  const remote = request.remoteAddress?.()?.replace(/^::ffff:/, '')
  const host = request.header('host')
  const origin = request.header('origin')
  const isLocal = typeof remote === 'string' && Access.isLoopback(remote)
  if (!isLocal || host === undefined || !Access.isLoopback(Access.hostName(host)) || !isLoopbackOrigin(origin)) {
    throw new ApiError(
      403,
      'cheats are only for programs on this machine',
      'use the address 127.0.0.1; web pages of other origins are refused',
    )
  }
}

function isLoopbackOrigin(origin: string | undefined): boolean {
  return origin === undefined || Access.isLoopbackOrigin(origin)
}

function bodyErrorResponse({ code, status, message }: BodyError): RawResponse {
  return json({ message: code === 'body_too_large' ? 'Request Entity Too Large' : message }, status)
}

/** Any page may use the node's API, as on a real node. Cheats are for pages with a loopback origin. */
function allowedOrigin(request: RawRequest, path: string): string | undefined {
  const origin = request.header('origin')
  if (origin === undefined || origin === '') return undefined
  if (!path.startsWith('/devnet')) return '*'
  return isLoopbackOrigin(origin) ? origin : undefined
}

function withOrigin(response: RawAnswer, request: RawRequest, path: string): RawAnswer {
  const origin = allowedOrigin(request, path)
  if (response === dropConnection || origin === undefined) return response
  return { ...response, headers: [...response.headers, 'Access-Control-Allow-Origin', origin, 'Vary', 'Origin'] }
}

function preflight(request: RawRequest, path: string): RawResponse {
  const headers = ['Vary', 'Origin']
  const match = router.match(path)
  if (match !== undefined) {
    request.matched?.(match.pattern)
    headers.push('Allow', allowedMethods(match))
  }
  const origin = allowedOrigin(request, path)
  if (origin !== undefined) {
    headers.push('Access-Control-Allow-Origin', origin)
    headers.push('Access-Control-Allow-Headers', 'X-Algo-API-Token,Content-Type')
    headers.push('Access-Control-Allow-Methods', 'GET,POST,PUT,DELETE,OPTIONS')
    if (request.header('access-control-request-private-network') === 'true') {
      headers.push('Access-Control-Allow-Private-Network', 'true')
    }
  }
  return { status: 204, headers, body: '' }
}

/** Below this size compression takes longer than it saves, even on a slow network. */
const minBytesToCompress = 8 * 1024
/** Larger bodies are compressed on another thread, so that no other request waits. */
const maxBytesAtOnce = 64 * 1024
const gzipOptions = { level: constants.Z_BEST_SPEED }
const inBackground = promisify(gzipInBackground) as (body: Uint8Array, options: object) => Promise<Buffer>

/** Returns the same response in gzip, if the request accepts that and it is worthwhile. */
function compress(response: RawAnswer, request: RawRequest): RawAnswer | Promise<RawAnswer> {
  if (response === dropConnection || !isLarge(response.body) || hasEncoding(response)) return response
  const varying = { ...response, headers: [...response.headers, 'Vary', 'Accept-Encoding'] }
  if (!acceptsGzip(request.header('accept-encoding'))) return varying
  const body = typeof response.body === 'string' ? Buffer.from(response.body) : response.body
  if (body.length <= maxBytesAtOnce) return encoded(varying, gzipSync(body, gzipOptions))
  return inBackground(body, gzipOptions).then((compressed) => encoded(varying, compressed))
}

/** A character has at least one byte. */
function isLarge(body: RawResponse['body']): boolean {
  return body.length >= minBytesToCompress
}

function hasEncoding({ headers }: RawResponse): boolean {
  return headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-encoding')
}

/** The client does not accept a coding with the weight 0 (RFC 9110, 12.4.2). */
function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false
  return header.split(',').some((part) => {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const isRefused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))
    return (coding === 'gzip' || coding === 'x-gzip' || coding === '*') && !isRefused
  })
}

function encoded(response: RawResponse, body: Uint8Array): RawResponse {
  return { ...response, headers: [...response.headers, 'Content-Encoding', 'gzip'], body }
}
