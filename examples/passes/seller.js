/** Sells an hour of weather reports for one cent: the payment buys a pass, which opens further requests. */
import { paymentGate } from '@latchkey/x402/express'
import { Chain, Gate, paymentOf, sellerSettings } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import express from 'express'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, PORT: port = '4030' } = process.env
const { payTo, facilitatorUrl: facilitators } = sellerSettings()
const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
const accepts = { network: chain.caip2, price: '$0.01', payTo }
const { CLAIMS: file = 'claims.db', PASS_SECRET: secret } = process.env
const claims = new SqliteClaims(file)
const gate = await Gate.open({
  routes: {
    'GET /weather': { accepts, description: 'The weather, for an hour', passes: { minutes: 60, requests: 100 } },
  },
  chains: chain,
  facilitators,
  claims,
  // Without a secret, passes end with this process.
  passes: { secret },
})

const app = express()
app.use(paymentGate(gate))
app.get('/weather', (request, response) => {
  const { pass } = paymentOf(request)
  response.json({ weather: 'sunny', requestsLeft: pass?.requestsLeft })
})
const server = app.listen(Number(port), '127.0.0.1', () => {
  console.log(`Listening at http://127.0.0.1:${server.address().port}`)
})
