/** The published extension `bazaar`: a seller that declares it, and how a client and a facilitator read it. */
import type { RequestListener } from 'node:http'
import { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { Network } from '@x402/core/types'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  extractDiscoveryInfo,
  withBazaar,
} from '@x402/extensions/bazaar'
import express from 'express'
import { report, type Setting } from './Family.js'
import { versionOf } from './versionOf.js'

export { extractDiscoveryInfo }

export const bazaarVersion = versionOf('@x402/extensions')

/** A client of a facilitator's catalogue. */
export function catalogueClient(url: string) {
  return withBazaar(new HTTPFacilitatorClient({ url })).extensions.bazaar
}

/** Sells GET /weather, and GET /weather/:city, with a description of each. */
export function describedSeller({ network, sellerAddress, price }: Setting, facilitatorUrl: string): RequestListener {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
    .register(network as Network, new ServerScheme())
    .registerExtension(bazaarResourceServerExtension)
  const accepts = { scheme: 'exact', network: network as Network, payTo: sellerAddress, price }
  const output = { example: report }
  const inputSchema = { properties: { units: { type: 'string' } } }
  const extensions = declareDiscoveryExtension({ input: { units: 'celsius' }, inputSchema, output })
  const app = express()
  const routes = {
    'GET /weather': { accepts, description: 'The weather of their shop', mimeType: 'application/json', extensions },
    'GET /weather/:city': { accepts, description: 'The weather of a city', extensions },
  }
  app.use(paymentMiddleware(routes, server))
  app.get(['/weather', '/weather/:city'], (_, response) => void response.json(report))
  return app
}
