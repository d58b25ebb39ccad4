/** Has the daemon verify the whole audit log, and shows the result. */
import { useState } from 'preact/hooks'
import { AuditApi, type AuditVerification } from '../auditApi.js'
import { errorMessage, toSentence } from '../messages.js'
import { useStore } from '../store.js'

export function ActivityVerify() {
  const store = useStore()
  const [result, setResult] = useState<AuditVerification>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const verify = async (): Promise<void> => {
    setBusy(true)
    setResult(undefined)
    setError(undefined)
    try {
      setResult(await new AuditApi(store.api).verify())
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  return (
    <div class="verify">
      <span role="status">
        {result?.isOk === true && (
          <span class="status-good">
            {result.records === 1 ? 'The one record is' : `All ${result.records.toLocaleString('en')} records are`} as
            written
          </span>
        )}
        {result?.isOk === false && <span class="error">{toSentence(result.problem)}</span>}
        {error !== undefined && <span class="error">{error}</span>}
      </span>
      <button type="button" disabled={isBusy} onClick={verify}>
        {isBusy ? 'Verifying…' : 'Verify the log'}
      </button>
    </div>
  )
}
