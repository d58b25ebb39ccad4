/** The documentation of one error code. */
export type ErrorEntry = {
  /** A general description of the error. The message of a thrown error may have more details. */
  readonly message: string
  /** The suggested remedy. */
  readonly hint: string
}

/** The error codes of a package. Each package exports its registry as `errors`. */
export type ErrorRegistry = { readonly [code: string]: ErrorEntry }

/** The optional parts of a {@link LatchkeyError}. */
export type LatchkeyErrorOptions = {
  /** The suggested remedy. */
  readonly hint?: string | undefined
  /** The error that caused this one. */
  readonly cause?: unknown
}

/**
 * The base class of all errors that Latchkey's packages throw. Programs match on `code`, which is stable and listed in
 * the `errors` registry of the package; `message` and `hint` are for people.
 *
 * @example
 * try {
 *   Address.decode(text)
 * } catch (error) {
 *   if (error instanceof LatchkeyError && error.code === 'invalid_address') console.error(error.message, error.hint)
 *   else throw error
 * }
 */
export class LatchkeyError<Code extends string = string> extends Error {
  override name = 'LatchkeyError'
  /** Identifies the case. Codes are stable: changing one is a breaking change. */
  readonly code: Code
  /** The suggested remedy, or undefined if there is none. */
  readonly hint: string | undefined

  constructor(code: Code, message: string, { hint, cause }: LatchkeyErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.hint = hint
  }
}
