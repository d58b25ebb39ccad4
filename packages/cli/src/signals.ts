import type { Daemon } from '@latchkey/kmd'

/**
 * Starts a daemon that stops in order on the signals that launchers and terminals send, also on one that comes while it
 * starts. A closed terminal does not stop it.
 */
export function startUnderSignals(start: () => Promise<Daemon>): Promise<Daemon> {
  let starting: Promise<Daemon> | undefined
  // A daemon that fails to start ends by itself, and says so where it is awaited.
  const stop = (): void =>
    void starting?.then(
      (daemon) => daemon.stop(),
      () => {},
    )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  process.on('SIGHUP', () => {})
  starting = start()
  return starting
}
