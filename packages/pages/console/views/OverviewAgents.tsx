/** The agents on the first screen: the payments that wait for an approval, and what is left of the limits. */
import { useAgentBudgets } from '../agentBudgets.js'
import { AgentLink, AgentState } from '../components/AgentState.js'
import { BudgetBars } from '../components/BudgetBars.js'
import { ErrorText } from '../components/ErrorText.js'
import { hasEnded } from '../model/agentWords.js'
import { safeName } from '../model/safeName.js'
import { formatDuration } from '../model/time.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import '../styles/agents.css'

const maxAgents = 5
const maxApprovals = 3

/** The payments that wait for an approval, oldest first. They are decided in the approvals view, which has the details. */
export function OverviewApprovals() {
  const store = useStore()
  const open = store.openApprovals?.toReversed() ?? []
  if (open.length === 0) return null
  const more = open.length - maxApprovals
  return (
    <section aria-labelledby="waiting-title" class="waiting">
      <h2 id="waiting-title">
        {open.length === 1 ? 'Waiting for your approval' : `${open.length} payments wait for you`}
      </h2>
      <ul class="next">
        {open.slice(0, maxApprovals).map((approval) => (
          <li key={approval.id} class="next-line">
            <p>
              <b class="break">{approval.summary}</b>
              <span class="soft small">
                expires in {formatDuration(Math.max(0, (approval.expiresAtMs - Date.now()) / 1000))}
              </span>
            </p>
            <a class="button main" href={hrefOf({ view: 'approvals' })}>
              Review<span class="visually-hidden"> the payment of {safeName(approval.agentName)}</span>
            </a>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p class="small">
          <a href={hrefOf({ view: 'approvals' })}>{more} more</a>
        </p>
      )}
    </section>
  )
}

/** The agents that have not ended, with what is left of their limits. */
export function OverviewAgents() {
  const { agents, error } = useAgentBudgets(maxAgents, 5_000)
  const live = agents?.filter(({ agent }) => !hasEnded(agent)) ?? []
  return (
    <section aria-labelledby="overview-agents-title">
      <div class="section-head">
        <h2 id="overview-agents-title">Agents</h2>
        <a class="button" href={hrefOf({ view: 'new-agent' })}>
          New agent
        </a>
      </div>
      <ErrorText text={error} />
      {agents !== undefined && live.length === 0 && (
        <p class="empty">No agents yet. An agent is a program that may spend from one of your keys, within limits.</p>
      )}
      <ul class="rows budgets" aria-label="Agents and what is left of their limits">
        {live.slice(0, maxAgents).map(({ agent, budget }) => (
          <li key={agent.id}>
            <p class="bar-text">
              <AgentLink agent={agent} />
              <AgentState agent={agent} />
            </p>
            <BudgetBars agent={agent} budget={budget} isCompact />
          </li>
        ))}
      </ul>
      {live.length > maxAgents && (
        <p class="small">
          <a href={hrefOf({ view: 'agents' })}>All {live.length} agents</a>
        </p>
      )}
    </section>
  )
}
