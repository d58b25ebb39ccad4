/** Errors of the console, and the daemon's errors as the console represents them. */
import { type ErrorRegistry, LatchkeyError } from '@latchkey/algorand'

/** The errors that the page detects itself, with texts for people. */
export const errors = {
  daemon_unreachable: {
    message: 'The daemon does not respond.',
    hint: 'If it was stopped, start it again and open a new console link.',
  },
  session_ended: { message: 'The session has ended.', hint: 'Open a new console link.' },
  wallet_locked: { message: 'The wallet is locked.', hint: 'Unlock it again.' },
  not_base64: {
    message: 'This is not base64.',
    hint: 'Paste the transaction exactly as the other program wrote it, or choose its file.',
  },
  fee_too_high: {
    message: 'The node asks for a fee of more than 1 ALGO.',
    hint: 'Check the node, and try again later.',
  },
  wrong_signature: {
    message: 'The daemon signed a different transaction from the one shown.',
    hint: 'Nothing was sent. Please report this bug.',
  },
  file_too_large: { message: 'The file is too large for a transaction.', hint: 'Choose another file.' },
} as const satisfies ErrorRegistry

export type ConsoleErrorCode = keyof typeof errors

/** An error that the page detects itself. */
export class ConsoleError extends LatchkeyError<ConsoleErrorCode> {
  override name = 'ConsoleError'

  constructor(code: ConsoleErrorCode) {
    super(code, errors[code].message, { hint: errors[code].hint })
  }
}

/** The daemon rejected a request. The code is the daemon's own. */
export class DaemonError extends LatchkeyError {
  override name = 'DaemonError'
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  constructor(options: { code: string; message: string; status: number; retryAfterSeconds: number | undefined }) {
    super(options.code, options.message)
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): error is LatchkeyError {
  return error instanceof LatchkeyError && codes.includes(error.code)
}
