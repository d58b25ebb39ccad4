/** The seller's page as a handler: revenue by day and route, latest payments, failures, CSV. Only for the seller. */
import { Bytes, Hash } from '@latchkey/algorand'
import { salesPage as html, salesPolicy } from '@latchkey/pages/sales'
import { OptionsError, warn } from '../../errors.js'
import { json } from '../gate/responses.js'
import type { ClaimStore } from '../store/Claims.js'
import { dayOf, keepDays, type SaleOutcome, type SaleStore, SalesError } from '../store/Sales.js'
import { revenueCsv, salesCsv } from './salesCsv.js'

/** Options of {@link salesPage}. Set `token` or `authorize`; with both, a request must pass both. */
export type SalesPageOptions = {
  /** The store of the gate's claims. */
  readonly claims: ClaimStore
  /**
   * At least 16 visible ASCII characters without spaces, from a generator. Browsers ask for the token as a password,
   * with any user name. Programs send it as `Authorization: Bearer`.
   *
   * @default none
   */
  readonly token?: string | undefined
  /**
   * Decides for each request whether its sender may see the page, for example by the session of your own login. Any
   * result other than `true` refuses the request.
   *
   * @default none
   */
  readonly authorize?: ((request: Request) => boolean | Promise<boolean>) | undefined
  /**
   * The name of the shop on the page.
   *
   * @default 'Shop'
   */
  readonly name?: string | undefined
  /**
   * Called with errors of the store and of `authorize`.
   *
   * @default a process warning
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A handler of web requests. */
export type SalesHandler = (request: Request) => Promise<Response>

const minTokenLength = 16
/** The characters allowed in a bearer token, and in a password that a header carries in base64. */
const carriable = /^[!-~]{1,700}$/
const defaultDays = 30
const rowsPerPage = 25
/** For the latency of settlements. */
const maxSettlements = 500
const dayMs = 86_400_000
const paid: readonly SaleOutcome[] = ['settled', 'pending', 'verified']
const failed: readonly SaleOutcome[] = ['refused', 'cancelled', 'unknown']

/**
 * The seller's page, for any path: `?days=90` chooses the period, `?csv=payments` and `?csv=revenue` download. Refuses
 * requests without the token, and those that `authorize` does not accept.
 *
 * @throws OptionsError if there is neither a token nor a function, or the store keeps no sales
 * @example
 * const sales = salesPage({ claims, token: process.env['SALES_TOKEN'] })
 * app.get('/sales', (context) => sales(context.req.raw))
 */
export function salesPage(options: SalesPageOptions): SalesHandler {
  const { claims, token, authorize, name = 'Shop', onError = warn } = options
  const store = claims?.sales
  if (store === undefined) {
    throw new OptionsError(
      'claims does not record sales',
      "Pass the gate's store: MemoryClaims, SqliteClaims or PostgresClaims.",
    )
  }
  checkAccess(token, authorize)
  return async (request) => {
    try {
      if (!(await isAllowed(request, { token, authorize }))) return refused(token !== undefined)
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        return json(405, { error: 'this page is read-only' }, [['Allow', 'GET, HEAD']])
      }
      const response = await respond(store, new URL(request.url).searchParams, name)
      return request.method === 'HEAD' ? new Response(null, response) : response
    } catch (error) {
      // The address comes from the client. The store is not at fault.
      if (error instanceof SalesError && error.code === 'invalid_sales_cursor')
        return json(400, { error: error.message })
      onError(error)
      return json(500, { error: 'the sales cannot be read at the moment' })
    }
  }
}

function checkAccess(token: unknown, authorize: unknown): void {
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw new OptionsError('authorize is not a function', 'Pass a function that returns true for the seller.')
  }
  if (token === undefined && authorize === undefined) {
    const hint = 'Pass a token of at least 16 characters, or a function `authorize`: only the seller may see the page.'
    throw new OptionsError('the sales page has neither token nor authorize', hint)
  }
  if (token !== undefined && (typeof token !== 'string' || token.length < minTokenLength)) {
    const hint = 'Generate a longer token, and check that its environment variable is set.'
    throw new OptionsError(`token has fewer than ${minTokenLength} characters`, hint)
  }
  if (token !== undefined && !carriable.test(token)) {
    const hint =
      'Use up to 700 ASCII letters, digits and punctuation marks: node -p "crypto.randomUUID()" prints a token.'
    throw new OptionsError('token contains spaces or other characters that a header cannot carry', hint)
  }
}

type Access = Pick<SalesPageOptions, 'token' | 'authorize'>

async function isAllowed(request: Request, { token, authorize }: Access): Promise<boolean> {
  if (token !== undefined && !hasToken(request, token)) return false
  return authorize === undefined || (await authorize(request)) === true
}

function hasToken({ headers }: Request, token: string): boolean {
  const [, scheme, value] = /^(basic|bearer) +([!-~]{1,1000})$/i.exec(headers.get('Authorization') ?? '') ?? []
  if (scheme === undefined || value === undefined) return false
  const shown = scheme.toLowerCase() === 'bearer' ? value : passwordOf(value)
  // Compares digests, so that timing reveals neither length nor content.
  const digest = (text: string): Uint8Array => Hash.sha256(Bytes.fromUtf8(text))
  return Bytes.equalConstantTime(digest(shown), digest(token))
}

function passwordOf(base64: string): string {
  try {
    const text = new TextDecoder().decode(Bytes.fromBase64(base64))
    return text.slice(text.indexOf(':') + 1)
  } catch {
    return ''
  }
}

function refused(hasToken: boolean): Response {
  if (!hasToken) return json(403, { error: 'only the seller may see this page' }, safeHeaders)
  const challenge = ['WWW-Authenticate', 'Basic realm="sales", charset="UTF-8"'] as const
  return json(401, { error: "this page needs the seller's token" }, [challenge, ...safeHeaders])
}

const safeHeaders = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['X-Frame-Options', 'DENY'],
] as const

async function respond(store: SaleStore, query: URLSearchParams, name: string): Promise<Response> {
  const days = daysOf(query.get('days'))
  const today = dayOf(Date.now())
  const sinceDay = today - days + 1
  const sinceMs = sinceDay * dayMs
  const csv = query.get('csv')
  if (csv === 'revenue') return download('revenue.csv', revenueCsv(await store.revenue({ sinceDay })))
  if (csv === 'payments') return download('payments.csv', streamOf(salesCsv(store, { sinceMs })))
  if (csv !== null) return json(400, { error: 'csv must be payments or revenue' })
  const [paymentsAfter, failuresAfter] = [cursor(query, 'payments'), cursor(query, 'failures')]
  const [revenue, payments, failures, settled] = await Promise.all([
    store.revenue({ sinceDay }),
    store.list({ outcomes: paid, sinceMs, after: paymentsAfter, limit: rowsPerPage }),
    store.list({ outcomes: failed, sinceMs, after: failuresAfter, limit: rowsPerPage }),
    store.list({ outcomes: ['settled'], sinceMs, limit: maxSettlements }),
  ])
  const body = html({
    name,
    days,
    today,
    revenue,
    payments: { ...payments, after: paymentsAfter },
    failures: { ...failures, after: failuresAfter },
    settlements: settled.sales,
  })
  return new Response(body, {
    headers: [
      ['Content-Type', 'text/html; charset=utf-8'],
      ['Content-Security-Policy', salesPolicy],
      ['Cache-Control', 'no-store'],
      ...safeHeaders,
    ] as [string, string][],
  })
}

function daysOf(text: string | null): number {
  const days = /^[0-9]{1,5}$/.test(text ?? '') ? Number(text) : defaultDays
  return Math.max(1, Math.min(days, keepDays))
}

function cursor(query: URLSearchParams, name: string): string | undefined {
  return query.get(name) ?? undefined
}

function download(file: string, body: string | ReadableStream): Response {
  return new Response(body, {
    headers: [
      ['Content-Type', 'text/csv; charset=utf-8'],
      ['Content-Disposition', `attachment; filename="${file}"`],
      ['Content-Security-Policy', "default-src 'none'"],
      ['Cache-Control', 'no-store'],
      ...safeHeaders,
    ] as [string, string][],
  })
}

/** Reads each page of the store when the client is ready for it. */
function streamOf(lines: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await lines.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await lines.return(undefined)
    },
  })
}
