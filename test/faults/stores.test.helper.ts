/** The stores of a fault test, by their address. */
import type { SettlementStore } from '@latchkey/x402/facilitator'
import { PostgresClaims, PostgresSettlements } from '@latchkey/x402/postgres'
import { RedisClaims } from '@latchkey/x402/redis'
import type { ClaimStore } from '@latchkey/x402/server'

/** A replica that was killed is replaced soon: the test is short. */
const leaseMs = 3_000

export function openSettlements(address: string): Promise<SettlementStore> {
  return PostgresSettlements.open({ address, leaseMs })
}

export function openClaims(address: string): Promise<ClaimStore> {
  return address.startsWith('redis:') ? RedisClaims.open({ address }) : PostgresClaims.open({ address })
}
