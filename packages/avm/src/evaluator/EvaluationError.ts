import { LatchkeyError } from '@latchkey/algorand'
import { errors } from '../errors.js'

/** A program failed. The message is the reason in the words of algod. */
export class EvaluationError extends LatchkeyError<'evaluation_failed'> {
  override name = 'EvaluationError'

  constructor(reason: string) {
    super('evaluation_failed', reason, { hint: errors.evaluation_failed.hint })
  }
}
