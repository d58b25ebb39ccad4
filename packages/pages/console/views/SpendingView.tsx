/** Spending by day and by payee, of all agents and the owner, or of one agent. */
import { agentOperations } from '@latchkey/kmd-api/operations'
import { useId, useState } from 'preact/hooks'
import { Heading } from '../components/Heading.js'
import { SpendingCharts } from '../components/SpendingCharts.js'
import { dollarsOf } from '../model/agentNetwork.js'
import { dayCount } from '../model/dailySpending.js'
import { safeName } from '../model/safeName.js'
import { usePolling } from '../polling.js'
import type { Agent } from '../responseTypes.js'
import { navigate } from '../route.js'
import { useStore } from '../store.js'
import '../styles/agents.css'

export function SpendingView({ agentId }: { agentId: string | undefined }) {
  const store = useStore()
  const id = useId()
  const [agents, setAgents] = useState<readonly Agent[]>([])
  usePolling(async () => setAgents((await store.daemon.call(agentOperations.ListAgents)).agents), 30_000, [store])
  const agent = agents.find((one) => one.id === agentId)
  // An asset is a dollar if the rules of any agent list it: they have one asset each per network.
  const dollars = agent?.rules.dollars ?? agents.flatMap(({ rules }) => rules.dollars)
  return (
    <section aria-labelledby="spending-title">
      <div class="section-head">
        <Heading id="spending-title">Spending</Heading>
        {agents.length > 0 && (
          <label class="inline" for={id}>
            <span class="visually-hidden">Of whom</span>
            <select
              id={id}
              value={agentId ?? ''}
              onChange={(event) => navigate({ view: 'spending', agentId: event.currentTarget.value || undefined })}
            >
              <option value="">All agents and you</option>
              {agents.map((one) => (
                <option key={one.id} value={one.id}>
                  {safeName(one.name)}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p class="soft lede">
        The payments that this daemon signed in the last {dayCount} days, with their fees, from the audit log. Payments
        of agents that never entered the ledger are left out.
      </p>
      <SpendingCharts agentId={agentId} dollars={dollarsOf({ node: store.node, dollars })} />
    </section>
  )
}
