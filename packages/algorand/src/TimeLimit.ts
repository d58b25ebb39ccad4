/** Limits the time of work that takes an `AbortSignal`. */

/**
 * Returns a signal that aborts with a `TimeoutError` after `timeoutMs`, or with the first of `others`, which may be undefined. Its timer does
 * not keep a process running.
 *
 * Use it instead of combining `AbortSignal.timeout` with `AbortSignal.any`, which holds its sources weakly: in Node 20,
 * a timeout that nothing else refers to is collected as garbage and never aborts.
 */
export function signal(timeoutMs: number, ...others: readonly (AbortSignal | undefined)[]): AbortSignal {
  const limit = new AbortController()
  const abort = (): void => limit.abort(new DOMException('The operation took too long.', 'TimeoutError'))
  // A number in browsers.
  const timer: { unref?: () => void } | number = setTimeout(abort, timeoutMs)
  if (typeof timer === 'object') timer.unref?.()
  const sources = others.filter((other) => other !== undefined)
  return sources.length === 0 ? limit.signal : AbortSignal.any([...sources, limit.signal])
}
