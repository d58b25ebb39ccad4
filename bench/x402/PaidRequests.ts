/**
 * Runs complete requests: a seller and a facilitator over HTTP, and buyers who pay for every request or present a pass.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server } from '@latchkey/http'
import { Buyer, payingFetch, Signer } from '@latchkey/x402/client'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { paymentGate } from '@latchkey/x402/node'
import { Gate, type Route } from '@latchkey/x402/server'
import { percentile } from '../support/Statistics.js'
import type { Market } from './Market.js'

export type PaidOutcome = { perSecond: number; p50Ms: number; p99Ms: number }

/** With `passes`, each buyer pays once, before the measurement starts. */
export async function paidRequests(
  market: Market,
  count: number,
  concurrency: number,
  passes: Route['passes'] = false,
): Promise<PaidOutcome> {
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator: market.facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  const { chain, sellerAddress: payTo, requirements } = market
  const price = { asset: requirements.asset, amount: requirements.amount }
  const gate = await Gate.open({
    routes: { 'GET /weather': { accepts: { network: chain.caip2, price, payTo }, passes } },
    passes: { secret: 'a secret of 32 bytes, for a benchmark' },
    onWarning: () => {},
    facilitators: `http://127.0.0.1:${port}`,
    chains: chain,
  })
  const seller = createServer(paymentGate(gate, (_, response) => response.end('{"report":{"weather":"sunny"}}')))
  seller.listen(0, '127.0.0.1')
  await once(seller, 'listening')
  const url = `http://127.0.0.1:${(seller.address() as AddressInfo).port}/weather`
  const latenciesMs: number[] = []
  let left = count
  const newFetch = async (): Promise<typeof fetch> => {
    const pay = payingFetch(new Buyer({ signer: Signer.fromSecretKey(market.buyerKey), chains: chain }))
    if (passes !== false) await (await pay(url)).text()
    return pay
  }
  const buy = async (pay: typeof fetch): Promise<void> => {
    while (left-- > 0) {
      const startedAt = performance.now()
      const response = await pay(url)
      await response.text()
      if (response.status !== 200) throw new Error(`a paid request got the status ${response.status}`)
      latenciesMs.push(performance.now() - startedAt)
    }
  }
  const fetches = await Promise.all(Array.from({ length: concurrency }, newFetch))
  const startedAt = performance.now()
  await Promise.all(fetches.map(buy))
  const perSecond = (count * 1000) / (performance.now() - startedAt)
  seller.close()
  seller.closeAllConnections()
  await server.stop()
  latenciesMs.sort((a, b) => a - b)
  return { perSecond, p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) }
}
