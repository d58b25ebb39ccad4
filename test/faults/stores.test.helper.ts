/** Opens the stores of a fault test by address. */
import type { SettlementStore } from '@latchkey/x402/facilitator'
import { PostgresClaims, PostgresSettlements } from '@latchkey/x402/postgres'
import { RedisClaims } from '@latchkey/x402/redis'
import type { ClaimStore } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import type { HistoryLog } from './history.test.helper.js'
import { withChanges } from './plants.test.helper.js'

/** Short, so a killed replica is replaced soon. */
const leaseMs = 3_000

export function openSettlements(address: string): Promise<SettlementStore> {
  return PostgresSettlements.open({ address, leaseMs })
}

/** `FAULTS_LEASES=long` turns renewals off for comparison: leases last as long as a request can take. */
export async function openClaims(address: string): Promise<ClaimStore> {
  const store = await openAny(address)
  return process.env['FAULTS_LEASES'] === 'long' ? withChanges<ClaimStore>(store, { renewals: undefined }) : store
}

async function openAny(address: string): Promise<ClaimStore> {
  if (address.startsWith('/')) return new SqliteClaims(address)
  return address.startsWith('redis:') ? RedisClaims.open({ address }) : PostgresClaims.open({ address })
}

/** Logs the claims that a gate makes and ends. */
export function writeDown(store: ClaimStore, history: HistoryLog): ClaimStore {
  return withChanges<ClaimStore>(store, {
    claim: async (transactionId, lease) => {
      const result = await store.claim(transactionId, lease)
      const isClaimed = result.type !== 'busy' && result.type !== 'taken' && result.type !== 'purchased'
      if (isClaimed) history.add({ type: 'claimed', transactionId, result: result.type, fence: result.fence })
      return result
    },
    finish: async (transactionId, owner, end, ...rest) => {
      const isOwn = await store.finish(transactionId, owner, end, ...rest)
      history.add({ type: 'ended', transactionId, end })
      return isOwn !== false
    },
  })
}
