import type { Daemon } from '@latchkey/kmd'

/** An orderly stop on the signals that launchers and terminals send. A closed terminal does not stop a daemon. */
export function stopOnSignals(daemon: Daemon): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void daemon.stop())
  process.on('SIGHUP', () => {})
}
