/** Repeats requests whose connection broke before there was a response. */
import { TransportError, type TransportRequest } from './Transport.js'

/** More would be a daemon that closes every connection. */
const maxRepeatable = 3
const maxOthers = 2
/** A daemon that closes connections before anything is sent is short of them, or this machine is too busy to send in time. */
const maxUnsent = 20
/** Before a later attempt: a daemon that is short of connections closes some of them. */
const pauseMs = 100

/**
 * Runs attempts until one has a response, within the time of the request. A daemon closes idle connections, sometimes just as a request is
 * sent on one, and it closes others where it has too many. Reading and signing are repeated in any case: a transaction counts once, however often
 * it is signed. What changes something is repeated only if its connection had been idle, so that the daemon has not seen it.
 */
export async function repeating<T>(
  { once, repeatable, timeoutMs, signal }: Pick<TransportRequest, 'once' | 'repeatable' | 'timeoutMs' | 'signal'>,
  run: (attempt: number, leftMs: number) => Promise<T>,
): Promise<T> {
  const endAt = performance.now() + timeoutMs
  let wasSent = false
  let unsent = 0
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(attempt + unsent, attempt + unsent === 0 ? timeoutMs : endAt - performance.now())
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      error.wasSentBefore = wasSent
      if (error.isReset && error.isUnsent && unsent < maxUnsent && !signal?.aborted) {
        unsent++
        attempt--
        await pause(endAt)
        if (signal?.aborted || performance.now() >= endAt) throw error
        continue
      }
      const isLast = attempt + 1 >= (repeatable ? maxRepeatable : maxOthers)
      const maySee = error.isNewConnection && !repeatable
      if (once || isLast || maySee || !error.isReset || signal?.aborted) throw error
      wasSent ||= error.isNewConnection
      if (attempt > 0) await pause(endAt)
      if (signal?.aborted || performance.now() >= endAt) throw error
    }
  }
}

function pause(endAt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(pauseMs, endAt - performance.now()))))
}
