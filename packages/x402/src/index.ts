/** The buyer's API. `server` and `facilitator` also have separate entry points. */
export * from './client/index.js'
export * as facilitator from './facilitator/index.js'
export * as server from './server/index.js'
