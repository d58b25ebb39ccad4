/** The gate as a middleware of Hono, wherever Hono runs. */

import { Bytes } from '@latchkey/algorand'
import { paymentResponse } from '../wire/Headers.js'
import type { Admission } from './Admission.js'
import { checkGate } from './checkGate.js'
import type { Gate } from './Gate.js'
import { addTo, type HeaderList, json } from './responses.js'

/** A context of Hono, as far as the gate uses it. */
export type HonoContext = {
  req: { raw: Request; path: string }
  env?: unknown
  res: Response
  error?: Error | undefined
}
/** A middleware of Hono. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/** Options of {@link paymentGate}. */
export type HonoGateOptions = {
  /**
   * The largest response that is buffered until its payment is settled.
   *
   * @default 10 MiB
   */
  maxBytes?: number | undefined
}

const defaultMaxBytes = 10 * 1024 * 1024

/**
 * The gate as a middleware of Hono. Routes are paths as the app sees them that uses the gate.
 *
 * @throws OptionsError for something else than a gate
 * @example
 * const app = new Hono().use(paymentGate(gate)).get('/weather', (context) => context.json({ weather: 'sunny' }))
 */
export function paymentGate(gate: Gate, { maxBytes = defaultMaxBytes }: HonoGateOptions = {}): HonoMiddleware {
  checkGate(gate)
  return async (context, next) => {
    const { raw, path } = context.req
    const { method, headers, signal, url } = raw
    const request = new Request(url, { method, headers, signal })
    const decision = await gate.decide(request, [path, pathOf(url)], addressOf(context))
    if (decision.type === 'free') {
      await next()
      return undefined
    }
    // Headers that were set before the handler runs; Hono adds them to whatever is returned from here.
    const outerHeaders = new Headers(context.res.headers)
    if (decision.type === 'response') return decision.response
    const { admission } = decision
    try {
      await next()
    } catch (error) {
      await admission.cancel()
      throw error
    }
    const isFailure = context.error !== undefined || context.res.status >= 400
    const response = isFailure
      ? await failedResponse(admission, context.res)
      : await paidResponse(admission, context.res, { maxBytes, outerHeaders, signal })
    replace(context, response)
    return undefined
  }
}

async function failedResponse(admission: Admission, response: Response): Promise<Response> {
  await admission.cancel()
  const { body, status, statusText, headers } = response
  const own = new Headers(headers)
  own.delete(paymentResponse)
  return withHeaders(body, new Response(body, { status, statusText, headers: own }), admission.headers)
}

type BufferLimits = { maxBytes: number; outerHeaders: Headers; signal: AbortSignal }

/** The handler's response once its payment is settled, or that of the gate. */
async function paidResponse(
  admission: Admission,
  response: Response,
  { maxBytes, outerHeaders, signal }: BufferLimits,
): Promise<Response> {
  const withOuterHeaders = (replacement: Response): Response => {
    for (const [name, value] of outerHeaders) {
      if (!replacement.headers.has(name)) replacement.headers.append(name, value)
    }
    return replacement
  }
  if (admission.isStreamed) return withHeaders(response.body, response, admission.headers)
  // Others are read to their end first, since they may fail until then.
  const body = await readBody(admission, response, maxBytes, signal)
  if (typeof body === 'string') {
    await admission.cancel()
    const charge =
      admission.settled === undefined ? 'nothing was charged' : 'send the same payment again, it is not charged twice'
    const failure = json(500, { error: `${body}; ${charge}` })
    return withOuterHeaders(withHeaders(failure.body, failure, admission.headers))
  }
  const { status, headers } = response
  const result = await admission.settle({ status, headers: [...headers], body: body ?? new Uint8Array() })
  if ('response' in result) return withOuterHeaders(result.response)
  // Whether all of it arrives cannot be seen here.
  if (signal.aborted) await admission.undelivered()
  return withHeaders(body, response, result.headers)
}

type Body = ReadableStream | Uint8Array<ArrayBuffer> | null

function withHeaders(body: Body, response: Response, headers: HeaderList): Response {
  const changed = new Response(body, response)
  addTo(changed.headers, headers)
  return changed
}

/** The body; or why there is none: it is too long, it failed, or its time is up and the client has disconnected. */
async function readBody(
  admission: Admission,
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | null | string> {
  if (response.body === null) return null
  const reader = response.body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  let isStopped = false
  // The handler may have done its work, so that its success is settled although the client has disconnected.
  const onAbort = async (): Promise<void> => {
    await admission.disconnected()
    isStopped = true
    stop()
  }
  if (signal.aborted) void onAbort()
  else signal.addEventListener('abort', onAbort)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isStopped) return 'the client has disconnected'
      if (done) return new Uint8Array(Bytes.concat(chunks))
      bytes += value.length
      if (bytes > maxBytes) {
        stop()
        return `a response of more than ${maxBytes} bytes cannot be buffered; use paymentFlow: upfront`
      }
      chunks.push(value)
    }
  } catch {
    return 'the response failed before its end'
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Hono merges the headers of the old response into the new one, unless the old one is removed first. */
function replace(context: HonoContext, response: Response): void {
  context.res = undefined as unknown as Response
  context.res = response
}

/** Known where Hono runs in `@hono/node-server`. */
function addressOf({ env }: HonoContext): string | undefined {
  const { incoming } = (env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } }
  return incoming?.socket?.remoteAddress
}

function pathOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/'
}
