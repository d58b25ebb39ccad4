/** Stores in SQLite, shared by the processes of one machine. Requires `@photostructure/sqlite` on Node below 22.16. */
export { type ErrorCode, errors, X402Error } from './errors.js'
export { type OpenSales, openSales } from './store/openSales.js'
export { SqliteError } from './store/Sqlite.js'
export { SqliteClaims, type SqliteClaimsOptions } from './store/SqliteClaims.js'
export { SqliteSettlements } from './store/SqliteSettlements.js'
export { StoreError } from './store/StoreError.js'
