/**
 * Starts something that stops in order on the signals that launchers and terminals send, also on one that comes while
 * it starts. A closed terminal does not stop it.
 */
export function startUnderSignals<T extends { stop: () => Promise<void> }>(start: () => Promise<T>): Promise<T> {
  let starting: Promise<T> | undefined
  // What fails to start or to stop says so where that is awaited.
  const stop = (): void => void starting?.then((started) => started.stop()).catch(() => {})
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  process.on('SIGHUP', () => {})
  starting = start()
  return starting
}
