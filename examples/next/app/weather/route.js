/** Sells a weather report from a route handler of Next.js. */
import { paymentGate } from '@latchkey/x402/hono'
import { Chain, Gate, sellerSettings } from '@latchkey/x402/server'
import { Hono } from 'hono'

export const dynamic = 'force-dynamic'

async function open() {
  const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, ORIGIN: origin } = process.env
  const { payTo, facilitatorUrl: facilitators } = sellerSettings()
  const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
  const accepts = { network: chain.caip2, price: '$0.01', payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
  const gate = await Gate.open({ routes, chains: chain, facilitators, origin })
  return new Hono().use(paymentGate(gate)).get('/weather', (context) => context.json({ weather: 'sunny' }))
}

let app

/** Opens the gate with the first request, because `next build` loads this module too. */
export async function GET(request) {
  app ??= open().catch((error) => {
    app = undefined
    throw error
  })
  return (await app).fetch(request)
}
