/** Sells a weather report on an edge runtime: a fetch handler with Hono, without any API of Node. */
import { paymentGate } from '@latchkey/x402/hono'
import { Chain, Gate } from '@latchkey/x402/server'
import { Hono } from 'hono'

async function open({ AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, ...settings }) {
  const { AVM_ADDRESS: payTo, FACILITATOR_URL: facilitators, USDC_ASSET_ID: dollar } = settings
  const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
  const accepts = { network: chain.caip2, price: '$0.01', payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
  const gate = await Gate.open({ routes, chains: chain, facilitators })
  return new Hono().use(paymentGate(gate)).get('/weather', (context) => context.json({ weather: 'sunny' }))
}

let app

/** Opens the gate with the first request, because an edge runtime passes its settings with requests. */
// biome-ignore lint/style/noDefaultExport: edge runtimes look for the handler in the default export.
export default {
  async fetch(request, settings, context) {
    app ??= open(settings).catch((error) => {
      app = undefined
      throw error
    })
    return (await app).fetch(request, settings, context)
  },
}
