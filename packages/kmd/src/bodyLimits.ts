/** How large the body of a request may be, besides the limit of the server. */
import type { Caller } from './api/Context.js'
import type { Operation } from './api/Operations.js'
import type { Route } from './requestRoute.js'

/** Enough for a ticket. A request without a token takes no more memory than this. */
const openBodyBytes = 1024
/**
 * Enough for the largest transaction as an array of integers. An agent's token is often in the hands of a program that
 * others control, and may have a quarter of the connections.
 */
const agentBodyBytes = 32 * 1024
/** Enough for a group of 16 of the largest application calls, in base64. */
const agentGroupBytes = 128 * 1024

/** Known from the head, before any part of the body is kept. Undefined if only the limit of the server applies. */
export function bodyLimitOf({ id }: Operation, { type }: Caller, { isOpen }: Route): number | undefined {
  if (type === 'agent') return id === 'SubmitTransaction' ? agentGroupBytes : agentBodyBytes
  return isOpen ? openBodyBytes : undefined
}
