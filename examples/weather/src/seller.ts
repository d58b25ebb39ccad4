/** Sells a weather report for one cent: `AVM_ADDRESS=... FACILITATOR_URL=... node dist/seller.js` */
import { serve } from '@hono/node-server'
import { paymentGate } from '@latchkey/x402/hono'
import { Gate, type SellerSettings, SettingsError, sellerSettings } from '@latchkey/x402/server'
import { Hono } from 'hono'
import { openChain } from './network.js'

async function start({ payTo, facilitatorUrl }: SellerSettings): Promise<void> {
  const chain = await openChain()
  const gate = await Gate.open({
    routes: {
      'GET /weather': {
        accepts: { network: chain.caip2, price: '$0.01', payTo },
        description: 'The weather, now',
        mimeType: 'application/json',
      },
    },
    facilitators: facilitatorUrl,
    chains: chain,
    cors: true,
    onWarning: (text) => console.warn(`warning: ${text}`),
  })

  const app = new Hono()
  app.use(paymentGate(gate))
  app.get('/weather', (context) =>
    context.json({ report: { weather: 'sunny', temperature: 70, timestamp: new Date().toISOString() } }),
  )
  const port = Number(process.env['PORT'] ?? 4021)
  serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, ({ address, port: bound }) => {
    console.log(`Server listening at http://${address}:${bound}`)
    console.log(`   AVM: ${payTo} on ${chain.caip2}`)
    console.log(`   Facilitator: ${facilitatorUrl}`)
  })
}

try {
  await start(sellerSettings())
} catch (error) {
  const what = error instanceof SettingsError ? error.message : `could not start: ${(error as Error).message}`
  console.error(`❌ ${what}`)
  process.exit(1)
}
