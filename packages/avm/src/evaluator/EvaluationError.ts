import { LatchkeyError } from '@latchkey/algorand'
import type { Call } from '../application/Call.js'
import { errors } from '../errors.js'

/** A program failed. The message is the reason in the words of algod. */
export class EvaluationError extends LatchkeyError<'evaluation_failed'> {
  override name = 'EvaluationError'
  /** The outermost application call whose program failed, with its stack and position. */
  readonly call: Call | undefined

  constructor(reason: string, call?: Call) {
    super('evaluation_failed', reason, { hint: errors.evaluation_failed.hint })
    this.call = call
  }
}
