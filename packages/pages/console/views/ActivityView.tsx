/** The audit log: everything that the daemon recorded, with filters. The records survive restarts. */

import { agentOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { type AuditPage, type AuditQuery, searchAudit } from '../audit.js'
import { AuditRow } from '../components/AuditRow.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { errorMessage } from '../messages.js'
import { usePolling } from '../polling.js'
import type { Agent } from '../responseTypes.js'
import { useStore } from '../store.js'
import { ActivityExport } from './ActivityExport.js'
import { ActivityFilters } from './ActivityFilters.js'
import { ActivityVerify } from './ActivityVerify.js'
import '../styles/agents.css'

const pageLength = 50

export function ActivityView({ agentId }: { agentId: string | undefined }) {
  const store = useStore()
  const [query, setQuery] = useState<AuditQuery>({ agent_id: agentId })
  /** The start of each page, newest first. The last one is shown. */
  const [starts, setStarts] = useState<readonly number[]>([0])
  const [page, setPage] = useState<AuditPage>()
  const [agents, setAgents] = useState<readonly Agent[]>([])
  const [error, setError] = useState<string>()
  const beforeNumber = starts.at(-1) ?? 0

  usePolling(
    async (isCurrent) => {
      try {
        const found = await searchAudit(store.daemon, { ...query, before_number: beforeNumber, count: pageLength })
        if (!isCurrent()) return
        setPage(found)
        setError(undefined)
      } catch (caught) {
        if (isCurrent()) setError(errorMessage(caught))
      }
    },
    // Older pages never change.
    beforeNumber === 0 ? 4_000 : 60_000,
    [store, query, beforeNumber],
  )
  usePolling(
    async () => {
      const [listed] = await Promise.all([
        store.daemon.call(agentOperations.ListAgents),
        store.wallets ?? store.loadWallets(),
      ])
      setAgents(listed.agents)
    },
    30_000,
    [store],
  )
  const search = (next: AuditQuery): void => {
    setStarts([0])
    setPage(undefined)
    setQuery(next)
  }
  const isFiltered = JSON.stringify(query) !== '{}'
  return (
    <section aria-labelledby="activity-title">
      <Heading id="activity-title">Audit log</Heading>
      <p class="soft lede">
        Signatures, refusals, unlocks, and every change of keys, agents and settings. Each record contains the hash of
        the one before it.
      </p>
      <ActivityFilters query={query} agents={agents} onSearch={search} />
      <ErrorText text={error} />
      <div class="section-head">
        <h2>Records</h2>
        <ActivityVerify />
      </div>
      {page !== undefined && page.records.length === 0 && (
        <p class="empty">
          {isFiltered
            ? page.continueFrom > 0
              ? 'Nothing found so far. Search further back below.'
              : 'Nothing matches. Clear a filter to see more.'
            : 'Nothing recorded yet. New activity appears here.'}
        </p>
      )}
      <ol class="rows activity" aria-label="Records, newest first">
        {page?.records.map((record) => (
          <AuditRow key={record.number} record={record} />
        ))}
      </ol>
      <p class="actions">
        {starts.length > 1 && (
          <button type="button" onClick={() => setStarts(starts.slice(0, -1))}>
            Newer
          </button>
        )}
        {page !== undefined && page.continueFrom > 0 && (
          <button type="button" onClick={() => setStarts([...starts, page.continueFrom])}>
            Older
          </button>
        )}
      </p>
      <ActivityExport query={query} />
    </section>
  )
}
