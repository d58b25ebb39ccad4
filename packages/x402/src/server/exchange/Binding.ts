/** Binds a claim to a resource and a buyer. */
import { Bytes, Hash } from '@latchkey/algorand'
import { PaymentHeaders, type Proof } from '@latchkey/x402-wire'
import { withoutPasses } from '../passes/passCookie.js'
import { overridesOf } from '../routes/methodOverrides.js'
import { urlOf } from '../routes/urlOf.js'
import type { ClaimLease } from '../store/Claims.js'

/**
 * A digest of the resource and the buyer. The buyer is identified by the hash of its secret. A buyer without a secret
 * is identified by everything in the request that an observer of the ledger does not know.
 *
 * @param terms the values that the price or the pass depends on, so that a payment for one set of values opens no other
 */
export function bindingOf(
  request: Request,
  { hash }: Proof,
  clientAddress: string | undefined,
  terms: readonly string[] = [],
): string {
  const { headers } = request
  const shown = [
    headers.get(PaymentHeaders.paymentSignature),
    headers.get('Authorization'),
    withoutPasses(headers.get('Cookie')),
  ]
  const forwarded = forwardedFor(request)
  // Each address has its own position, so that without a proxy the header cannot forge the address of a connection.
  const addresses = forwarded === undefined ? [null, clientAddress ?? null] : [forwarded, null]
  const buyer = hash ?? [...shown, ...addresses]
  // A program behind the gate may run the handler of another method.
  const overrides = overridesOf(request)
  const parts = [overrides, terms].filter(({ length }) => length > 0)
  return digest([resourceOf(request), buyer, ...parts])
}

/**
 * The address that the first proxy saw, if there is one. Behind several proxies the connection comes from a different
 * one each time, and a buyer that repeats its payment would be refused. The address can be forged, but an observer of
 * the ledger does not know it.
 */
function forwardedFor({ headers }: Request): string | undefined {
  const first = headers.get('X-Forwarded-For')?.split(',')[0]?.trim()
  return first === '' ? undefined : first
}

/** The value that a facilitator binds a payment to: the claims of a seller, and the resource. */
export function claimantOf(storeId: string, request: Request): string {
  return digest([storeId, resourceOf(request)])
}

export function proofOf({ hash, isProven }: Proof): ClaimLease['proof'] {
  if (hash === undefined) return 'none'
  return isProven ? 'secret' : 'hash'
}

/** Leaves out the host, because a server has several names, and replicas behind a proxy have others. */
function resourceOf(request: Request): string {
  const { pathname, search } = urlOf(request)
  return `${request.method} ${pathname}${search}`
}

function digest(value: unknown): string {
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(JSON.stringify(value))))
}
