/** Frees the buffers of forwarded bodies early. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Node allocates a buffer for each part of a body, and V8 keeps about 40 MB of those that are no longer used. A
 * collection of young objects takes less than a millisecond.
 */
const collectAfterBytes = 4 * 1024 * 1024

/** Returns a function to call with the number of bytes of each buffer. */
export function bufferCollector(): (bytes: number) => void {
  let collect: ((options: { type: 'minor' }) => void) | undefined
  let pending = 0
  return (bytes) => {
    pending += bytes
    if (pending < collectAfterBytes) return
    pending = 0
    collect ??= collector()
    collect({ type: 'minor' })
  }
}

/** The function exists only in contexts that are created while the flag is set. */
function collector(): (options: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  const found: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof found === 'function' ? (found as () => void) : () => {}
}
