import { LatchkeyError } from '@latchkey/algorand'
import { errors } from '../errors.js'

/** A program failed. The message is the reason in the words of algod. */
export class EvaluationError extends LatchkeyError<'evaluation_failed'> {
  override name = 'EvaluationError'
  /** The outermost application call whose program failed, of type `Call`. */
  readonly call: object | undefined

  /** @param options.cause the failure of an inner transaction, or the error of the instruction that failed. */
  constructor(reason: string, { call, cause }: { readonly call?: object; readonly cause?: unknown } = {}) {
    super('evaluation_failed', reason, { hint: errors.evaluation_failed.hint, cause })
    this.call = call
  }
}
