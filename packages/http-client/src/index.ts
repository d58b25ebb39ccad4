export { createTransport } from '#transport'
export { createFetchTransport, type Fetch } from './fetch.js'
export * as Server from './Server.js'
export {
  type Address,
  type Ends,
  type Transport,
  TransportError,
  type TransportErrorOptions,
  type TransportFailure,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
  usesPlainFetch,
} from './Transport.js'
