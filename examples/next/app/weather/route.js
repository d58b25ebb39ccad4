/** Sells a weather report from a route handler of Next.js. */
import { Chain, Gate, sellerSettings } from '@latchkey/x402/server'
import { paymentGate } from '@latchkey/x402/web'

export const dynamic = 'force-dynamic'

async function open() {
  const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, ORIGIN: origin } = process.env
  const { payTo, facilitatorUrl: facilitators } = sellerSettings()
  const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
  const accepts = { network: chain.caip2, price: '$0.01', payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
  return Gate.open({ routes, chains: chain, facilitators, origin })
}

/** Opens the gate with the first request, because `next build` loads this module too. */
export const GET = paymentGate(open, async () => Response.json({ weather: 'sunny' }))
