import { LatchkeyError } from '@latchkey/algorand'
import { errors } from '../errors.js'

type Code = 'invalid_dump' | 'dump_version' | 'dump_network' | 'dump_too_large' | 'dump_file_unavailable'

/** A dump cannot be read or written. */
export class DumpError extends LatchkeyError<Code> {
  override name = 'DumpError'
  /** The path of the member at fault, if there is one: `document.accounts[3].microAlgos`. */
  readonly member: string | undefined

  constructor(code: Code, message: string, { member, cause }: { member?: string; cause?: unknown } = {}) {
    super(code, message, { hint: errors[code].hint, cause })
    this.member = member
  }
}
