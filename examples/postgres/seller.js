/** Sells a weather report on several machines: they share claims and sales in PostgreSQL. */
import { createServer } from 'node:http'
import { paymentGate } from '@latchkey/x402/node'
import { PostgresClaims } from '@latchkey/x402/postgres'
import { Chain, Gate, sellerSettings } from '@latchkey/x402/server'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, PORT: port = '4030' } = process.env
const { payTo, facilitatorUrl: facilitators } = sellerSettings()
const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
const accepts = { network: chain.caip2, price: '$0.01', payTo }
const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
const claims = await PostgresClaims.open({ address: process.env.DATABASE_URL })
const gate = await Gate.open({ routes, chains: chain, facilitators, claims })

const listener = paymentGate(gate, (request, response) => {
  // Requests to other paths arrive here unpaid.
  const isWeather = request.method === 'GET' && request.url === '/weather'
  response.writeHead(isWeather ? 200 : 404, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(isWeather ? { weather: 'sunny' } : { error: 'not found' }))
})
const server = createServer(listener).listen(Number(port), '127.0.0.1', () => {
  console.log(`Listening at http://127.0.0.1:${server.address().port}`)
})
