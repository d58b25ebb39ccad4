/** A request and its answer, without the socket they came and went by. */
export type Request = {
  method: string
  /** Path and query, as sent. */
  target: string
  /** The same object for requests of one connection whose heads are the same, letter for letter. */
  head?: object
  header: (lowerCaseName: string) => string | undefined
  /** The address the connection came in by. */
  localAddress?: () => string | undefined
  /** Reads the body. Called once at most, and only for a request that passed every door. */
  body: () => Buffer | Promise<Buffer>
}

/** Header names and values in turn. */
export type Response = { status: number; headers: string[]; body: string }
