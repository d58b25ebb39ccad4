/**
 * The sender of a request: the owner with the API token, a page with the token of a console session, or an agent with
 * its own token.
 */
import type { AgentSession } from '../agents/AgentsApi.js'
import type { Actor } from '../audit/AuditChain.js'
import type { Session } from '../console/Sessions.js'

export type AgentCaller = { readonly type: 'agent'; readonly agent: AgentSession }

/** The owner, directly or through the console. */
export type OwnerCaller = { readonly type: 'owner' } | { readonly type: 'session'; readonly session: Session }

export type Caller = OwnerCaller | AgentCaller

export const owner: OwnerCaller = { type: 'owner' }

/** The actor of a change by the owner, for the audit log. */
export function actorOf({ type }: OwnerCaller): Actor {
  return { type: type === 'session' ? 'console' : 'owner' }
}
