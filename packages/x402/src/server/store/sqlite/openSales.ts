import { existsSync } from 'node:fs'
import { naming, StoreError } from '../../../db/StoreError.js'
import * as Sqlite from '../../../db/sqlite/Sqlite.js'
import type { SaleStore } from '../Sales.js'
import { SqliteSales } from './SqliteSales.js'

/** The sales in a file, and a function that closes it. */
export type OpenSales = { readonly sales: SaleStore; readonly close: () => void }

/** The first version of the file that has sales. */
const firstVersion = 3

/**
 * Opens the sales in a file of `SqliteClaims` for reading while the shop runs. Creates and migrates nothing.
 *
 * @throws {@link StoreError} for a file that is missing, or has no sales
 */
export function openSales(path: string): OpenSales {
  if (!existsSync(path)) {
    const hint = 'Pass the file that the seller passes to SqliteClaims.'
    throw new StoreError('store_failed', `the store ${path}: there is no such file`, { hint })
  }
  const database = naming(path, () => Sqlite.openAny(path))
  try {
    // Leaves the file unchanged, even if it is of another kind.
    naming(path, () => database.exec('PRAGMA busy_timeout = 10000; PRAGMA query_only = ON;'))
    const found = naming(path, () => database.prepare('PRAGMA user_version').get()) as { user_version: number }
    const table = naming(path, () => database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sales'").get())
    if (Number(found.user_version) < firstVersion || table === undefined) {
      const hint = 'A file of an older version is upgraded when a seller of this version opens it.'
      throw new StoreError('store_failed', `the store ${path}: it has no sales table`, { hint })
    }
    const inTransaction = (): never => {
      throw new StoreError('store_failed', `the store ${path}: it was opened read-only`)
    }
    const sales = new SqliteSales({ database, inTransaction, path })
    return { sales, close: () => database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}
