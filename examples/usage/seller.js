/** Sells the answers of a model by the token: the buyer authorizes half a dollar, and pays for what was streamed. */
import { paymentGate } from '@latchkey/x402/express'
import { Chain, Gate, paymentOf, sellerSettings } from '@latchkey/x402/server'
import express from 'express'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, PORT: port = '4030' } = process.env
const { payTo, facilitatorUrl: facilitators } = sellerSettings()
const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
const accepts = { network: chain.caip2, price: { upTo: '$0.50', stream: true }, payTo }
const routes = { 'POST /complete': { accepts, description: 'An answer, for $0.0001 a token' } }
const gate = await Gate.open({ routes, chains: chain, facilitators })

/** Stands for a model: yields the words of the prompt in reverse, with a pause after each. */
async function* complete(prompt) {
  for (const word of prompt.split(/\s+/).reverse()) {
    yield `${word} `
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const app = express()
app.use(paymentGate(gate))
app.post('/complete', express.text(), async (request, response) => {
  const payment = paymentOf(request)
  response.type('text/plain')
  let tokens = 0
  for await (const token of complete(String(request.body))) {
    // If the client leaves, the last charge is settled.
    if (response.destroyed) return
    tokens++
    payment.charge(`$${(tokens * 0.0001).toFixed(4)}`)
    response.write(token)
  }
  response.end()
})
const server = app.listen(Number(port), '127.0.0.1', () => {
  console.log(`Listening at http://127.0.0.1:${server.address().port}`)
})
