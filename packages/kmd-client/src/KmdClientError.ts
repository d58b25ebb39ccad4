import { LatchkeyError } from '@latchkey/algorand'
import type { AgentRefusal } from './agentTypes.js'
import { errors, type KmdClientErrorCode } from './errors.js'

/** The details of a {@link KmdClientError}. */
export type KmdClientErrorOptions = {
  operation: string
  status?: number | undefined
  retryAfterSeconds?: number | undefined
  refusal?: AgentRefusal | undefined
  approvalId?: string | undefined
  /** @default the hint of the code in the registry */
  hint?: string | undefined
  cause?: unknown
}

/**
 * Every failure of a call. The message is the daemon's own where the daemon refused; it never holds a secret.
 *
 * `code` is one of the daemon's codes (`wrong_password`, `handle_expired`, `key_not_found`, ...; the daemon's registry
 * lists them) or one of the client's:
 *
 * - `daemon_not_running`: nothing listens at the address, or no daemon runs in the data directory. Nothing was sent.
 * - `foreign_listener`: another user's program listens at the address in `kmd.net`. Nothing was sent.
 * - `connection_lost`: the connection broke before the response was complete.
 * - `timeout`: no response within `timeoutMs`.
 * - `data_directory_unreadable`: `kmd.net` or `kmd.token` cannot be read or is empty.
 * - `data_directory_unsupported`: this runtime has no files, or its system does not tell which program listens at an
 *   address; pass `address` and `token`.
 * - `invalid_response`: what responds is not a key daemon.
 * - `response_too_large`: the response is longer than `maxResponseBytes`.
 * - `operation_not_supported`: an operation of Latchkey that the Go daemon does not have.
 * - `daemon_error`: the daemon refused with a text that has no code here.
 * - `invalid_argument`: refused by the client before anything was sent.
 * - `wallet_name_not_found`, `wallet_name_ambiguous`: no wallet, or several, of the name.
 * - `password_required`: the operation needs a password and none is known. Nothing was sent.
 * - `wallet_locked`: the handle expired, and no password is known to unlock the wallet with.
 * - `multisig_incomplete`: the wallet has too few keys of a multisig for a signer of it.
 * - `wallet_released`: `release()` was called before.
 *
 * @example
 * try {
 *   await kmd.unlock({ name: 'treasury', password })
 * } catch (error) {
 *   if (error instanceof KmdClientError && error.code === 'wrong_password') askAgain()
 *   else throw error
 * }
 */
export class KmdClientError extends LatchkeyError<KmdClientErrorCode> {
  override name = 'KmdClientError'
  /** The operation by its name in the API, such as `SignTransaction`; `connect` before the first. */
  readonly operation: string
  /** The HTTP status of the response; undefined where there was none. */
  readonly status: number | undefined
  /** How long the daemon asks to wait before the next try. The client never repeats a refused call by itself. */
  readonly retryAfterSeconds: number | undefined
  /** Why an agent was refused a signature: the rule, what was asked, what is left, and when more is available. */
  readonly refusal: AgentRefusal | undefined
  /** The approval that the payment of an agent waits for. */
  readonly approvalId: string | undefined

  constructor(code: KmdClientErrorCode, message: string, options: KmdClientErrorOptions) {
    super(code, message, { hint: options.hint ?? errors[code].hint, cause: options.cause })
    this.operation = options.operation
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
    this.refusal = options.refusal
    this.approvalId = options.approvalId
  }
}
