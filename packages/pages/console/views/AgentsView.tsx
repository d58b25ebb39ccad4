/** All agents: the remainder of their limits, and whether they are in use. */

import { type AgentBudget, useAgentBudgets } from '../agentBudgets.js'
import { AgentLink, AgentState, SameUserWarning } from '../components/AgentState.js'
import { BudgetBars } from '../components/BudgetBars.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { SuspendedAgents } from '../components/SuspendedAgents.js'
import { hasEnded } from '../model/agentWords.js'
import { safeName } from '../model/safeName.js'
import { formatTime } from '../model/time.js'
import { hrefOf } from '../route.js'
import '../styles/agents.css'

/** The daemon computes the totals of each agent. */
const maxBudgets = 50

export function AgentsView() {
  const { agents, error, reload } = useAgentBudgets(maxBudgets, 4_000)
  const live = agents?.filter(({ agent }) => !hasEnded(agent)) ?? []
  const ended = agents?.filter(({ agent }) => hasEnded(agent)) ?? []
  return (
    <section aria-labelledby="agents-title">
      <div class="section-head">
        <Heading id="agents-title">Agents</Heading>
        <a class="button main" href={hrefOf({ view: 'new-agent' })}>
          New agent
        </a>
      </div>
      <p class="soft lede">
        Programs that may spend from your keys within limits. The daemon enforces the limits, so the program cannot
        change them.
      </p>
      <ErrorText text={error} />
      <SuspendedAgents agents={live.map(({ agent }) => agent)} onChange={reload} />
      {agents !== undefined && agents.length === 0 && (
        <p class="empty">
          No agents yet. <a href={hrefOf({ view: 'new-agent' })}>Create one</a> to let a program pay for what it needs,
          such as $5 a day and never more than $0.50 at once.
        </p>
      )}
      <ul class="rows agent-rows" aria-label="Agents">
        {live.map((row) => (
          <AgentRow key={row.agent.id} {...row} />
        ))}
      </ul>
      {live.length > maxBudgets && (
        <p class="soft small">
          Budgets are shown for the first {maxBudgets} agents here, and for each on its own page.
        </p>
      )}
      {ended.length > 0 && (
        <>
          <h2>Ended</h2>
          <ul class="rows agent-rows" aria-label="Agents that have ended">
            {ended.map((row) => (
              <AgentRow key={row.agent.id} {...row} budget={[]} />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function AgentRow({ agent, budget }: AgentBudget) {
  return (
    <li>
      <div>
        <p>
          <AgentLink agent={agent} />
          {agent.sameUser && <SameUserWarning isShort />}
        </p>
        <p>
          <AgentState agent={agent} />
        </p>
        <p class="soft small">
          {agent.walletName === '' ? 'wallet deleted' : `wallet ${safeName(agent.walletName)}`},{' '}
          {agent.lastUsedAtMs === 0 ? 'never used' : `last used ${formatTime(agent.lastUsedAtMs)}`}
        </p>
      </div>
      <BudgetBars agent={agent} budget={budget} isCompact />
    </li>
  )
}
