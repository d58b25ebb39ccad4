/** Every error of the daemon: error responses, and errors that keep the daemon from starting. */
import { type ErrorRegistry, LatchkeyError } from '@latchkey/algorand'
import { apiErrors, type Code } from '@latchkey/kmd-api'

export { apiErrors, type Code } from '@latchkey/kmd-api'

/** Errors that keep the daemon from starting. */
export const startErrors = {
  blank_data_dir: {
    message: 'the data directory must not be blank',
    hint: 'give the data directory, for example with -d',
  },
  log_not_writable: {
    message: 'failed to open log file',
    hint: "create the data directory, and make it writable for the daemon's user",
  },
  invalid_config: {
    message: 'kmd_config.json contains an invalid value',
    hint: 'correct the setting that the message names; kmd_config.json.example shows all of them',
  },
  invalid_token_file: {
    message: 'the token in kmd.token is too short or too long',
    hint: 'delete kmd.token to get a new token, or write one of 64 to 256 characters',
  },
  invalid_address: {
    message: 'the address to listen on is not host:port',
    hint: 'set "address" in kmd_config.json to host:port, for example 127.0.0.1:7833',
  },
  unix_socket: {
    message: 'the Unix socket cannot be used',
    hint: `set "unix_socket" in kmd_config.json to an absolute path in a directory that only the daemon's user can write to`,
  },
  already_running: {
    message: 'failed to lock kmd.lock; is an instance of kmd already running in this data directory?',
    hint: 'stop the other daemon, or use another data directory',
  },
  start_failed: {
    message: 'the daemon could not start',
    hint: 'the message gives the reason; kmd.log in the data directory contains it too',
  },
} as const satisfies ErrorRegistry

/** Why a file in the wallets directory is not a wallet. Used as the cause of other errors and in kmd.log. */
export const fileErrors = {
  not_a_wallet: {
    message: 'the file is not a wallet, or is damaged',
    hint: 'restore the file from a backup, or move it out of the wallets directory',
  },
} as const satisfies ErrorRegistry

/** Every error code of the daemon and its remedy. Error responses also have a status. */
export const errors = { ...apiErrors, ...startErrors, ...fileErrors } as const satisfies ErrorRegistry

/** The optional parts of a {@link KmdError}. */
export type KmdErrorOptions = {
  /** Replaces the registry's text if it carries details, such as an operating system message. */
  message?: string
  /** Response headers for data that has no place in the body of an error: name, value. */
  headers?: readonly string[]
  /** Sent as `Retry-After`. */
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** An error with a defined response. Any other error is a defect and results in a 500. */
export class KmdError extends LatchkeyError<Code> {
  override name = 'KmdError'
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  readonly headers: readonly string[]

  constructor(code: Code, { message, headers = [], retryAfterSeconds, cause }: KmdErrorOptions = {}) {
    const entry = apiErrors[code]
    super(code, message ?? entry.message, { hint: entry.hint, cause })
    this.status = entry.status
    this.retryAfterSeconds = retryAfterSeconds
    this.headers = headers
  }
}

/** The Go daemon's exit codes, which its launcher acts on. */
export const exitCodes = { ok: 0, usage: 1, log: 2, start: 3, locked: 4 } as const

/** A code of a {@link StartError}. */
export type StartErrorCode = keyof typeof startErrors

/** The daemon cannot start. */
export class StartError extends LatchkeyError<StartErrorCode> {
  override name = 'StartError'
  /** Set if the reason should be in kmd.log but could not be written, for example on a full disk. */
  isLogLost = false

  constructor(
    code: StartErrorCode,
    { message, hint, cause }: { message?: string; hint?: string; cause?: unknown } = {},
  ) {
    const entry = startErrors[code]
    super(code, message ?? entry.message, { hint: hint ?? entry.hint, cause })
  }

  /** The exit code of a process that ends because of this error. */
  get exitCode(): number {
    if (this.code === 'log_not_writable') return exitCodes.log
    return this.code === 'already_running' ? exitCodes.locked : exitCodes.start
  }
}
