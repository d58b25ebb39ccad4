import { LatchkeyError } from '@latchkey/algorand'
import { type AlgodErrorCode, errors } from './errors.js'

/** The optional parts of an {@link AlgodError}. */
export type AlgodErrorOptions = {
  /** @default true */
  mayHaveArrived?: boolean | undefined
  /** The HTTP status of the response, if there was one. */
  status?: number | undefined
  /** @default the hint of the code in the registry */
  hint?: string | undefined
  cause?: unknown
}

/**
 * A failed request to the nodes. The message names the node and the reason, and the hint says what to do. Neither
 * contains a token.
 */
export class AlgodError extends LatchkeyError<AlgodErrorCode> {
  override name = 'AlgodError'
  /** Whether the node may have received and executed the request. False only if it certainly did not. */
  readonly mayHaveArrived: boolean
  /** The HTTP status of the response, if there was one. */
  readonly status: number | undefined

  constructor(code: AlgodErrorCode, message: string, options: AlgodErrorOptions = {}) {
    super(code, message, { hint: options.hint ?? errors[code].hint, cause: options.cause })
    this.mayHaveArrived = options.mayHaveArrived ?? true
    this.status = options.status
  }
}
