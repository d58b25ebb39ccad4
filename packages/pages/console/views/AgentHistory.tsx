/** An agent's spending, and its latest audit records. */
import { useState } from 'preact/hooks'
import { type AuditRecord, searchAudit } from '../audit.js'
import { AuditRow } from '../components/AuditRow.js'
import { ErrorText } from '../components/ErrorText.js'
import { SpendingCharts } from '../components/SpendingCharts.js'
import { errorMessage } from '../messages.js'
import { dollarsOf } from '../model/agentNetwork.js'
import { usePolling } from '../polling.js'
import type { Agent } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'

const recentCount = 10

export function AgentHistory({ agent }: { agent: Agent }) {
  const store = useStore()
  const [recent, setRecent] = useState<readonly AuditRecord[]>()
  const [error, setError] = useState<string>()
  usePolling(
    async (isCurrent) => {
      try {
        const { records } = await searchAudit(store.daemon, { agent_id: agent.id, count: recentCount })
        if (!isCurrent()) return
        setRecent(records)
        setError(undefined)
      } catch (caught) {
        if (isCurrent()) setError(errorMessage(caught))
      }
    },
    4_000,
    [store, agent.id],
  )
  return (
    <>
      <SpendingCharts agentId={agent.id} dollars={dollarsOf({ node: store.node, dollars: agent.rules.dollars })} />
      <div class="section-head">
        <h2>History</h2>
        <a href={hrefOf({ view: 'activity', agentId: agent.id })}>All of its activity</a>
      </div>
      <ErrorText text={error} />
      {recent?.length === 0 && <p class="empty">Nothing yet.</p>}
      <ol class="rows activity" aria-label="The agent’s history, newest first">
        {recent?.map((record) => (
          <AuditRow key={record.number} record={record} />
        ))}
      </ol>
    </>
  )
}
