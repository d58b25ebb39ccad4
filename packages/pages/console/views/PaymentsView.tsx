/** The daemon's signature log: spending over time, and each transaction with its status. */
import { useState } from 'preact/hooks'
import { Chart } from '../components/Chart.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { unitOf } from '../model/amount.js'
import { formatTime } from '../model/time.js'
import { usePaymentsPolling } from '../paymentsPolling.js'
import { useStore } from '../store.js'
import { EarlierPayments } from './lazyOverview.js'
import { idOf, PaymentRow, ProgramRow } from './PaymentRow.js'

const pollMs = 2_000
const pageLength = 50

export function PaymentsView({ transactionId: wanted }: { transactionId: string | undefined }) {
  const store = useStore()
  const { payments } = store
  const { error, statusError } = usePaymentsPolling(pollMs)
  const [assetId, setAssetId] = useState<string>()
  const [shownCount, setShownCount] = useState(pageLength)

  const spending = payments.spending()
  const shown = spending.find((one) => one.assetId === assetId) ?? spending[0]
  const entries = payments.newestFirst
  const wantedIndex = wanted === undefined ? -1 : entries.findIndex((entry) => idOf(entry) === wanted)
  return (
    <section aria-labelledby="payments-title">
      <Heading id="payments-title">Payments</Heading>
      <p class="soft lede">
        The transactions and programs that this daemon signed, with their status.
        {payments.sinceMs > 0 && ` The daemon has run since ${formatTime(payments.sinceMs)}.`}
      </p>
      <ErrorText text={error} />
      {statusError !== undefined && (
        <p class="aside">
          <b>Payment status is not available.</b> {statusError}
        </p>
      )}
      {shown !== undefined && (
        <>
          <div class="section-head">
            <h2>Spending</h2>
            <label class="inline">
              <span class="visually-hidden">Asset</span>
              <select value={shown.assetId} onChange={(event) => setAssetId(event.currentTarget.value)}>
                {spending.map((one) => (
                  <option key={one.assetId} value={one.assetId}>
                    {unitOf(one)}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <Chart spending={shown} nowMs={Date.now()} dollarIds={store.dollarIds} />
        </>
      )}
      <div class="section-head">
        <h2>Signed transactions and programs</h2>
      </div>
      {wanted !== undefined && wantedIndex < 0 && payments.sinceMs > 0 && (
        <p class="note">
          <code class="break">{wanted}</code> is not among the latest signatures of this daemon. The audit log has
          earlier ones.
        </p>
      )}
      {entries.length === 0 && payments.sinceMs > 0 && <p class="empty">Nothing signed since the daemon started.</p>}
      <ol class="rows payments" aria-label="Signed transactions and programs, newest first">
        {entries
          .slice(0, Math.max(shownCount, wantedIndex + 1))
          .map((entry) =>
            entry.program === '' ? (
              <PaymentRow
                key={entry.number}
                entry={entry}
                status={payments.status(entry.transactionId)}
                isFound={idOf(entry) === wanted}
              />
            ) : (
              <ProgramRow key={entry.number} entry={entry} isFound={idOf(entry) === wanted} />
            ),
          )}
      </ol>
      {entries.length > shownCount && (
        <button type="button" onClick={() => setShownCount(shownCount + pageLength)}>
          Show older
        </button>
      )}
      {payments.sinceMs > 0 && entries.length <= shownCount && (
        <EarlierPayments beforeMs={payments.firstMs} count={pageLength} title="Earlier, from the audit log" hasMore />
      )}
    </section>
  )
}
