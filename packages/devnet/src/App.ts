/** From a request to its answer: who may ask, what for, and in what words it is refused. */
import {
  Access,
  BodyError,
  dropConnection,
  type RawAnswer,
  type RawHandler,
  type RawRequest,
  type RawResponse,
} from '@latchkey/http'
import type { Node } from './Node.js'
import { accountRoutes } from './rest/accounts.js'
import { applicationRoutes } from './rest/applications.js'
import { blockRoutes } from './rest/blocks.js'
import { cheatRoutes } from './rest/cheats.js'
import { Query } from './rest/Parameters.js'
import { type Match, type Route, Router } from './rest/Route.js'
import { ApiError, json } from './rest/responses.js'
import { simulateRoutes } from './rest/simulate.js'
import { statusRoutes } from './rest/status.js'
import { transactionRoutes } from './rest/transactions.js'

export type AppOptions = {
  node: Node
  /** Asked for if it is set; anything is accepted otherwise. */
  token?: string | undefined
  /** Resolves when everything that happened is on disk; undefined if it is already, or needs not be. */
  synced?: (() => Promise<void> | undefined) | undefined
  /** Told about faults of our own. */
  onError?: ((error: unknown) => void) | undefined
}

const router = new Router([
  ...transactionRoutes,
  ...statusRoutes,
  ...accountRoutes,
  ...simulateRoutes,
  ...blockRoutes,
  ...applicationRoutes,
  ...cheatRoutes,
])

export function create({ node, token, synced = () => undefined, onError = () => {} }: AppOptions): RawHandler {
  const check = token === undefined ? undefined : new Access.TokenCheck(token)

  const refusal = (error: unknown): RawResponse => {
    if (error instanceof ApiError) return error.toResponse()
    if (error instanceof BodyError) return bodyRefusal(error)
    onError(error)
    return json({ message: 'the devnet failed; it says why where it runs' }, 500)
  }

  /** Nobody learns of what a crash could still undo. */
  const settled = (answer: RawAnswer): RawAnswer | Promise<RawAnswer> => {
    const pending = synced()
    return pending === undefined ? answer : pending.then(() => answer, refusal)
  }

  const serve = (request: RawRequest, path: string, query: string): RawAnswer | Promise<RawAnswer> => {
    const { route, parameters } = find(request.method, path)
    if (route.access === 'cheat') checkCheat(request)
    if (route.access !== 'open' && check !== undefined && !check.matches(tokenOf(request))) {
      throw new ApiError(401, 'Invalid API Token')
    }
    return route.handle({ request, node, path: parameters, query: new Query(query) })
  }

  return (request) => {
    const question = request.target.indexOf('?')
    const rawPath = question < 0 ? request.target : request.target.slice(0, question)
    const path = rawPath.length > 1 && rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath
    const finish = (answer: RawAnswer): RawAnswer => withOrigin(answer, request, path)
    try {
      if (request.method === 'OPTIONS') return preflight(request, path)
      const answer = serve(request, path, question < 0 ? '' : request.target.slice(question + 1))
      if (!(answer instanceof Promise)) {
        const result = settled(answer)
        return result instanceof Promise ? result.then(finish) : finish(result)
      }
      return answer.catch(refusal).then(settled).then(finish)
    } catch (error) {
      return finish(refusal(error))
    }
  }
}

function find(method: string, path: string): { route: Route; parameters: readonly string[] } {
  const match = router.match(path)
  if (match === undefined) throw new ApiError(404, 'Not Found')
  const route = match.routes.get(method)
  if (route === undefined) throw new MethodRefused(match)
  return { route, parameters: match.path.map(decoded) }
}

function decoded(parameter: string): string {
  if (!parameter.includes('%')) return parameter
  try {
    return decodeURIComponent(parameter)
  } catch {
    throw new ApiError(400, 'Bad Request')
  }
}

class MethodRefused extends ApiError {
  readonly #match: Match

  constructor(match: Match) {
    super(405, 'Method Not Allowed')
    this.#match = match
  }

  override toResponse(): RawResponse {
    const response = super.toResponse()
    return { ...response, headers: [...response.headers, 'Allow', allowed(this.#match)] }
  }
}

function allowed({ routes }: Match): string {
  return ['OPTIONS', ...routes.keys()].join(', ')
}

function tokenOf(request: RawRequest): string | undefined {
  return request.header('x-algo-api-token') ?? /^Bearer (.*)$/i.exec(request.header('authorization') ?? '')?.[1]
}

/**
 * Money for the asking must not be had by a web page that merely runs in this machine's browser, nor by another
 * machine: the page cannot help sending its origin, and cannot choose the Host.
 */
function checkCheat(request: RawRequest): void {
  const remote = request.remoteAddress?.()?.replace(/^::ffff:/, '')
  const host = request.header('host')
  const origin = request.header('origin')
  const isLocal = remote === undefined || Access.isLoopback(remote)
  if (!isLocal || host === undefined || !Access.isLoopback(Access.hostName(host)) || !isOwnOrigin(origin)) {
    throw new ApiError(
      403,
      'cheats are only for programs on this machine',
      'use the address 127.0.0.1, from no web page',
    )
  }
}

function isOwnOrigin(origin: string | undefined): boolean {
  if (origin === undefined) return true
  try {
    return Access.isLoopback(Access.hostName(new URL(origin).host))
  } catch {
    return false
  }
}

function bodyRefusal({ reason, message }: BodyError): RawResponse {
  const status = { tooLarge: 413, malformed: 400, tooSlow: 408 }[reason]
  return json({ message }, status)
}

/** Any page may use the node's own API, as on a real one; cheats are for pages of this machine. */
function allowedOrigin(request: RawRequest, path: string): string | undefined {
  const origin = request.header('origin')
  if (origin === undefined || origin === '') return undefined
  if (!path.startsWith('/devnet')) return '*'
  return isOwnOrigin(origin) ? origin : undefined
}

function withOrigin(answer: RawAnswer, request: RawRequest, path: string): RawAnswer {
  const origin = allowedOrigin(request, path)
  if (answer === dropConnection || origin === undefined) return answer
  return { ...answer, headers: [...answer.headers, 'Access-Control-Allow-Origin', origin, 'Vary', 'Origin'] }
}

function preflight(request: RawRequest, path: string): RawResponse {
  const headers = ['Vary', 'Origin']
  const match = router.match(path)
  if (match !== undefined) headers.push('Allow', allowed(match))
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
