/** Every failure of a call, with the daemon's own text where the daemon has spoken. Never with a secret in it. */

/**
 * - `daemon`: the daemon refused; `status` and `message` are its own.
 * - `connection`: nothing answers at the address, or the connection broke.
 * - `timeout`: no answer in time.
 * - `answer`: what answers is not the daemon, or not one that knows the operation.
 * - `argument`: refused before it was sent.
 * - `password`: the operation needs a password and there is none; nothing was sent.
 * - `locked`: the handle is gone, and there is no password to unlock the wallet again with.
 */
export type Reason = 'daemon' | 'connection' | 'timeout' | 'answer' | 'argument' | 'password' | 'locked'

export type KmdClientErrorOptions = {
  operation: string
  reason: Reason
  status?: number | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

export class KmdClientError extends Error {
  override readonly name = 'KmdClientError'
  /** What was asked for, by its name in the API: `SignTransaction`. */
  readonly operation: string
  readonly reason: Reason
  /** Of the daemon's answer; undefined where there was none. */
  readonly status: number | undefined
  /** How long the daemon asks to wait before the next try. The client itself never tries again. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, options: KmdClientErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.operation = options.operation
    this.reason = options.reason
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
