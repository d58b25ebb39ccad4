/**
 * A payment that was signed and whose answer has not come: kept in this tab until it has, also over a reload, so that it
 * is shown again and no other is made in its place.
 */
import { address } from './data.js'

export type StoredPayment = {
  readonly header: string
  readonly transactionId: string
  readonly price: string
  readonly network: string
  readonly signedMs: number
}

const key = `x402-payment:${address}`
let inMemory: StoredPayment | undefined

export function storePayment(kept: StoredPayment): void {
  inMemory = kept
  try {
    sessionStorage.setItem(key, JSON.stringify(kept))
  } catch {
    // A browser that keeps nothing: then it is kept while the page is open.
  }
}

export function storedPayment(): StoredPayment | undefined {
  if (inMemory !== undefined) return inMemory
  try {
    const text = sessionStorage.getItem(key)
    inMemory = text === null ? undefined : (JSON.parse(text) as StoredPayment)
  } catch {
    inMemory = undefined
  }
  return inMemory
}

export function forgetPayment(): void {
  inMemory = undefined
  try {
    sessionStorage.removeItem(key)
  } catch {
    // As above.
  }
}
