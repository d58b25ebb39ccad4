export * from './client/index.js'
export * as Facilitating from './facilitator/index.js'
export * as Selling from './server/index.js'
