/** Signatures from before those that the daemon lists itself, from the audit log, which survives restarts. */
import { nodeOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { type AuditPage, type AuditRecord, searchAudit } from '../audit.js'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { ErrorText } from '../components/ErrorText.js'
import { errorMessage } from '../messages.js'
import { actorText, eventTitle, summary } from '../model/auditWords.js'
import { safeName } from '../model/safeName.js'
import { shortAddress } from '../model/shortAddress.js'
import { formatTime } from '../model/time.js'
import { usePolling } from '../polling.js'
import { type Store, useStore } from '../store.js'

const events = ['transaction_signed', 'multisig_signed', 'program_signed']

type Props = {
  /** Later signatures are in the daemon's own list. */
  beforeMs: number
  count: number
  title: string
  /** Whether older ones can be loaded. */
  hasMore: boolean
}

export function EarlierPayments({ beforeMs, count, title, hasMore }: Props) {
  const store = useStore()
  const [page, setPage] = useState<AuditPage>({ records: [], continueFrom: 0 })
  const [error, setError] = useState<string>()
  const load = async (beforeNumber: number): Promise<AuditPage> => {
    const found = await searchAudit(store.daemon, { events, before_ms: beforeMs, before_number: beforeNumber, count })
    await loadStatuses(store, found.records)
    return found
  }
  // Earlier records never change.
  usePolling(
    async (isCurrent) => {
      if (page.records.length > 0) return
      try {
        const found = await load(0)
        if (isCurrent()) setPage(found)
      } catch (caught) {
        if (isCurrent()) setError(errorMessage(caught))
      }
    },
    60_000,
    [store, beforeMs],
  )
  const loadOlder = async (): Promise<void> => {
    try {
      const found = await load(page.continueFrom)
      setPage({ ...found, records: [...page.records, ...found.records] })
    } catch (caught) {
      setError(errorMessage(caught))
    }
  }
  // The record of a payment is made just before its signature.
  const listed = new Set(store.payments.newestFirst.map(({ transactionId }) => transactionId))
  const earlier = page.records.filter(({ transaction }) => transaction === '' || !listed.has(transaction))
  // New signatures take the place of earlier ones.
  const shown = hasMore ? earlier : earlier.slice(0, count)
  if (shown.length === 0 && error === undefined) return null
  return (
    <>
      {title !== '' && (
        <div class="section-head">
          <h2>{title}</h2>
        </div>
      )}
      <ErrorText text={error} />
      <ol class="rows payments" aria-label="Earlier signatures, newest first">
        {shown.map((record) => (
          <EarlierRow key={record.number} record={record} />
        ))}
      </ol>
      {hasMore && page.continueFrom > 0 && (
        <button type="button" onClick={() => void loadOlder()}>
          Show older
        </button>
      )}
    </>
  )
}

function EarlierRow({ record }: { record: AuditRecord }) {
  const store = useStore()
  const { atMs, transaction, walletName } = record
  const status = store.payments.status(transaction)
  const paid = summary(record, { node: store.node }).replace(/\.$/, '')
  // The same emphasis as in the daemon's own list.
  const [, amount = '', rest = ''] = /^(.+?)( to [A-Z2-7]{58}.*)$/s.exec(paid) ?? []
  return (
    <li>
      <time>{formatTime(atMs)}</time>
      <div class="what">
        <p>
          {amount !== '' && <b class="amount">{amount}</b>}
          <Description text={amount !== '' ? rest : paid === '' ? eventTitle(record.event) : paid} isShort />
        </p>
        <p class="soft small">
          by {actorText(record)}
          {walletName !== '' && `, wallet ${safeName(walletName)}`}
        </p>
      </div>
      <div class="status">
        {status?.state === 'confirmed' && (
          <span class="status-good">confirmed in round {status.round.toLocaleString('en')}</span>
        )}
        {transaction !== '' && <CopyButton text={transaction} what={shortAddress(transaction)} label="Copy ID" />}
      </div>
    </li>
  )
}

/** A node forgets transactions after some time, so that only a confirmation means something. */
async function loadStatuses(store: Store, records: readonly AuditRecord[]): Promise<void> {
  const ids = [...new Set(records.map(({ transaction }) => transaction))]
    .filter((id) => id !== '' && store.payments.status(id) === undefined)
    .slice(0, maxIds)
  if (ids.length === 0 || !(await store.hasNode())) return
  try {
    const { transactions } = await store.daemon.call(nodeOperations.FindTransactions, { transaction_ids: ids })
    store.payments.update(transactions)
  } catch {
    // The rows are shown without their status.
  }
}

const maxIds = 50
