/** Stores in SQLite, for the processes of one machine: `@latchkey/x402/sqlite`. */
export { SqliteClaims } from './store/SqliteClaims.js'
export { SqliteSettlements } from './store/SqliteSettlements.js'
