/** Reads the head of a request before its token is checked: the operation, who may use it, and its route for the log. */
import { Access, noRoute } from '@latchkey/http'
import { type AgentAccess, type DocumentId, descriptionPath, documentAccess, metricsPath } from '@latchkey/kmd-api'
import type { Operation } from './api/Operations.js'
import * as Operations from './api/Operations.js'
import * as ConsoleFiles from './console/files.js'
import { KmdError } from './errors.js'

export type Route = {
  readonly path: string
  readonly operation: Operation | undefined
  /** For the log. */
  readonly pattern: string
  readonly isHostAllowed: boolean
  readonly cors: string[]
  /** The headers of a success. */
  readonly headers: string[]
  /** The id of the operation or document; undefined if the path is not served. */
  readonly servedAs: string | undefined
  /** Whether the operation needs no token. */
  readonly isOpen: boolean
  /** Whether the token must be looked up among those of agents. */
  readonly mayBeAgent: boolean
  /** The rule for agents' tokens; undefined if the path is not served. */
  readonly agentAccess: AgentAccess | undefined
  /** The version of the owner's token that this head was found to have; undefined if it had none yet. */
  ownerVersion: number | undefined
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
