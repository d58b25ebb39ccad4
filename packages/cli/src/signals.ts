import { exitCodes } from './exitCodes.js'

export type SignalOptions<T> = {
  /** @default stops what was started */
  onSignal?: ((started: T, signal: NodeJS.Signals) => void) | undefined
  /**
   * Whether SIGHUP, sent when the terminal closes, counts as a signal to stop: for what belongs to its terminal, and only if
   * it has one. A server goes on.
   * @default false
   */
  endsWithTerminal?: boolean | undefined
  /**
   * Called on SIGHUP, which service managers and logrotate send: opens logs and reads settings again.
   * @default it is ignored
   */
  onHangup?: ((started: T) => void) | undefined
  /**
   * Whether a second signal during the start ends the process at once: for a start that waits for others, who may not answer.
   * @default false
   */
  secondEndsStart?: boolean | undefined
}

/** Starts something and stops it on SIGINT and SIGTERM, also on one that arrives during the start. */
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
  // An error of starting or stopping is reported where that promise is awaited.
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
