/** Repeats requests whose connection broke before a response arrived. */
import { TransportError } from '@latchkey/http-client'

/** Which failures of a request may be repeated, and for how long. */
export type Repeats = {
  /** Must not reach the daemon twice: never repeated, and not sent over a connection that may be stale. */
  readonly once: boolean
  /**
   * May reach the daemon twice. A request that is neither `once` nor `repeatable` is repeated only if the daemon had
   * closed an idle connection.
   */
  readonly repeatable: boolean
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** If this many attempts fail, the daemon is assumed to close every connection. */
const maxRepeatable = 3
const maxOthers = 2
/** Higher, because the daemon may be short of connections, or this machine too busy to send in time. */
const maxUnsent = 20
/** The pause before a later attempt, while a daemon short of connections closes some of them. */
const pauseMs = 100

/**
 * Runs attempts until one has a response, within the request's time limit. The daemon closes idle connections,
 * sometimes while a request is being sent, and closes others if it has too many. Reads and signatures are always
 * repeated: a transaction counts once, no matter how often it is signed. A request that changes state is repeated only
 * if its connection had been idle, so the daemon has not seen it.
 */
export async function repeating<T>(
  { once, repeatable, timeoutMs, signal }: Repeats,
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
