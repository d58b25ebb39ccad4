import { currentState } from '../../../db/postgres/Migrations.js'
import { PostgresConnection, type PostgresOptions } from '../../../db/postgres/PostgresConnection.js'
import { StoreError } from '../../../db/StoreError.js'
import type { SaleStore } from '../Sales.js'
import { PostgresSales } from './PostgresSales.js'
import { sellerMigrations } from './sellerMigrations.js'

/** The sales in a database, and a function that closes it. */
export type OpenPostgresSales = { readonly sales: SaleStore; readonly close: () => Promise<void> }

/**
 * Opens the sales in a database of `PostgresClaims` for reading while the shop runs. Creates and migrates nothing, and
 * the server refuses changes.
 *
 * @throws StoreError for a database that cannot be used, or has no sales
 */
export async function openPostgresSales(options: PostgresOptions = {}): Promise<OpenPostgresSales> {
  const connection = await PostgresConnection.open({ maxConnections: 1, ...options })
  try {
    const { version } = await currentState(connection, sellerMigrations)
    if (version === 0) {
      const hint = 'Pass the address that the seller passes to PostgresClaims, with a role that may read its schema.'
      const message = `schema ${connection.schema} of ${connection.server} has no sales table that this role can read`
      throw new StoreError('store_failed', message, { hint })
    }
    await connection.read({ name: 'latchkey_read_only', text: 'SET default_transaction_read_only = on' })
  } catch (error) {
    await connection.close()
    throw error
  }
  return { sales: new PostgresSales(connection), close: () => connection.close() }
}
