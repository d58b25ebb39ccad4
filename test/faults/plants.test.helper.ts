/** Faults that are planted into stores, one at a time, for a checker that has to find each. */
import type { SettlementStore } from '@latchkey/x402/facilitator'
import type { ClaimStore } from '@latchkey/x402/server'

export function plantInSettlements(store: SettlementStore, plant: string | undefined): SettlementStore {
  if (plant === undefined) return store
  throw new Error(`no plant ${plant}`)
}

export function plantInClaims(store: ClaimStore, plant: string | undefined): ClaimStore {
  if (plant === undefined) return store
  throw new Error(`no plant ${plant}`)
}
