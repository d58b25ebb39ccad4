/** Spending of the last days: by day and by payee, in one asset at a time. */
import { type Dollars, formatAmount } from '@latchkey/kmd-api/rules'
import { useState } from 'preact/hooks'
import { type AuditRecord, searchAudit } from '../audit.js'
import { errorMessage } from '../messages.js'
import { ratio } from '../model/amount.js'
import {
  type DailySpending,
  dailySpending,
  dayCount,
  firstDayMs,
  type PayeeTotal,
  spendingEvents,
} from '../model/dailySpending.js'
import { formatDay } from '../model/time.js'
import { usePolling } from '../polling.js'
import { type Store, useStore } from '../store.js'
import { ShortAddress } from './AddressText.js'
import { BarChart, FigureTable } from './Chart.js'
import { ErrorText } from './ErrorText.js'

/** A limit for the charts. The page says if records are missing. */
const pageCount = 1_000
const maxPages = 5

type Spending = { byAsset: readonly DailySpending[]; isCut: boolean }

type Props = {
  /** Only of this agent. @default all agents and the owner */
  agentId?: string | undefined
  dollars: Dollars
}

export function SpendingCharts({ agentId, dollars }: Props) {
  const store = useStore()
  const [spending, setSpending] = useState<Spending>()
  const [last, setLast] = useState<number>()
  const [selected, setSelected] = useState<string>()
  const [error, setError] = useState<string>()
  // Reloads the spending when there is a new record.
  usePolling(
    async (isCurrent) => {
      try {
        const events = [...spendingEvents]
        const { records } = await searchAudit(store.daemon, { agent_id: agentId, events, count: 1 })
        const number = records[0]?.number ?? 0
        const loaded = number === last && spending !== undefined ? spending : await loadSpending(store, agentId)
        if (!isCurrent()) return
        setSpending(loaded)
        setLast(number)
        setError(undefined)
      } catch (caught) {
        if (isCurrent()) setError(errorMessage(caught))
      }
    },
    4_000,
    [store, agentId, store.node?.genesisHash],
  )
  const keyOf = ({ network, assetId }: DailySpending): string => `${network} ${assetId}`
  const shown = spending?.byAsset.find((one) => keyOf(one) === selected) ?? spending?.byAsset[0]
  const showIn =
    (asset: DailySpending) =>
    (amount: bigint): string =>
      formatAmount({ network: asset.network, assetId: BigInt(asset.assetId), amount }, dollars)
  const hasPayees = shown !== undefined && shown.payees.length > 0
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
                  {unitName(showIn(one)(1_000_000n))}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <ErrorText text={error} />
      {spending !== undefined && shown === undefined && <p class="empty">Nothing spent in the last {dayCount} days.</p>}
      {spending?.isCut && (
        <p class="note">The charts cover the latest {(pageCount * maxPages).toLocaleString('en')} signatures only.</p>
      )}
      {shown !== undefined && <DayChart spending={shown} show={showIn(shown)} />}
      {hasPayees && (
        <>
          <div class="section-head">
            <h2>Spending by payee</h2>
          </div>
          <PayeeChart payees={shown.payees} show={showIn(shown)} />
        </>
      )}
    </>
  )
}

async function loadSpending(store: Store, agentId: string | undefined): Promise<Spending> {
  const nowMs = Date.now()
  const query = { agent_id: agentId, events: [...spendingEvents], after_ms: firstDayMs(nowMs), count: pageCount }
  const records: AuditRecord[] = []
  let beforeNumber = 0
  for (let page = 0; page < maxPages; page++) {
    const found = await searchAudit(store.daemon, { ...query, before_number: beforeNumber })
    records.push(...found.records)
    beforeNumber = found.continueFrom
    if (beforeNumber === 0) break
  }
  return { byAsset: dailySpending(records, nowMs, store.node?.genesisHash), isCut: beforeNumber !== 0 }
}

/** `Dollars`, `ALGO`, `asset 123`. */
function unitName(amount: string): string {
  return amount.startsWith('$') ? 'Dollars' : amount.replace(/^\S+ /, '')
}

type DayProps = { spending: DailySpending; show: (amount: bigint) => string }

const dayMs = 86_400_000

/** An agent's spending on each of the last days. */
function DayChart({ spending, show }: DayProps) {
  const { days, total } = spending
  return (
    <BarChart
      title={`Spending by day, the last ${dayCount} days`}
      about={`${show(total)} in ${dayCount} days. The table below has the figures.`}
      stepMs={dayMs}
      buckets={days.map(({ fromMs, amount }) => ({ fromMs, confirmed: amount, unconfirmed: 0n }))}
      show={show}
      formatFrom={formatDay}
    >
      <FigureTable columns={['Day', 'Spent']}>
        {days
          .filter(({ amount }) => amount > 0n)
          .map(({ fromMs, amount }) => (
            <tr key={fromMs}>
              <td>{formatDay(fromMs)}</td>
              <td class="figure">{show(amount)}</td>
            </tr>
          ))}
      </FigureTable>
    </BarChart>
  )
}

type PayeeProps = { payees: readonly PayeeTotal[]; show: (amount: bigint) => string }

const maxShown = 10

/** Spending by payee: a table whose rows have bars. */
function PayeeChart({ payees, show }: PayeeProps) {
  const shown = payees.slice(0, maxShown)
  const rest = payees.slice(maxShown)
  const top = shown[0]?.amount ?? 0n
  return (
    <FigureTable columns={['Payee', 'Payments', 'Spent']} class="bar-table">
      {shown.map(({ address, amount, count }) => (
        <tr key={address}>
          <td>
            <ShortAddress address={address} />
            <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
              <rect width={Math.max(0.5, ratio(amount, top) * 100)} height={1} />
            </svg>
          </td>
          <td class="figure">{count.toLocaleString('en')}</td>
          <td class="figure">{show(amount)}</td>
        </tr>
      ))}
      {rest.length > 0 && (
        <tr>
          <td>{rest.length === 1 ? 'One other payee' : `${rest.length} other payees`}</td>
          <td class="figure">{rest.reduce((sum, { count }) => sum + count, 0).toLocaleString('en')}</td>
          <td class="figure">{show(rest.reduce((sum, { amount }) => sum + amount, 0n))}</td>
        </tr>
      )}
    </FigureTable>
  )
}
