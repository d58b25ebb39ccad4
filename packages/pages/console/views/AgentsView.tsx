/** All agents: the remainder of their limits, and whether they are in use. */

import { useState } from 'preact/hooks'
import { type AgentBudget, loadAgentBudgets } from '../agentBudgets.js'
import { AgentState, SameUserWarning } from '../components/AgentState.js'
import { BudgetBars } from '../components/BudgetBars.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { SuspendedAgents } from '../components/SuspendedAgents.js'
import { errorMessage } from '../messages.js'
import { hasEnded } from '../model/agentWords.js'
import { safeName } from '../model/safeName.js'
import { formatTime } from '../model/time.js'
import { usePolling } from '../polling.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import '../styles/agents.css'

/** The daemon computes the totals of each agent. */
const maxBudgets = 50

export function AgentsView() {
  const store = useStore()
  const [rows, setRows] = useState<readonly AgentBudget[]>()
  const [error, setError] = useState<string>()
  const reload = async (): Promise<void> => {
    try {
      setRows(await loadAgentBudgets(store.daemon, maxBudgets))
      setError(undefined)
    } catch (caught) {
      setError(errorMessage(caught))
    }
  }
  usePolling(reload, 4_000, [store])
  const live = rows?.filter(({ agent }) => !hasEnded(agent)) ?? []
  const ended = rows?.filter(({ agent }) => hasEnded(agent)) ?? []
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
      {rows !== undefined && rows.length === 0 && (
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
          <a class="name" href={hrefOf({ view: 'agents', agentId: agent.id })}>
            <bdi>{safeName(agent.name)}</bdi>
          </a>
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
