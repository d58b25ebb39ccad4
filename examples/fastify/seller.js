/** Sells a weather report with Fastify. */
import { paymentGate } from '@latchkey/x402/fastify'
import { Chain, paymentOf, sellerSettings } from '@latchkey/x402/server'
import { fastify } from 'fastify'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, PORT: port = '4030' } = process.env
const { payTo, facilitatorUrl: facilitators } = sellerSettings()
const chains = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
const accepts = { price: '$0.01' }
const routes = { 'GET /weather/:city': { accepts, description: 'The weather of a city', mimeType: 'application/json' } }

const app = fastify()
// Before the routes, so the gate sees each of them.
paymentGate(app, { chains, payTo, facilitators, routes })
app.get('/weather/:city', (request) => {
  const { payer, amountText } = paymentOf(request)
  console.log(`${payer} pays ${amountText}`)
  return { city: request.params.city, weather: 'sunny' }
})
console.log(`Listening at ${await app.listen({ host: '127.0.0.1', port: Number(port) })}`)
