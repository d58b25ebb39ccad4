/** Repeats requests whose connection broke before there was a response. */
import { TransportError, type TransportRequest } from './Transport.js'

/** More would be a daemon that closes every connection. */
const maxAttempts = 3
/** Before the third attempt: a daemon that is short of connections closes some of them. */
const pauseMs = 100

/**
 * Runs attempts until one has a response, within the time of the request. A daemon closes idle connections, sometimes just as a request is
 * sent on one, and it closes others where it has too many. Only requests that may be done twice are repeated: reading, and signing, which
 * counts a transaction once however often it is signed.
 */
export async function repeating<T>(
  { once, timeoutMs, signal }: Pick<TransportRequest, 'once' | 'timeoutMs' | 'signal'>,
  run: (attempt: number, leftMs: number) => Promise<T>,
): Promise<T> {
  const endAt = performance.now() + timeoutMs
  let wasSent = false
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(attempt, attempt === 0 ? timeoutMs : endAt - performance.now())
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      error.wasSentBefore = wasSent
      const mayRepeat = !once && attempt + 1 < maxAttempts && error.isReset
      if (!mayRepeat || signal?.aborted) throw error
      wasSent ||= error.isNewConnection
      if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      if (signal?.aborted || performance.now() >= endAt) throw error
    }
  }
}
