/** What a server tells about a request that is over: enough for a line in a log, and no secret. */

/** A request that is over. */
export type RequestRecord = {
  /** As in the `X-Request-Id` of the response. */
  readonly id: string
  /** One of the usual methods, or `OTHER`. */
  readonly method: string
  /** The pattern of the path, such as `/v2/accounts/{address}`; {@link noRoute} for a path that is not served. */
  readonly route: string
  /** Of the response; 0 if there is none. */
  readonly status: number
  readonly durationMs: number
  /** Of the body of the response; with `recordRequests`, of all of the response. */
  readonly bytes: number
  /** Whether all of the response was passed to the connection: a peer that left gets none. */
  readonly isComplete: boolean
  /** The id of the payment that the request was about, where the handler told it. */
  readonly payment?: string | undefined
}

/** The route of a request for which there is none. The path itself may hold anything, secrets too, and is not recorded. */
export const noRoute = '-'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A method of a client can be any word. */
export function knownMethod(method: string): string {
  return methods.has(method) ? method : 'OTHER'
}

/** The part of a record that its handler completes. */
export function recordPart(method: string): { method: string; route: string; payment: string | undefined } {
  return { method: knownMethod(method), route: noRoute, payment: undefined }
}
