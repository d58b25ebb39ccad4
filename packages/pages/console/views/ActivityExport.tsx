/** Saves the records that match the filters as a file. */
import { useState } from 'preact/hooks'
import { type AuditQuery, type AuditRecord, searchAudit } from '../audit.js'
import { ErrorText } from '../components/ErrorText.js'
import { errorMessage } from '../messages.js'
import { type ExportFormat, exportText } from '../model/auditExport.js'
import { saveFile } from '../saveFile.js'
import { type Store, useStore } from '../store.js'

/** Larger exports need the command, which does not hold all records in memory. */
const maxRecords = 20_000
const pageLength = 1_000

export function ActivityExport({ query }: { query: AuditQuery }) {
  const store = useStore()
  const [message, setMessage] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const save = async (format: ExportFormat): Promise<void> => {
    setBusy(true)
    setError(undefined)
    setMessage('')
    try {
      const { records, isCut } = await loadAll(store, query)
      saveFile(`audit.${format}`, exportText(records, format))
      const count = records.length === 1 ? '1 record' : `${records.length.toLocaleString('en')} records`
      setMessage(isCut ? `Saved the latest ${count}. The command below writes all of them.` : `Saved ${count}.`)
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  return (
    <>
      <h2>Export</h2>
      <p class="soft lede">
        The records that match the filters, oldest first. For the whole log: <code>latchkey audit export</code>. To
        anchor its hash on chain: <code>latchkey audit anchor</code>.
      </p>
      <p class="actions">
        <button type="button" disabled={isBusy} onClick={() => void save('jsonl')}>
          Save as JSON lines
        </button>
        <button type="button" disabled={isBusy} onClick={() => void save('csv')}>
          Save as CSV
        </button>
        <span role="status">{isBusy ? 'Loading…' : message}</span>
      </p>
      <ErrorText text={error} />
    </>
  )
}

async function loadAll(store: Store, query: AuditQuery): Promise<{ records: readonly AuditRecord[]; isCut: boolean }> {
  const records: AuditRecord[] = []
  let beforeNumber = 0
  do {
    const found = await searchAudit(store.daemon, { ...query, before_number: beforeNumber, count: pageLength })
    records.push(...found.records)
    beforeNumber = found.continueFrom
  } while (beforeNumber !== 0 && records.length < maxRecords)
  return { records, isCut: beforeNumber !== 0 }
}
