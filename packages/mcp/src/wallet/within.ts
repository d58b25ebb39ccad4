/** Resolves when the promise has settled as fulfilled, with its value; or with undefined when the time is over or the signal aborts. */
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
