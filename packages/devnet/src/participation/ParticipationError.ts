import { LatchkeyError } from '@latchkey/algorand'

/** A participation key that the node rejects. This error never leaves the package. */
export class ParticipationError extends LatchkeyError<'request_rejected'> {
  override name = 'ParticipationError'

  constructor(message: string) {
    super('request_rejected', message, { hint: 'use a file created by goal or algokey' })
  }
}
