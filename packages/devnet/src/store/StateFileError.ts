import { LatchkeyError } from '@latchkey/algorand'
import { errors } from '../errors.js'

type Code = Extract<keyof typeof errors, `state_file_${string}`>

/** The state file cannot be opened, replayed or written. */
export class StateFileError extends LatchkeyError<Code> {
  override name = 'StateFileError'

  constructor(code: Code, message: string, { hint, cause }: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { hint: hint ?? errors[code].hint, cause })
  }
}
