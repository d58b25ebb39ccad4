/** The parts of the transport on Node, for a sender that streams its responses. */
export type { Connection } from './Connection.js'
export { ConnectionPool, type PoolOptions } from './ConnectionPool.js'
export { type Exchange, RequestHead } from './Exchange.js'
export type { ResponseHead } from './ResponseReader.js'
