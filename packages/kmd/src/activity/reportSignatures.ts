/** Reports signatures after their responses, a few at a time, so that signing does not wait. */
import { SignatureLog, type SignatureRecord } from './SignatureLog.js'

/** Describing one takes up to half a millisecond. */
const perTurn = 4
/** During a flood, older signatures are skipped, because a reader could not follow them anyway. */
const maxWaiting = 64

/** A log that calls `onSignature` for its records, oldest first. During a flood, only for the latest. */
export function reportingLog(onSignature: (signature: SignatureRecord) => void): SignatureLog {
  let last = 0
  let isScheduled = false
  const report = (): void => {
    isScheduled = false
    last = Math.max(last, log.lastNumber - maxWaiting)
    for (const record of log.after(last, perTurn)) {
      last = record.number
      onSignature(record)
    }
    if (last < log.lastNumber) schedule()
  }
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(report)
  }
  const log = new SignatureLog({ onAdd: schedule })
  return log
}
