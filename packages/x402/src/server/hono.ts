/** The gate as a middleware of Hono, wherever that runs. Keys are paths as the app sees them that uses the gate. */
import { paymentResponse } from '../wire/Headers.js'
import type { Admission, Gate } from './Gate.js'
import { type HeaderList, json, merged } from './responses.js'

type HonoContext = { req: { raw: Request; path: string }; res: Response; error?: Error | undefined }
type Middleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

export type HonoGateOptions = {
  /** Of an answer that is held back; 10 MiB unless told. */
  maxBytes?: number | undefined
}

const defaultMaxBytes = 10 * 1024 * 1024

export function paymentGate(gate: Gate, { maxBytes = defaultMaxBytes }: HonoGateOptions = {}): Middleware {
  return async (context, next) => {
    const { raw, path } = context.req
    const { method, headers, signal, url } = raw
    const decision = await gate.decide(new Request(url, { method, headers, signal }), [path, pathOf(url)])
    if (decision.type === 'free') {
      await next()
      return undefined
    }
    // Headers that were there before the handler was asked; Hono adds them to whatever is answered from here on.
    const outer = new Headers(context.res.headers)
    if (decision.type === 'answer') return decision.response
    const { admission } = decision
    try {
      await next()
    } catch (error) {
      if (admission.settled === undefined) await admission.cancel()
      throw error
    }
    const isFailure = context.error !== undefined || context.res.status >= 400
    const answer =
      admission.settled === undefined && isFailure
        ? await unpaid(admission, context.res)
        : await paid(admission, context.res, { maxBytes, outer, signal })
    replace(context, answer)
    return undefined
  }
}

async function unpaid(admission: Admission, response: Response): Promise<Response> {
  await admission.cancel()
  const answer = withHeaders(response.body, response, admission.headers)
  answer.headers.delete(paymentResponse)
  return answer
}

type Holding = { maxBytes: number; outer: Headers; signal: AbortSignal }

/** The answer to send: the handler's, once it is settled, or the gate's. */
async function paid(admission: Admission, response: Response, { maxBytes, outer, signal }: Holding): Promise<Response> {
  const refusal = (answer: Response): Response => {
    for (const [name, value] of outer) if (!answer.headers.has(name)) answer.headers.append(name, value)
    return answer
  }
  // What was settled before may stream; other answers are read to their end first, since they may fail until then.
  let body: Body = response.body
  if (admission.settled === undefined) {
    const whole = await wholeBody(response, maxBytes, signal)
    if (typeof whole === 'string') {
      await admission.cancel()
      const failure = json(500, { error: whole })
      return refusal(withHeaders(failure.body, failure, admission.headers))
    }
    body = whole
  }
  const result = await admission.settle()
  return 'refusal' in result ? refusal(result.refusal) : withHeaders(body, response, result.headers)
}

type Body = ReadableStream | Uint8Array<ArrayBuffer> | null

function withHeaders(body: Body, response: Response, headers: HeaderList): Response {
  const answer = new Response(body, response)
  for (const [name, value] of headers) {
    answer.headers.set(name, merged(name, answer.headers.get(name) ?? undefined, value))
  }
  return answer
}

/** Or why there is none: it is too long, it broke off, or nobody waits for it any more. */
async function wholeBody(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | null | string> {
  if (signal.aborted) return 'nobody waits for the answer; nothing was charged'
  if (response.body === null) return null
  const reader = response.body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', stop)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (signal.aborted) return 'nobody waits for the answer; nothing was charged'
      if (done) return Buffer.concat(chunks)
      bytes += value.length
      if (bytes > maxBytes) {
        stop()
        return `an answer of more than ${maxBytes} bytes cannot be held back; settle first instead; nothing was charged`
      }
      chunks.push(value)
    }
  } catch {
    return 'the answer broke off; nothing was charged'
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Hono merges the headers of an answer into the one that takes its place, unless that is gone first. */
function replace(context: HonoContext, answer: Response): void {
  context.res = undefined as unknown as Response
  context.res = answer
}

function pathOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/'
}
