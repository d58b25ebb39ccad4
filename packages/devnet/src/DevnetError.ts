import { LatchkeyError } from '@latchkey/algorand'
import { errors } from './errors.js'

type Code =
  | 'invalid_option'
  | 'address_in_use'
  | 'listen_failed'
  | 'invalid_time'
  | 'unknown_snapshot'
  | 'too_many_faults'
  | 'too_many_waiting'
  | 'programs_not_loaded'
  | 'outcome_changed'

/** A devnet call that cannot be carried out, because of an option, a port, a time, a snapshot or a fault. */
export class DevnetError extends LatchkeyError<Code> {
  override name = 'DevnetError'

  constructor(code: Code, message: string, cause?: unknown) {
    super(code, message, { hint: errors[code].hint, cause })
  }
}
