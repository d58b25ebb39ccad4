/** Opens a minimal seller: one listener behind a gate. */
import type { RequestListener } from 'node:http'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler, type Facilitator } from '@latchkey/x402/facilitator'
import { paymentGate } from '@latchkey/x402/node'
import type { GateOptions, Route } from '@latchkey/x402/server'
import type { Market } from './market.test.helper.js'
import { listen } from './shops.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

export type Stall = { url: string; runs: () => number }

export async function openStall(
  scope: Scope,
  market: Market,
  options: Partial<GateOptions>,
  listener: RequestListener = (_, response) => void response.end('goods'),
): Promise<Stall> {
  let runs = 0
  const gate = await market.gate(options)
  const count: RequestListener = (request, response) => {
    runs++
    return listener(request, response)
  }
  const { url, close } = await listen(paymentGate(gate, count, { onError: () => {} }))
  scope.after(close)
  return { url, runs: () => runs }
}

/** Returns routes that cost a cent each. */
export function cents(market: Market, ...keys: string[]): { readonly [key: string]: Route } {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  return Object.fromEntries(keys.map((key) => [key, { accepts }]))
}

/** Serves a facilitator over HTTP, as the command does. */
export async function serveFacilitator(scope: Scope, facilitator: Facilitator): Promise<{ url: string }> {
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  scope.after(() => server.stop())
  return { url: `http://127.0.0.1:${port}` }
}

/** Opens an HTTP server with any behaviour. */
export async function openServer(scope: Scope, listener: RequestListener): Promise<{ url: string }> {
  const { url, close } = await listen(listener)
  scope.after(close)
  return { url }
}

export function show(url: string, header: string): Promise<Response> {
  return fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } })
}
