/** Starts the same parties from the published packages, on Express, in the way their documentation describes. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newest, type Setting } from '@latchkey/published'
import express from 'express'
import { newAccounts } from './newAccounts.js'
import type { Buy } from './ours.js'
import type { PartyOptions } from './Party.js'
import { network, priceMicroDollars } from './setting.js'

function settingOf({ devnet }: PartyOptions): Setting {
  const [sponsor, seller, buyer] = devnet!.accounts
  return {
    network,
    algodUrl: devnet!.url,
    price: `$${priceMicroDollars / 1e6}`,
    sellerAddress: seller!.address,
    buyerKey: buyer!.secretKey,
    sponsorKey: sponsor!.secretKey,
  }
}

async function listen(app: RequestListener): Promise<string> {
  const server = createServer(app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function facilitator(options: PartyOptions): Promise<string> {
  const one = newest.facilitator(settingOf(options))
  const app = express().use(express.json())
  app.get('/supported', (_, response) => void response.json(one.getSupported()))
  for (const name of ['verify', 'settle'] as const) {
    app.post(`/${name}`, async ({ body }, response) => {
      const { paymentPayload, paymentRequirements } = body as Record<string, never>
      response.json(await one[name](paymentPayload!, paymentRequirements!))
    })
  }
  return listen(app)
}

export async function seller(options: PartyOptions): Promise<string> {
  const app = newest.sellers['theirs']!(settingOf(options), options.url!) as RequestListener
  return `${await listen(app)}/weather`
}

export async function buyers(options: PartyOptions, at: number): Promise<Buy[]> {
  return (await newAccounts(options.devnet!.url, at)).map((buyerKey) => {
    const pay = newest.buyers['theirs']!({ ...settingOf(options), buyerKey })
    return () => pay(options.url!)
  })
}
