/** A family of published packages in the three roles of a payment, as their documentation writes them. */
import type { RequestListener } from 'node:http'
import type { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402/avm'
import type { ExactAvmScheme as ClientScheme } from '@x402/avm/exact/client'
import type { ExactAvmScheme as FacilitatorScheme } from '@x402/avm/exact/facilitator'
import type { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import type { x402Client } from '@x402/core/client'
import type { x402Facilitator } from '@x402/core/facilitator'
import type { HTTPFacilitatorClient } from '@x402/core/server'
import type { Network } from '@x402/core/types'
import type { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402/express'
import type { paymentMiddleware as honoMiddleware } from '@x402/hono'
import express from 'express'
import { Hono } from 'hono'

/** The settings of the parties of a payment. */
export type Setting = {
  /** The CAIP-2 id that the seller and the facilitator are configured with. */
  network: string
  algodUrl: string
  price: string
  sellerAddress: string
  /** Base64 of seed and public key. */
  buyerKey: string
  sponsorKey: string
}

/** The resource that every seller here serves at GET /weather. */
export const report = { report: { weather: 'sunny', temperature: 70 } }

export type Buys = (setting: Setting) => typeof fetch
export type Sells = (setting: Setting, facilitatorUrl: string) => RequestListener | { fetch: Hono['fetch'] }

/** The three endpoints of a facilitator, by any version of the packages. */
export type PublishedFacilitator = {
  getSupported: () => unknown
  verify: (payload: never, requirements: never) => Promise<unknown>
  settle: (payload: never, requirements: never) => Promise<unknown>
}

export type Family = {
  buyers: { readonly [name: string]: Buys }
  sellers: { readonly [name: string]: Sells }
  facilitator: (setting: Setting) => PublishedFacilitator
}

/** The parts of one version of the packages. Those that a family lacks are left out. */
export type Modules = {
  x402Client: typeof x402Client
  ClientScheme: typeof ClientScheme
  toClientAvmSigner: typeof toClientAvmSigner
  pay: (client: x402Client) => typeof fetch
  x402ResourceServer: typeof x402ResourceServer
  HTTPFacilitatorClient: typeof HTTPFacilitatorClient
  ServerScheme: typeof ServerScheme
  expressMiddleware: typeof expressMiddleware
  honoMiddleware?: typeof honoMiddleware
  x402Facilitator: typeof x402Facilitator
  FacilitatorScheme: typeof FacilitatorScheme
  toFacilitatorAvmSigner: typeof toFacilitatorAvmSigner
}

export function familyOf(modules: Modules): Family {
  const { honoMiddleware } = modules
  return {
    buyers: {
      theirs: (setting) => buyerOf(modules, setting, setting.network),
      'theirs on any network': (setting) => buyerOf(modules, setting, 'algorand:*'),
    },
    sellers: {
      theirs: (setting, url) => {
        const app = express()
        app.use(modules.expressMiddleware(routesOf(setting), serverOf(modules, setting, url)))
        app.get('/weather', (_, response) => void response.json(report))
        return app
      },
      ...(honoMiddleware && {
        'theirs on Hono': (setting: Setting, url: string) => {
          const app = new Hono()
          app.use(honoMiddleware(routesOf(setting), serverOf(modules, setting, url)))
          return app.get('/weather', (context) => context.json(report))
        },
      }),
    },
    facilitator: ({ network, sponsorKey, algodUrl }) => {
      const signer = modules.toFacilitatorAvmSigner(sponsorKey, { testnetUrl: algodUrl })
      return new modules.x402Facilitator().register(network as Network, new modules.FacilitatorScheme(signer))
    },
  }
}

function buyerOf(modules: Modules, { buyerKey, algodUrl }: Setting, network: string): typeof fetch {
  const scheme = new modules.ClientScheme(modules.toClientAvmSigner(buyerKey), { algodUrl })
  return modules.pay(new modules.x402Client().register(network as Network, scheme))
}

function serverOf(modules: Modules, { network }: Setting, url: string): x402ResourceServer {
  const client = new modules.HTTPFacilitatorClient({ url })
  return new modules.x402ResourceServer(client).register(network as Network, new modules.ServerScheme())
}

function routesOf({ network, sellerAddress, price }: Setting) {
  return {
    'GET /weather': { accepts: { scheme: 'exact', network: network as Network, payTo: sellerAddress, price } },
  }
}
