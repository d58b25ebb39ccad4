/**
 * The sender of a request: the owner with the API token, a page with the token of a console session, or an agent with
 * its own token.
 */
import type { AgentSession } from '../agents/AgentsApi.js'
import type { Session } from '../console/Sessions.js'
import { KmdError } from '../errors.js'

export type AgentCaller = { readonly type: 'agent'; readonly agent: AgentSession }

export type Caller = { readonly type: 'owner' } | { readonly type: 'session'; readonly session: Session } | AgentCaller

export const owner: Caller = { type: 'owner' }

/**
 * Returns the agent that calls an agents-only operation.
 *
 * @throws {@link KmdError} `agent_token_required`
 */
export function requireAgent(caller: Caller): AgentCaller {
  if (caller.type !== 'agent') throw new KmdError('agent_token_required')
  return caller
}
