/** Binds a claim to a resource and a buyer. */
import { Bytes, Hash } from '@latchkey/algorand'
import type { Proof } from '@latchkey/x402-wire'
import { withoutPasses } from '../passes/passCookie.js'
import type { GateRequest } from '../routes/GateRequest.js'
import type { ClaimLease } from '../store/Claims.js'

/**
 * A digest of the resource and the buyer. The buyer is identified by the hash of its secret. A buyer without a secret
 * is identified by everything in the request that an observer of the ledger does not know.
 *
 * @param terms the values that the price or the pass depends on, so that a payment for one set of values opens no other
 */
export function bindingOf(request: GateRequest, { hash }: Proof, terms: readonly string[] = []): string {
  const { payment, authorization, cookie, forwardedFor, clientAddress, overrides } = request
  // Each address has its own position, so that without a proxy the header cannot forge the address of a connection.
  const addresses = forwardedFor === undefined ? [null, clientAddress ?? null] : [forwardedFor, null]
  const buyer = hash ?? [payment, authorization, withoutPasses(cookie), ...addresses]
  // A program behind the gate may run the handler of another method.
  const parts = [overrides, terms].filter(({ length }) => length > 0)
  return digest([resourceOf(request), buyer, ...parts])
}

/** The value that a facilitator binds a payment to: the claims of a seller, and the resource. */
export function claimantOf(storeId: string, request: GateRequest): string {
  return digest([storeId, resourceOf(request)])
}

export function proofOf({ hash, isProven }: Proof): ClaimLease['proof'] {
  if (hash === undefined) return 'none'
  return isProven ? 'secret' : 'hash'
}

/** Leaves out the host, because a server has several names, and replicas behind a proxy have others. */
function resourceOf({ method, url: { pathname, search } }: GateRequest): string {
  return `${method} ${pathname}${search}`
}

export function digest(value: unknown): string {
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(JSON.stringify(value))))
}
