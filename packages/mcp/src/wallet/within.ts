/**
 * Resolves with the value of the promise once it is fulfilled, or with undefined on timeout or when the signal aborts.
 */
export async function within<T>(
  promise: Promise<T> | undefined,
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  let end = (): void => {}
  const over = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined)
  })
  const timer = setTimeout(end, ms)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}
