/** The name of an agent, and its state as a word with an icon. */
import { stateName } from '../model/agentWords.js'
import { safeName } from '../model/safeName.js'
import type { Agent } from '../responseTypes.js'
import { hrefOf } from '../route.js'

export function AgentLink({ agent }: { agent: Agent }) {
  return (
    <a class="name" href={hrefOf({ view: 'agents', agentId: agent.id })}>
      <bdi>{safeName(agent.name)}</bdi>
    </a>
  )
}

export function AgentState({ agent }: { agent: Agent }) {
  const kind = agent.state === 'active' ? 'good' : agent.state === 'paused' ? 'open' : 'bad'
  return <span class={`status-${kind}`}>{stateName(agent.state)}</span>
}

/** No limit holds an agent that can read the daemon's files. */
export function SameUserWarning({ isShort = false }: { isShort?: boolean }) {
  if (isShort) return <span class="tag">runs as the daemon’s user</span>
  return (
    <p class="note">
      <b>This agent runs as the daemon’s user.</b> It can read the daemon’s files and so bypass every limit. Run it as
      another user, or give the daemon its own user with <code>sudo latchkey service install --system</code>.
    </p>
  )
}
