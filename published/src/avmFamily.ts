/** The `@x402-avm` packages, which the teaching material of Algorand installs. They have no wrapper of fetch. */
import { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402-avm/avm'
import { ExactAvmScheme as ClientScheme } from '@x402-avm/avm/exact/client'
import { ExactAvmScheme as FacilitatorScheme } from '@x402-avm/avm/exact/facilitator'
import { ExactAvmScheme as ServerScheme } from '@x402-avm/avm/exact/server'
import { x402Client, x402HTTPClient } from '@x402-avm/core/client'
import { x402Facilitator } from '@x402-avm/core/facilitator'
import { HTTPFacilitatorClient } from '@x402-avm/core/server'
import { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402-avm/express'
import { familyOf, type Modules } from './Family.js'
import { versionOf } from './versionOf.js'

// Their types are those of an earlier version; the functions are the same.
export const avmFamily = familyOf({
  x402Client,
  ClientScheme,
  toClientAvmSigner,
  pay,
  x402ResourceServer,
  HTTPFacilitatorClient,
  ServerScheme,
  expressMiddleware,
  x402Facilitator,
  FacilitatorScheme,
  toFacilitatorAvmSigner,
} as unknown as Modules)

export const avmVersions = {
  '@x402-avm/core': versionOf('@x402-avm/core'),
  '@x402-avm/avm': versionOf('@x402-avm/avm'),
  '@x402-avm/express': versionOf('@x402-avm/express'),
  '@x402-avm/extensions': versionOf('@x402-avm/extensions'),
}

/** The quick start of `@x402-avm/core`. */
function pay(coreClient: x402Client): typeof fetch {
  const client = new x402HTTPClient(coreClient)
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.status !== 402) return response
    const paymentRequired = client.getPaymentRequiredResponse(
      (name) => response.headers.get(name),
      await response.json(),
    )
    const paymentPayload = await client.createPaymentPayload(paymentRequired)
    const headers = new Headers(init?.headers)
    for (const header of Object.entries(client.encodePaymentSignatureHeader(paymentPayload))) headers.set(...header)
    return fetch(input, { ...init, headers })
  }
}
