/** Everything for buying; `server` and `facilitator` are also entries of their own. */
export * from './client/index.js'
export * as facilitator from './facilitator/index.js'
export * as server from './server/index.js'
