/** The seller of the stack: a weather report for one cent, and the environment for other terminals. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { paymentGate, paymentOf, salesListener } from '@latchkey/x402/node'
import { Gate, type GateHooks, type GateOptions, MemoryClaims } from '@latchkey/x402/server'
import { hostRefusal, isLocalHost, isLocalOrigin } from './localAccess.js'

/** The path that returns the environment of the stack, for the shell of another terminal. */
export const environmentPath = '/env'
/** The page with the revenue of the stack's seller. */
export const salesPath = '/sales'
export const price = '$0.01'

export type SellerOptions = Pick<GateOptions, 'facilitators' | 'claims' | 'paywall' | 'onError'> & {
  readonly chain: NonNullable<GateOptions['chains']> & { readonly caip2: string }
  readonly payTo: string
  /** The environment, as export statements. */
  readonly exports: () => string
  readonly hooks: GateHooks
}

export type Seller = { readonly listener: RequestListener; readonly close: () => Promise<void> }

export async function createSeller({ chain, payTo, exports, hooks, ...options }: SellerOptions): Promise<Seller> {
  const accepts = { network: chain.caip2, price, payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now', mimeType: 'application/json' } }
  const claims = options.claims ?? new MemoryClaims()
  const gate = await Gate.open({ ...options, ...hooks, claims, routes, chains: chain, cors: true })
  const authorize = ({ headers }: Request): boolean =>
    isLocalOrigin(headers.get('Origin') ?? undefined, headers.get('Sec-Fetch-Site') ?? undefined)
  const sales = salesListener({ claims, authorize, name: 'Weather', onError: options.onError })
  const gated = paymentGate(gate, (request, response) => {
    if (request.url?.split('?')[0] === salesPath) return sales(request, response)
    return send(response, answer(request, exports))
  })
  const listener: RequestListener = (request, response) => {
    if (isLocalHost(request.headers.host)) void gated(request, response)
    else send(response, refusal(403, hostRefusal))
  }
  return { listener, close: () => gate.close() }
}

/** Returns the pattern of a path, for the log. */
export function routeOf(path: string): string | undefined {
  return path === '/weather' || path === environmentPath || path === salesPath ? path : undefined
}

/** Returns the id of the payment that opened a request, for the log. */
export function paymentIdOf(request: IncomingMessage): string | undefined {
  return paymentOf(request)?.transactionId
}

type Answer = { status: number; headers: { [name: string]: string }; body: string }

function answer({ method, url, headers }: IncomingMessage, exports: () => string): Answer {
  const path = url?.split('?')[0]
  if (path !== '/weather' && path !== environmentPath) {
    return refusal(404, `not found; the paths are /weather, ${salesPath} and ${environmentPath}`)
  }
  if (method !== 'GET' && method !== 'HEAD') return refusal(405, 'method not allowed; use GET', { Allow: 'GET, HEAD' })
  if (path === '/weather') {
    const report = { weather: 'sunny', temperature: 70, timestamp: new Date().toISOString() }
    return { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ report }) }
  }
  // The environment contains the token of the daemon and the mnemonic of the dispenser.
  if (!isLocalOrigin(headers.origin, headers['sec-fetch-site']?.toString())) {
    return refusal(403, 'web pages of other origins may not read this')
  }
  const text = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status: 200, headers: text, body: exports() }
}

function refusal(status: number, error: string, headers: { [name: string]: string } = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify({ error }) }
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { 'X-Content-Type-Options': 'nosniff', ...headers }).end(body)
}
