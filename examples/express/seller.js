/** Sells a weather report with Express. */
import { paymentGate } from '@latchkey/x402/express'
import { Chain, paymentOf, sellerSettings } from '@latchkey/x402/server'
import express from 'express'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, PORT: port = '4030' } = process.env
const { payTo, facilitatorUrl: facilitators } = sellerSettings()
const chains = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
const accepts = { price: '$0.01' }
const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }

const app = express()
app.use(await paymentGate({ chains, payTo, facilitators, routes }))
app.get('/weather', (request, response) => {
  const { payer, amountText } = paymentOf(request)
  console.log(`${payer} pays ${amountText}`)
  response.json({ weather: 'sunny' })
})
const server = app.listen(Number(port), '127.0.0.1', () => {
  console.log(`Listening at http://127.0.0.1:${server.address().port}`)
})
