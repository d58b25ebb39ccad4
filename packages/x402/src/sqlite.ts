/** Stores in SQLite, shared by the processes of one machine. Requires `@photostructure/sqlite` on Node below 22.16. */

export { StoreError } from './db/StoreError.js'
export { SqliteError } from './db/sqlite/Sqlite.js'
export { type ErrorCode, errors, X402Error } from './errors.js'
export { SqliteSettlements } from './facilitator/store/sqlite/SqliteSettlements.js'
export { SqliteClaims, type SqliteClaimsOptions } from './server/store/sqlite/SqliteClaims.js'
export { type OpenSales, openSales } from './server/store/sqlite/SqliteSales.js'
