/** Reports signatures as they are made, after their responses and a few at a time: signing does not wait for it. */
import { SignatureLog, type SignatureRecord } from './SignatureLog.js'

/** Describing one takes up to half a millisecond. */
const perTurn = 4
/** Older ones of a flood are passed over: a reader could not follow them either. */
const maxWaiting = 64

/** A log that calls `onSignature` for its records, oldest first; of a flood, for the latest. */
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
