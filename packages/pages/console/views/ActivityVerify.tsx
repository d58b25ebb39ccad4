/** Has the daemon verify the whole audit log, and shows the result. */
import { auditOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import type { ResponseFor } from '../daemon.js'
import { errorMessage, toSentence } from '../messages.js'
import { useStore } from '../store.js'

/** Verifying a million records takes several seconds. */
const verifyTimeoutMs = 600_000

export function ActivityVerify() {
  const store = useStore()
  const [result, setResult] = useState<ResponseFor<typeof auditOperations.VerifyAudit>>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const verify = async (): Promise<void> => {
    setBusy(true)
    setResult(undefined)
    setError(undefined)
    try {
      setResult(await store.daemon.call(auditOperations.VerifyAudit, {}, { timeoutMs: verifyTimeoutMs }))
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  return (
    <div class="verify">
      <span role="status">
        {result?.ok === true && (
          <span class="status-good">
            {result.records === 1 ? 'The one record is' : `All ${result.records.toLocaleString('en')} records are`} as
            written
          </span>
        )}
        {result?.ok === false && <span class="error">{toSentence(result.problem)}</span>}
        {error !== undefined && <span class="error">{error}</span>}
      </span>
      <button type="button" disabled={isBusy} onClick={verify}>
        {isBusy ? 'Verifying…' : 'Verify the log'}
      </button>
    </div>
  )
}
