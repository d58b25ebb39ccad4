/** The newest `@x402` packages. */
import { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402/avm'
import { ExactAvmScheme as ClientScheme } from '@x402/avm/exact/client'
import { ExactAvmScheme as FacilitatorScheme } from '@x402/avm/exact/facilitator'
import { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import { x402Facilitator } from '@x402/core/facilitator'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { paymentMiddleware as expressMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { paymentMiddleware as honoMiddleware } from '@x402/hono'
import { familyOf, type Modules } from './Family.js'
import { versionOf } from './versionOf.js'

export const newestModules: Modules = {
  x402Client,
  ClientScheme,
  toClientAvmSigner,
  pay: (client) => wrapFetchWithPayment(fetch, client),
  x402ResourceServer,
  HTTPFacilitatorClient,
  ServerScheme,
  expressMiddleware,
  honoMiddleware,
  x402Facilitator,
  FacilitatorScheme,
  toFacilitatorAvmSigner,
}

export { setSettlementOverrides }

export const newest = familyOf(newestModules)

/** The versions that are installed, also of what the packages themselves import. */
export const newestVersions = {
  '@x402/core': versionOf('@x402/core'),
  '@x402/express': versionOf('@x402/express'),
  '@x402/fetch': versionOf('@x402/fetch'),
  '@x402/hono': versionOf('@x402/hono'),
  '@x402/avm': versionOf('@x402/avm'),
  '@x402/core of @x402/express': versionOf('@x402/core', '@x402/express'),
  '@x402/core of @x402/fetch': versionOf('@x402/core', '@x402/fetch'),
  '@x402/core of @x402/hono': versionOf('@x402/core', '@x402/hono'),
}
