/**
 * All errors of this package, by code. Same shape as the registries of the other packages, but without their base
 * class.
 */
export const errors = {
  body_too_large: {
    status: 413,
    message: 'the request body is larger than the limit',
    hint: 'send a smaller body, or raise limits.bodyBytes of the server',
  },
  body_malformed: {
    status: 400,
    message: 'the request body is incomplete or not correctly chunked',
    hint: 'send the number of bytes that Content-Length announces, or chunks as in RFC 9112, section 7.1',
  },
  body_no_room: {
    status: 503,
    message: 'too many request bodies arrive at the same time',
    hint: 'repeat the request later, send fewer bodies at the same time, or raise limits.totalBodyBytes of the server',
  },
  body_timeout: {
    status: 408,
    message: 'the request body did not arrive in time',
    hint: 'send the body without pauses, or raise limits.requestMs or limits.slowBodyMs of the server',
  },
} as const
