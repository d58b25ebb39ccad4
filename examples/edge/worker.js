/** Sells a weather report on an edge runtime: a fetch handler without any API of Node. */
import { Chain, Gate } from '@latchkey/x402/server'
import { paymentGate } from '@latchkey/x402/web'

/** Opens the gate with the first request, because an edge runtime passes its settings with requests. */
async function open(_request, { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, ...settings }) {
  const { AVM_ADDRESS: payTo, FACILITATOR_URL: facilitators, USDC_ASSET_ID: dollar } = settings
  const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
  const accepts = { network: chain.caip2, price: '$0.01', payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
  return Gate.open({ routes, chains: chain, facilitators })
}

// biome-ignore lint/style/noDefaultExport: edge runtimes look for the handler in the default export.
export default { fetch: paymentGate(open, async () => Response.json({ weather: 'sunny' })) }
