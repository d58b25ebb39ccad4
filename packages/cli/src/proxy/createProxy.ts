/**
 * A local address for programs that cannot pay: each request is sent to one origin, and paid for if that origin asks. The
 * money is never sent for another origin: the address is fixed, and redirects are returned to the program.
 */
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { LatchkeyError } from '@latchkey/algorand'
import { LostResponseError, PaymentRefusedError } from '@latchkey/x402/client'
import { hostRefusal, isLocalHost, isLocalOrigin } from '../dev/localAccess.js'
import { CommandError } from '../errors.js'

export type ProxyOptions = {
  /** The origin that requests are sent to, with an optional path in front of theirs. */
  readonly to: URL
  /** Sends a request, and pays for it within the limits of its key. */
  readonly pay: typeof fetch
  readonly maxBodyBytes: number
  /** Called for each request that was answered. */
  readonly onRequest: (line: { readonly method: string; readonly path: string; readonly status: number }) => void
  readonly onError: (error: unknown) => void
}

/** Headers of one connection, headers that fetch writes itself, and those of the payment. */
const notSent =
  /^(host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|expect|content-length|accept-encoding|origin|sec-fetch-.*|(x-)?payment.*)$/
/** Fetch has decoded the body, and its length is another. */
const notReturned =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-encoding)$/

export function createProxy(options: ProxyOptions): RequestListener {
  return (request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      options.onError(error)
      response.destroy()
    })
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, options: ProxyOptions): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const path = url.replace(/\?.*$/s, '')
  const refuse = (status: number, error: string, message: string): void => {
    options.onRequest({ method, path, status })
    send(response, status, { error, message })
  }
  // A page in a browser could spend the money otherwise.
  if (!isLocalHost(headers.host)) return refuse(403, 'not_local', hostRefusal)
  if (!isLocalOrigin(headers.origin, headers['sec-fetch-site']?.toString())) {
    return refuse(403, 'not_local', 'web pages of other origins may not use this proxy')
  }
  const target = targetOf(options.to, url)
  if (target === undefined) return refuse(400, 'invalid_target', 'the path leads out of the address of the proxy')
  const body = await bodyOf(request, options.maxBodyBytes)
  if (body === undefined) return refuse(413, 'body_too_large', `the body has more than ${options.maxBodyBytes} bytes`)
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  let answered: Response
  try {
    answered = await options.pay(target, {
      method,
      headers: headersOf(headers),
      body: body.length === 0 ? null : body,
      redirect: 'manual',
      signal: closed.signal,
    })
  } catch (error) {
    if (closed.signal.aborted) return
    options.onError(error)
    const { status, code } = statusOf(error)
    return refuse(status, code, error instanceof LatchkeyError ? error.message : 'the request could not be sent')
  }
  options.onRequest({ method, path, status: answered.status })
  response.statusCode = answered.status
  for (const [name, value] of answered.headers) if (!notReturned.test(name)) response.appendHeader(name, value)
  if (answered.body === null) response.end()
  else await pipeline(Readable.fromWeb(answered.body as ReadableStream), response)
}

/** The address of a request; undefined if its path would lead elsewhere. */
export function targetOf(to: URL, target: string): URL | undefined {
  const path = target.startsWith('/') ? target : `/${target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*\/?/i, '')}`
  const base = `${to.origin}${to.pathname.replace(/\/$/, '')}`
  if (!URL.canParse(`${base}${path}`)) return undefined
  const url = new URL(`${base}${path}`)
  const isBelow = url.pathname === to.pathname || url.pathname.startsWith(to.pathname.replace(/\/?$/, '/'))
  return url.origin === to.origin && isBelow && url.username === '' ? url : undefined
}

function headersOf(headers: IncomingHttpHeaders): Headers {
  const sent = new Headers()
  const named = String(headers.connection ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || notSent.test(name) || named.includes(name)) continue
    for (const one of [value].flat()) sent.append(name, one)
  }
  return sent
}

async function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks) as Buffer<ArrayBuffer>
}

function statusOf(error: unknown): { status: number; code: string } {
  // Nothing was paid: the offer or the limits of the agent do not allow it.
  if (error instanceof PaymentRefusedError) return { status: 402, code: error.code }
  if (error instanceof CommandError && error.code === 'agent_refused') return { status: 402, code: error.code }
  // The payment was sent. The message has its id.
  if (error instanceof LostResponseError) return { status: 504, code: error.code }
  return { status: 502, code: error instanceof LatchkeyError ? error.code : 'request_failed' }
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Connection: 'close' })
  response.end(`${JSON.stringify(body)}\n`)
}
