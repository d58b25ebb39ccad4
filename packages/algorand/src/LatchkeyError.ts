/** What the registry of a package says about one error code. */
export type ErrorEntry = {
  /** What happened, in general. A thrown error may say it with details. */
  readonly message: string
  /** What to do about it. */
  readonly hint: string
}

/** Every error code of a package with its meaning. Each package exports its own as `errors`. */
export type ErrorRegistry = { readonly [code: string]: ErrorEntry }

/** The optional parts of a {@link LatchkeyError}. */
export type LatchkeyErrorOptions = {
  /** What to do about it, for people. */
  readonly hint?: string | undefined
  /** The error that led to this one. */
  readonly cause?: unknown
}

/**
 * The base of every error that Latchkey's packages throw on purpose. Programs match on `code`, which is stable and
 * listed in the `errors` registry of the package; people read `message` and `hint`.
 *
 * @example
 * try {
 *   Address.decode(text)
 * } catch (error) {
 *   if (error instanceof LatchkeyError && error.code === 'invalid_address') askAgain(error.hint)
 *   else throw error
 * }
 */
export class LatchkeyError<Code extends string = string> extends Error {
  override name = 'LatchkeyError'
  /** Stable: changing one is a breaking change. */
  readonly code: Code
  /** What to do about it, if there is something to do. */
  readonly hint: string | undefined

  constructor(code: Code, message: string, { hint, cause }: LatchkeyErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.hint = hint
  }
}
