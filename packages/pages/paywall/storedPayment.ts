/**
 * A signed payment without a final response. It stays in this tab, even across a reload, so that the page sends the
 * same payment again instead of making another.
 */
import { pageUrl } from './pageData.js'

export type StoredPayment = {
  readonly header: string
  readonly transactionId: string
  readonly price: string
  readonly network: string
  readonly signedMs: number
}

const key = `x402-payment:${pageUrl}`
let inMemory: StoredPayment | undefined

export function storePayment(payment: StoredPayment): void {
  inMemory = payment
  try {
    sessionStorage.setItem(key, JSON.stringify(payment))
  } catch {
    // Storage is disabled, so the payment is only kept while the page is open.
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

export function clearStoredPayment(): void {
  inMemory = undefined
  try {
    sessionStorage.removeItem(key)
  } catch {
    // Storage is disabled.
  }
}
