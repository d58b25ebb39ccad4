import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SettlementStore } from '@latchkey/x402/facilitator'
import type { StoreAddress } from './StoreAddress.js'

export type OpenStore = {
  readonly store: SettlementStore
  /** For messages, without user and password. */
  readonly name: string
}

/** Opens the settlements, and updates their tables if the role may do that. */
export async function openStore(where: StoreAddress): Promise<OpenStore> {
  if (where.type === 'postgres') return openPostgres(where.address)
  const { SqliteSettlements } = await import('@latchkey/x402/sqlite')
  if (where.isDefault) mkdirSync(dirname(where.path), { recursive: true, mode: 0o700 })
  return { store: new SqliteSettlements(where.path), name: where.path }
}

async function openPostgres(address: string): Promise<OpenStore> {
  const { PostgresSettlements } = await import('@latchkey/x402/postgres')
  try {
    const store = await PostgresSettlements.open({ address, applicationName: 'latchkey facilitator' })
    return { store, name: `PostgreSQL, ${store.server}` }
  } catch (error) {
    const { explainStoreError } = await import('./storeErrors.js')
    throw explainStoreError(error)
  }
}
