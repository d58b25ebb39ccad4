/** Opens shops that charge up to half a dollar by usage. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type Buyer, payingFetch, receiptOf } from '@latchkey/x402/client'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import type { Accept, Gate, GateOptions, Payment } from '@latchkey/x402/server'
import { dollar, type Market, newAddress } from './market.test.helper.js'

export type Handler = (request: IncomingMessage, response: ServerResponse, payment: Payment) => unknown
export type UptoShop = { url: string; seller: string; gate: Gate; received: () => Promise<bigint> }
export type UptoShopOptions = Partial<GateOptions> & {
  price?: Partial<Extract<Accept['price'], { upTo: unknown }>>
  maxTimeoutSeconds?: number
}

/** An account that can be paid in dollars. */
export function newSeller(market: Market): string {
  const seller = newAddress()
  market.devnet.fund(seller, { microAlgos: 1_000_000n })
  market.devnet.optIn(seller, dollar)
  return seller
}

/** Serves one route for up to half a dollar. */
export async function openShop(
  market: Market,
  t: TestContext,
  handler: Handler,
  { price, maxTimeoutSeconds, ...more }: UptoShopOptions = {},
): Promise<UptoShop> {
  const seller = newSeller(market)
  const accepts: Accept = { price: { upTo: '$0.50', ...price }, payTo: seller, maxTimeoutSeconds }
  const gate = await market.gate({ routes: { '/model': { accepts } }, ...more })
  const server = createServer(
    paymentGate(gate, (request, response) => handler(request, response, paymentOf(request)!)),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`
  return { url, seller, gate, received: () => market.dollars(seller) }
}

/** A handler that charges a price. */
export function charging(price: Parameters<NonNullable<Payment['charge']>>[0]): Handler {
  return (_, response, payment) => {
    payment.charge!(price)
    response.end('done')
  }
}

export async function pay(buyer: Buyer, url: string, init: RequestInit = {}) {
  const response = await payingFetch(buyer, { repeatMs: 20 })(url, init)
  return { status: response.status, text: await response.text(), receipt: receiptOf(response), response }
}
