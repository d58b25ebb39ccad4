import { exitCodes } from './exitCodes.js'

export type SignalOptions<T> = {
  /** @default stops what was started */
  onSignal?: ((started: T, signal: NodeJS.Signals) => void) | undefined
  /**
   * Whether SIGHUP, which is sent when the terminal closes, stops the process. For programs that belong to their
   * terminal, and only if they have one. A server continues.
   * @default false
   */
  endsWithTerminal?: boolean | undefined
  /**
   * Called on SIGHUP, which service managers and logrotate send, to reopen logs and reload settings.
   * @default it is ignored
   */
  onHangup?: ((started: T) => void) | undefined
  /**
   * Whether a second signal during the start ends the process immediately, for a start that waits for unresponsive
   * services.
   * @default false
   */
  secondEndsStart?: boolean | undefined
}

/** Starts something and stops it on SIGINT and SIGTERM, including a signal during the start. */
export function startUnderSignals<T extends { stop: () => Promise<void> }>(
  start: () => Promise<T>,
  {
    onSignal = (started) => void started.stop().catch(() => {}),
    endsWithTerminal = false,
    onHangup = () => {},
    secondEndsStart = false,
  }: SignalOptions<T> = {},
): Promise<T> {
  let starting: Promise<T> | undefined
  let isStarting = true
  let signals = 0
  // Errors of starting or stopping are reported where that promise is awaited.
  const handle = (signal: NodeJS.Signals): void => {
    if (secondEndsStart && isStarting && ++signals > 1) process.exit(exitCodes.interrupted)
    void starting?.then((started) => onSignal(started, signal)).catch(() => {})
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, handle)
  process.on('SIGHUP', (signal) => {
    if (endsWithTerminal) handle(signal)
    else void starting?.then(onHangup).catch(() => {})
  })
  starting = start().finally(() => {
    isStarting = false
  })
  return starting
}
