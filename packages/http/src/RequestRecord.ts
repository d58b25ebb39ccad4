/** The record of a finished request: enough for a log line, without secrets. */

/** A finished request. */
export type RequestRecord = {
  /** The `X-Request-Id` of the response. */
  readonly id: string
  /** One of the usual methods, or `OTHER`. */
  readonly method: string
  /** The pattern of the path, such as `/v2/accounts/{address}`, or {@link noRoute} for a path that is not served. */
  readonly route: string
  /** The status of the response; 0 if there is none. */
  readonly status: number
  readonly durationMs: number
  /** The size of the response body; with `recordRequests`, of the whole response. */
  readonly bytes: number
  /** Whether the whole response was passed to the connection. False if the peer left before. */
  readonly isComplete: boolean
  /** The id of the payment of the request, if the handler set it. */
  readonly payment?: string | undefined
}

/** The route of a request without one. The path itself may contain anything, including secrets, and is not recorded. */
export const noRoute = '-'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A client can send any word as the method. */
export function knownMethod(method: string): string {
  return methods.has(method) ? method : 'OTHER'
}

/** The part of a record that its handler completes. */
export function recordPart(method: string): { method: string; route: string; payment: string | undefined } {
  return { method: knownMethod(method), route: noRoute, payment: undefined }
}
