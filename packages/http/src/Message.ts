/** A request and its answer, without the socket they came and went by. */
export type RawRequest = {
  method: string
  /** Path and query, as sent. */
  target: string
  /** The same object for requests of one connection whose heads are the same, letter for letter. */
  head?: object
  header: (lowerCaseName: string) => string | undefined
  /** The address the connection came in by. */
  localAddress?: () => string | undefined
  /** The address the connection came from. */
  remoteAddress?: () => string | undefined
  /**
   * Calls `listener` once if the peer goes before the answer, so that nobody waits on its behalf. A peer that only
   * ends its side cannot be told from one that went, so this counts as gone too; an answer is still sent to it.
   */
  onClose?: (listener: () => void) => void
  /** Reads the body, or fails with a `BodyError`. Called once at most, and only for a request that passed every door. */
  body: () => Buffer | Promise<Buffer>
}

/** Header names and values in turn. Bytes must not change once they are handed over: large ones are not copied. */
export type RawResponse = { status: number; headers: string[]; body: string | Uint8Array }

/** In place of a response: the connection is closed, and no answer sent. */
export const dropConnection: unique symbol = Symbol('hangUp')

export type RawAnswer = RawResponse | typeof dropConnection

/** An answer that is there already is given as it is: only one that has to be waited for costs a promise. */
export type RawHandler = (request: RawRequest) => RawAnswer | Promise<RawAnswer>
