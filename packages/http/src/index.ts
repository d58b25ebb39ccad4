/**
 * A small, strict HTTP/1.1 server on plain sockets that serves fetch handlers fast.
 *
 * @packageDocumentation
 */
export * as Access from './Access.js'
export { BodyError, type BodyErrorCode } from './BodyReader.js'
export { errors } from './errors.js'
export { defaultLimits, type Limits } from './Limits.js'
export {
  type ConnectionEnds,
  type ConnectionInfo,
  dropConnection,
  type FetchHandler,
  type RawAnswer,
  type RawHandler,
  type RawRequest,
  type RawResponse,
} from './Message.js'
export { type NodeListenerOptions, toNodeListener } from './nodeListener.js'
export * as RequestId from './RequestId.js'
export { noRoute, type RecordRequestsOptions, type RequestRecord, recordRequests } from './RequestRecord.js'
export { Server, type ServerOptions } from './Server.js'
export { type ToFetchOptions, toFetch } from './toFetch.js'
