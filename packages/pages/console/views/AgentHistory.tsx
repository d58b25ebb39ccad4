/** An agent's spending per day, and its latest audit records. */
import { formatAmount } from '@latchkey/kmd-api/rules'
import { useState } from 'preact/hooks'
import { type AuditRecord, searchAudit } from '../audit.js'
import { AuditRow } from '../components/AuditRow.js'
import { DayChart } from '../components/DayChart.js'
import { ErrorText } from '../components/ErrorText.js'
import { errorMessage } from '../messages.js'
import { dollarsOf } from '../model/agentNetwork.js'
import { type DailySpending, dailySpending, firstDayMs } from '../model/dailySpending.js'
import { usePolling } from '../polling.js'
import type { Agent } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { type Store, useStore } from '../store.js'

const recentCount = 10
/** A limit for the chart. The page says if records are missing. */
const pageCount = 1_000
const maxPages = 5
const spendingEvents = ['transaction_signed', 'reservation_returned']

type Spending = { byAsset: readonly DailySpending[]; isCut: boolean }

export function AgentHistory({ agent }: { agent: Agent }) {
  const store = useStore()
  const [recent, setRecent] = useState<readonly AuditRecord[]>()
  const [spending, setSpending] = useState<Spending>()
  const [selected, setSelected] = useState<string>()
  const [error, setError] = useState<string>()
  // Reloads the spending when there is a new record.
  usePolling(
    async (isCurrent) => {
      try {
        const { records } = await searchAudit(store.daemon, { agent_id: agent.id, count: recentCount })
        const isNew = records[0]?.number !== recent?.[0]?.number || spending === undefined
        const loaded = isNew ? await loadSpending(store, agent.id) : spending
        if (!isCurrent()) return
        setSpending(loaded)
        setRecent(records)
        setError(undefined)
      } catch (caught) {
        if (isCurrent()) setError(errorMessage(caught))
      }
    },
    4_000,
    [store, agent.id],
  )
  const dollars = dollarsOf({ node: store.node, dollars: agent.rules.dollars })
  const keyOf = ({ network, assetId }: DailySpending): string => `${network} ${assetId}`
  const shown = spending?.byAsset.find((one) => keyOf(one) === selected) ?? spending?.byAsset[0]
  const show =
    (asset: DailySpending) =>
    (amount: bigint): string =>
      formatAmount({ network: asset.network, assetId: BigInt(asset.assetId), amount }, dollars)
  return (
    <>
      <div class="section-head">
        <h2>Spending by day</h2>
        {shown !== undefined && spending !== undefined && spending.byAsset.length > 1 && (
          <label class="inline">
            <span class="visually-hidden">Asset</span>
            <select value={keyOf(shown)} onChange={(event) => setSelected(event.currentTarget.value)}>
              {spending.byAsset.map((one) => (
                <option key={keyOf(one)} value={keyOf(one)}>
                  {unitName(show(one)(1_000_000n))}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <ErrorText text={error} />
      {spending !== undefined && shown === undefined && <p class="empty">Nothing spent in the last 30 days.</p>}
      {spending?.isCut && (
        <p class="aside">The chart covers the latest {(pageCount * maxPages).toLocaleString('en')} signatures only.</p>
      )}
      {shown !== undefined && <DayChart spending={shown} show={show(shown)} />}
      <div class="section-head">
        <h2>History</h2>
        <a href={hrefOf({ view: 'activity', agentId: agent.id })}>All of its activity</a>
      </div>
      {recent?.length === 0 && <p class="empty">Nothing yet.</p>}
      <ol class="rows activity" aria-label="The agent’s history, newest first">
        {recent?.map((record) => (
          <AuditRow key={record.number} record={record} />
        ))}
      </ol>
    </>
  )
}

async function loadSpending(store: Store, agentId: string): Promise<Spending> {
  const nowMs = Date.now()
  const query = { agent_id: agentId, events: spendingEvents, after_ms: firstDayMs(nowMs), count: pageCount }
  const records: AuditRecord[] = []
  let beforeNumber = 0
  for (let page = 0; page < maxPages; page++) {
    const found = await searchAudit(store.daemon, { ...query, before_number: beforeNumber })
    records.push(...found.records)
    beforeNumber = found.continueFrom
    if (beforeNumber === 0) break
  }
  return { byAsset: dailySpending(records, nowMs), isCut: beforeNumber !== 0 }
}

/** `Dollars`, `ALGO`, `asset 123`. */
function unitName(amount: string): string {
  return amount.startsWith('$') ? 'Dollars' : amount.replace(/^\S+ /, '')
}
