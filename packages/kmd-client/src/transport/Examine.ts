/** The check that the daemon, and not another program, is at the other end of a connection. */
import { LatchkeyError } from '@latchkey/algorand'
import type { Ends } from '@latchkey/http-client'

/** Why the peer is not accepted as the daemon. */
export type Doubt = {
  /** Another user's program, a daemon that has ended, or a system that does not reveal the peer. */
  reason: 'foreign' | 'stale' | 'unproven'
  message: string
}

/** Examines the peer before anything is sent to it. Resolves to undefined if the peer is the daemon. */
export type Examine = {
  connection: (ends: Ends) => Promise<Doubt | undefined>
  /** For connections that cannot be inspected. Rejects with `TransportError` if no connection can be made. */
  address: (host: string, port: number) => Promise<Doubt | undefined>
}

/** The listening program is not the daemon. Nothing was sent. */
export class UnprovenPeerError extends LatchkeyError<'unproven'> {
  override name = 'UnprovenPeerError'
  readonly doubt: Doubt

  constructor(doubt: Doubt) {
    super('unproven', doubt.message)
    this.doubt = doubt
  }
}
