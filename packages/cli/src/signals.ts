/** What is done when one of the signals comes that launchers and terminals send. */
export type SignalOptions<T> = {
  /** Instead of stopping it. */
  onSignal?: ((started: T, signal: NodeJS.Signals) => void) | undefined
  /** Whether a closed terminal ends it; a daemon goes on. */
  endsWithTerminal?: boolean | undefined
}

/** Starts something that stops in order on those signals, also on one that comes while it starts. */
export function startUnderSignals<T extends { stop: () => Promise<void> }>(
  start: () => Promise<T>,
  { onSignal = (started) => void started.stop().catch(() => {}), endsWithTerminal = false }: SignalOptions<T> = {},
): Promise<T> {
  let starting: Promise<T> | undefined
  // What fails to start or to stop says so where that is awaited.
  const take = (signal: NodeJS.Signals): void =>
    void starting?.then((started) => onSignal(started, signal)).catch(() => {})
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, take)
  process.on('SIGHUP', endsWithTerminal ? take : () => {})
  starting = start()
  return starting
}
