/** The parts of the transport on Node, for a sender that streams its responses. */

export { Exchange, type ExchangeConnection, type ExchangeRequest, requestHead } from './Connection.js'
export { ConnectionPool, type PoolOptions } from './node.js'
export type { ResponseHead } from './ResponseReader.js'
