/** The seller of the stack: a weather report for one cent, and the environment for other terminals. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { catalogueRequestPrefix } from '@latchkey/x402/facilitator'
import { paymentGate, paymentOf, salesListener } from '@latchkey/x402/node'
import { Gate, type GateHooks, type GateOptions, MemoryClaims } from '@latchkey/x402/server'
import { EventFeed } from './EventFeed.js'
import { hostRefusal, isLocalHost, isLocalOrigin } from './localAccess.js'

/** The path that returns the environment of the stack, for the shell of another terminal. */
export const environmentPath = '/env'
/** The page with the revenue of the stack's seller. */
export const salesPath = '/sales'
/** The stream of payment events, for `latchkey listen`. */
export const eventsPath = '/events'
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
  // Offers show the example to everyone, so it must not be what is sold.
  const example = { report: { weather: 'cloudy' } }
  const route = { accepts, description: 'The weather, now', mimeType: 'application/json', output: { example } }
  const routes = { 'GET /weather': route }
  const claims = options.claims ?? new MemoryClaims()
  const feed = new EventFeed()
  const all = withoutCatalogue(feed.hooks(hooks))
  const gate = await Gate.open({ ...options, ...all, claims, routes, chains: chain, cors: true })
  const authorize = ({ headers }: Request): boolean =>
    isLocalOrigin(headers.get('Origin') ?? undefined, headers.get('Sec-Fetch-Site') ?? undefined)
  const sales = salesListener({ claims, authorize, name: 'Weather', onError: options.onError })
  const gated = paymentGate(gate, (request, response) => {
    const path = request.url?.split('?')[0]
    if (path === salesPath) return sales(request, response)
    if (path === eventsPath && request.method === 'GET') return listen(feed, request, response)
    return send(response, answer(request, exports))
  })
  const listener: RequestListener = (request, response) => {
    if (isLocalHost(request.headers.host)) void gated(request, response)
    else send(response, refusal(403, hostRefusal))
  }
  const close = async (): Promise<void> => {
    feed.close()
    await gate.close()
  }
  return { listener, close }
}

/** The facilitator asks for the price of a route that was paid for, which is no event of a buyer. */
function withoutCatalogue(hooks: GateHooks): GateHooks {
  const { onPaymentRequired } = hooks
  return {
    ...hooks,
    onPaymentRequired: (event) =>
      event.requestId?.startsWith(catalogueRequestPrefix) ? undefined : onPaymentRequired?.(event),
  }
}

/** Events name payers, so only programs and pages of this machine may read them. */
function listen(feed: EventFeed, { headers }: IncomingMessage, response: ServerResponse): void {
  if (!isLocalOrigin(headers.origin, headers['sec-fetch-site']?.toString())) {
    send(response, refusal(403, 'web pages of other origins may not read this'))
  } else if (!feed.add(response)) send(response, refusal(503, 'too many programs are listening'))
}

/** Returns the pattern of a path, for the log. */
export function routeOf(path: string): string | undefined {
  return ['/weather', environmentPath, salesPath, eventsPath].includes(path) ? path : undefined
}

/** Returns the id of the payment that opened a request, for the log. */
export function paymentIdOf(request: IncomingMessage): string | undefined {
  return paymentOf(request)?.transactionId
}

type Answer = { status: number; headers: { [name: string]: string }; body: string }

function answer({ method, url, headers }: IncomingMessage, exports: () => string): Answer {
  const path = url?.split('?')[0]
  if (path === '/' && (method === 'GET' || method === 'HEAD') && wantsHtml(headers.accept)) return frontPage
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

/** For a browser. Programs get the usual 404. */
const frontPage: Answer = {
  status: 200,
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    Vary: 'Accept',
    'Content-Security-Policy': "default-src 'none'",
  },
  body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Latchkey dev stack: seller</title>
<h1>Seller of the dev stack</h1>
<p>This is a demonstration seller on a local chain. Nothing here has any value.</p>
<ul>
<li><a href="/weather">/weather</a> costs ${price}: a browser shows the paywall, <code>latchkey pay</code> pays.</li>
<li><a href="${salesPath}">${salesPath}</a> shows what was sold.</li>
<li><code>${environmentPath}</code> returns environment variables for other programs, as shell commands.</li>
</ul>
</html>
`,
}

/** Browsers name HTML first. */
function wantsHtml(accept: string | undefined): boolean {
  return /^\s*text\/html\s*([,;]|$)/i.test(accept ?? '')
}

function refusal(status: number, error: string, headers: { [name: string]: string } = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify({ error }) }
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { 'X-Content-Type-Options': 'nosniff', ...headers }).end(body)
}
