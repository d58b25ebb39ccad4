/** The stores of a fault test, by their address. */
import type { SettlementStore } from '@latchkey/x402/facilitator'
import { PostgresSettlements } from '@latchkey/x402/postgres'
import type { ClaimStore } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { settings } from './settings.test.helper.js'

/** A replica that was killed is replaced soon: the test is short. */
const leaseMs = 3_000

export function openSettlements(address: string): Promise<SettlementStore> {
  return PostgresSettlements.open({ address, leaseMs })
}

export async function openClaims(_address: string): Promise<ClaimStore> {
  return new SqliteClaims(`${settings.directory()}/claims.db`)
}
