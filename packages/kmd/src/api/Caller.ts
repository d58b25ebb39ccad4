/** Who sent a request: the owner with the API token, a page with the token of a console session, or an agent with its own. */
import type { AgentSession } from '../agents/Agents.js'
import type { Session } from '../console/Sessions.js'

export type Caller =
  | { readonly type: 'owner' }
  | { readonly type: 'session'; readonly session: Session }
  | { readonly type: 'agent'; readonly agent: AgentSession }

export const owner: Caller = { type: 'owner' }
