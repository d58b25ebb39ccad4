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
  /** @default the hint registered for the code */
  hint?: string | undefined
  cause?: unknown
}

/**
 * The error thrown by every failed call. If the daemon rejected the call, the message is the daemon's. The message
 * never contains a secret.
 *
 * `code` is one of the daemon's codes (`wrong_password`, `handle_expired`, `key_not_found`, ...; the daemon's registry
 * lists them) or one of the client's:
 *
 * - `daemon_not_running`: nothing listens at the address, or no daemon is running in the data directory. Nothing was sent.
 * - `foreign_listener`: another user's program listens at the address in `kmd.net`. Nothing was sent.
 * - `connection_lost`: the connection broke before the response was complete.
 * - `timeout`: no response within `timeoutMs`.
 * - `data_directory_unreadable`: `kmd.net` or `kmd.token` cannot be read or is empty.
 * - `data_directory_unsupported`: this runtime has no file system, or the operating system does not reveal which
 *   program listens at an address. Pass `address` and `token`.
 * - `invalid_response`: the server that responded is not a key daemon.
 * - `response_too_large`: the response is longer than `maxResponseBytes`.
 * - `operation_not_supported`: the operation exists only in Latchkey's daemon, not in the Go daemon.
 * - `daemon_error`: the daemon rejected the call with a message that has no code here.
 * - `invalid_argument`: the client rejected the call before sending anything.
 * - `wallet_name_not_found`, `wallet_name_ambiguous`: no wallet, or more than one, has the name.
 * - `password_required`: the operation needs a password and none is known. Nothing was sent.
 * - `wallet_locked`: the handle expired, and no password is known to unlock the wallet again.
 * - `multisig_incomplete`: the wallet has too few of the multisig's keys for a signer.
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
  /** The operation's name in the API, such as `SignTransaction`; `connect` before the first operation. */
  readonly operation: string
  /** The HTTP status of the response; undefined if there was no response. */
  readonly status: number | undefined
  /** How long the daemon asks callers to wait before retrying. The client never retries a rejected call. */
  readonly retryAfterSeconds: number | undefined
  /**
   * Why an agent's signature was refused: the rule, the amount requested, the amount left, and when more is available.
   */
  readonly refusal: AgentRefusal | undefined
  /** The approval that the agent's payment is waiting for. */
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

/** Rejects a response with a member that is missing or has a wrong type. */
export function invalidResponse(operation: string, name: string): never {
  const message = `the response to ${operation} has no valid "${name}"`
  throw new KmdClientError('invalid_response', message, { operation, status: 200 })
}
