/** Creates a running daemon's in-memory data about its agents. */
import { AgentHandles } from '../agents/AgentHandles.js'
import { AgentPresence, type AgentPresenceOptions } from '../agents/AgentPresence.js'
import { WalletTurns } from '../agents/AgentStore.js'
import type { Agents } from '../agents/Agents.js'
import type { AgentContext } from '../api/Context.js'
import type { Lifetimes } from '../Handles.js'

export type AgentPartsOptions = Pick<AgentPresenceOptions, 'userOf'> & {
  agents: Agents
  lifetimes: Lifetimes
  /** Called with warnings for the log. */
  onWarning?: (text: string) => void
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: () => number
}

export function openAgentParts({ agents, lifetimes, userOf, onWarning, now }: AgentPartsOptions): AgentContext {
  const agentHandles = new AgentHandles({ ...lifetimes, ...(now && { now }) })
  agents.onEnd((agentId) => agentHandles.releaseAgent(agentId))
  const onSameUser = (agentId: string): void => onWarning?.(sameUserWarning(agentId))
  const agentPresence = new AgentPresence({ onSameUser, ...(userOf && { userOf }) })
  return { agentHandles, agentPresence, walletTurns: new WalletTurns() }
}

function sameUserWarning(agentId: string): string {
  return (
    `agent ${agentId} runs as the daemon's user or as root, so it can read the daemon's files ` +
    'and bypass every limit. Run the daemon as its own user: sudo latchkey service install --system'
  )
}
