/**
 * Reads the head of a request before its token is checked: the operation, its route for the log, and the location of
 * its token.
 */
import { Access, noRoute, type RawRequest } from '@latchkey/http'
import { type AgentAccess, type DocumentId, descriptionPath, documentAccess, metricsPath } from '@latchkey/kmd-api'
import * as AgentToken from './agents/AgentToken.js'
import type { Operation } from './api/Operations.js'
import * as Operations from './api/Operations.js'
import * as ConsoleFiles from './console/files.js'
import { KmdError } from './errors.js'

/** The header with the token of the owner, a console session or an agent. */
export const tokenHeader = 'x-kmd-api-token'

export type Route = {
  readonly path: string
  readonly operation: Operation | undefined
  /** For the log. */
  readonly pattern: string
  readonly isHostAllowed: boolean
  readonly cors: string[]
  /** The headers of a success. */
  readonly headers: string[]
  /** Whether the token must be looked up among those of agents. */
  readonly mayBeAgent: boolean
  /** The version of the owner's token that this head was found to have; undefined if it had none yet. */
  ownerVersion: number | undefined
}

/**
 * Returns the agent's token in a request. Rejects a second, different token, because it would be unclear who is
 * calling.
 *
 * @throws {@link KmdError} `invalid_token` for two tokens
 */
export function agentToken(request: RawRequest): string | undefined {
  const presented = request.header(tokenHeader)
  const authorization = request.header('authorization')
  const bearer = authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1]
  const agentBearer = bearer !== undefined && AgentToken.isToken(bearer) ? bearer : undefined
  if (agentBearer !== undefined && presented !== undefined && presented !== agentBearer) {
    throw new KmdError('invalid_token', { message: 'two different tokens were sent; send only one' })
  }
  return agentBearer ?? (presented !== undefined && AgentToken.isToken(presented) ? presented : undefined)
}

/** False only if `agentToken` finds none. */
export function mayHaveAgentToken(request: RawRequest): boolean {
  const presented = request.header(tokenHeader)
  return request.header('authorization') !== undefined || (presented !== undefined && AgentToken.isToken(presented))
}

/** The name of a document that is not an operation. */
export function documentOf(path: string): DocumentId | undefined {
  if (path === descriptionPath) return 'SwaggerHandler'
  if (path === metricsPath) return 'GetMetrics'
  return ConsoleFiles.isPath(path) ? 'ConsoleFiles' : undefined
}

/** The rule for agents' tokens; undefined if the path is not served. */
export function agentAccess(operation: Operation | undefined, path: string): AgentAccess | undefined {
  if (operation !== undefined) return operation.access.agent
  const document = documentOf(path)
  return document === undefined ? undefined : documentAccess[document]
}

/** The message states which setting to change. The name is repeated only if a setting can hold it. */
export function forbiddenHost(host: string | undefined): KmdError {
  const name = Access.hostName(host ?? '')
  if (!/^[a-z0-9._:-]{1,253}$/.test(name)) return new KmdError('forbidden_host')
  const setting = `"allowed_hosts": ["${name}"] in kmd_config.json`
  const message = `the Host ${name} is not served; use the address in kmd.net, or set ${setting}`
  return new KmdError('forbidden_host', { message })
}

export function methodsOf(path: string): readonly string[] {
  if (path === descriptionPath || path === metricsPath) return ['GET']
  return ConsoleFiles.isPath(path) ? ConsoleFiles.methods : Operations.methods(path)
}

/** For the log: a served path as is, and nothing of any other path. */
export function routeOf(path: string): string {
  if (ConsoleFiles.isPath(path)) return '/console/*'
  return methodsOf(path).length === 0 ? noRoute : path
}

export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}
