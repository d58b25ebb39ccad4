/** The stores of a fault test, by their address. */
import { join } from 'node:path'
import type { SettlementStore } from '@latchkey/x402/facilitator'
import type { ClaimStore } from '@latchkey/x402/server'
import { SqliteClaims, SqliteSettlements } from '@latchkey/x402/sqlite'
import { settings } from './settings.test.helper.js'

export async function openSettlements(_address: string): Promise<SettlementStore> {
  return new SqliteSettlements(join(settings.directory(), 'settlements.db'))
}

export async function openClaims(_address: string): Promise<ClaimStore> {
  return new SqliteClaims(join(settings.directory(), 'claims.db'))
}
