/** The daemon's signature log: spending over time, and each transaction with its status. */
import { useState } from 'preact/hooks'
import { maxTransactionsPerRequest } from '../api.js'
import { Chart } from '../components/Chart.js'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { errorMessage, toSentence } from '../messages.js'
import { format, formatAlgos, unitOf } from '../model/amount.js'
import { typeName } from '../model/payments.js'
import { shortAddress } from '../model/shortAddress.js'
import { formatTime } from '../model/time.js'
import { usePolling } from '../polling.js'
import type { SignatureEntry, TransactionStatus } from '../responses.js'
import { useStore } from '../store.js'

const pollMs = 2_000
const pageLength = 50

export function PaymentsView() {
  const store = useStore()
  const { payments } = store
  const [error, setError] = useState<string>()
  const [statusError, setStatusError] = useState<string>()
  const [assetId, setAssetId] = useState<string>()
  const [shownCount, setShownCount] = useState(pageLength)
  usePolling(
    async () => {
      try {
        const { sinceMs, entries } = await store.api.signatureLog(payments.lastNumber)
        payments.add(sinceMs, entries)
        setError(undefined)
      } catch (caught) {
        setError(errorMessage(caught))
      }
      store.emitChange()
      const due = payments.takeDue(Date.now(), maxTransactionsPerRequest)
      if (due.length === 0) return
      try {
        if (!(await store.hasNode())) return setStatusError(toSentence(store.node?.message ?? ''))
        payments.update(await store.api.transactionStatuses(due))
        setStatusError(undefined)
      } catch (caught) {
        setStatusError(errorMessage(caught))
      }
      store.emitChange()
    },
    pollMs,
    [store],
  )

  const spending = payments.spending()
  const shown = spending.find((one) => one.assetId === assetId) ?? spending[0]
  const entries = payments.newestFirst
  return (
    <section aria-labelledby="payments-title">
      <Heading id="payments-title">Payments</Heading>
      <p class="soft lede">
        Transactions and programs signed by this daemon
        {payments.sinceMs > 0 && ` since it started at ${formatTime(payments.sinceMs)}`}, at most the last 1,000.
      </p>
      <ErrorText text={error} />
      {statusError !== undefined && (
        <p class="aside">
          <b>The status is not available.</b> {statusError}
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
          <Chart spending={shown} nowMs={Date.now()} />
        </>
      )}
      <h2>Signed transactions and programs</h2>
      {entries.length === 0 && payments.sinceMs > 0 && <p class="empty">Nothing signed yet.</p>}
      <ol class="rows payments" aria-label="Signed transactions and programs, newest first">
        {entries
          .slice(0, shownCount)
          .map((entry) =>
            entry.program === '' ? (
              <PaymentRow key={entry.number} entry={entry} status={payments.status(entry.transactionId)} />
            ) : (
              <ProgramRow key={entry.number} entry={entry} />
            ),
          )}
      </ol>
      {entries.length > shownCount && (
        <button type="button" onClick={() => setShownCount(shownCount + pageLength)}>
          Show older
        </button>
      )}
    </section>
  )
}

function PaymentRow({ entry, status }: { entry: SignatureEntry; status: TransactionStatus | undefined }) {
  const hasAmount = entry.amount !== '0' || entry.type === 'pay'
  return (
    <li>
      <time dateTime={new Date(entry.atMs).toISOString()}>{formatTime(entry.atMs)}</time>
      <div class="what">
        <p>
          <b class="amount">
            {hasAmount ? `${format(entry.amount, entry.decimals)} ${unitOf(entry)}` : typeName(entry.type)}
          </b>
          {entry.receiver !== '' && (
            <>
              {' to '}
              <code title={entry.receiver}>{shortAddress(entry.receiver)}</code>
            </>
          )}
        </p>
        <p class="soft small">
          {hasAmount && `${typeName(entry.type)}, `}from <code title={entry.sender}>{shortAddress(entry.sender)}</code>,
          wallet {entry.walletName}
          {entry.isMultisig && ', one multisig signature'}, fee {formatAlgos(entry.feeMicroAlgos)}
        </p>
        <Warnings entry={entry} />
      </div>
      <div class="status">
        <StatusText status={status} />
        <CopyButton text={entry.transactionId} what={shortAddress(entry.transactionId)} label="Copy ID" />
      </div>
    </li>
  )
}

/** A program does nothing by being signed: it has no amount and no status, only what it may do from now on. */
function ProgramRow({ entry }: { entry: SignatureEntry }) {
  return (
    <li>
      <time dateTime={new Date(entry.atMs).toISOString()}>{formatTime(entry.atMs)}</time>
      <div class="what">
        <p>
          <b class="amount">{typeName(entry.type)}</b> <code title={entry.program}>{shortAddress(entry.program)}</code>
        </p>
        <p class="soft small">
          may sign for <code title={entry.sender}>{shortAddress(entry.sender)}</code>, wallet {entry.walletName}
          {entry.isMultisig && ', one multisig signature'}
        </p>
        <Warnings entry={entry} />
      </div>
      <div class="status">
        <CopyButton text={entry.program} what={shortAddress(entry.program)} label="Copy address" />
      </div>
    </li>
  )
}

function Warnings({ entry }: { entry: SignatureEntry }) {
  return entry.warnings.map((warning) => (
    <p class="error small" key={warning}>
      <Description text={warning} isShort />
    </p>
  ))
}

function StatusText({ status }: { status: TransactionStatus | undefined }) {
  if (status?.state === 'confirmed') {
    return <span class="status-good">confirmed in round {status.round.toLocaleString('en')}</span>
  }
  return <span class="status-open">{status?.state === 'pending' ? 'pending' : 'not found on the network'}</span>
}
