/** The parts of the transport on Node, for a sender that streams its responses. */
export { ConnectionPool, type PoolOptions } from './ConnectionPool.js'
export { Exchange, type ExchangeConnection, type ExchangeRequest, requestHead } from './Exchange.js'
export type { ResponseHead } from './ResponseReader.js'
