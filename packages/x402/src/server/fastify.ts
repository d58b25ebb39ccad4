import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { applyGate } from './applyGate.js'
import type { BufferOptions } from './bufferResponse.js'
import { checkGate } from './checkGate.js'
import type { Gate } from './Gate.js'
import { mergeHeader } from './responses.js'

export type { BufferOptions } from './bufferResponse.js'

/** A request of Fastify, as far as the gate uses it. */
export type FastifyRequest = { raw: IncomingMessage; originalUrl?: string }
/** A reply of Fastify, as far as the gate uses it. */
export type FastifyReply = {
  raw: ServerResponse
  getHeaders: () => { [name: string]: number | string | string[] | undefined }
  header: (name: string, value: string) => unknown
  code: (status: number) => unknown
  send: (body: Buffer) => unknown
  hijack: () => unknown
  callNotFound: () => unknown
}
/** A Fastify app or plugin, as far as the gate uses it. */
export type FastifyApp = {
  prefix: string
  hasRoute: (route: { method: 'OPTIONS'; url: string }) => boolean
  options: (url: string, handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => unknown
  addHook: (name: 'onRequest', hook: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) => unknown
}

/**
 * The gate as a hook of Fastify, on the app or on one of its plugins. Call it before the routes are added.
 *
 * @throws OptionsError for something else than a gate
 * @example
 * paymentGate(app, gate)
 * app.get('/weather', () => ({ weather: 'sunny' }))
 */
export function paymentGate(app: FastifyApp, gate: Gate, options: BufferOptions = {}): void {
  checkGate(gate)
  app.addHook('onRequest', async (request, reply) => {
    const { url = '/' } = request.raw
    const paths = [...new Set([url, request.originalUrl ?? url])]
    const outerHeaders = { ...reply.getHeaders() } as OutgoingHttpHeaders
    const result = await applyGate({ gate, request: request.raw, response: reply.raw, paths, options, outerHeaders })
    if (result.type === 'next') return undefined
    if (result.type === 'closed') reply.hijack()
    else await sendReply(reply, result.response)
    return reply
  })
  // Hooks of a plugin run for its routes only, and a browser's preflight has a method without a route.
  if (gate.hasCors && app.prefix !== '' && !app.hasRoute({ method: 'OPTIONS', url: `${app.prefix}/*` })) {
    app.options('/*', (_, reply) => reply.callNotFound())
  }
}

async function sendReply(reply: FastifyReply, response: Response): Promise<void> {
  const before = reply.getHeaders()
  for (const [name, value] of response.headers) {
    const isMerged = value !== 'no-store' && before[name] !== undefined
    reply.header(name, isMerged ? mergeHeader(name, String(before[name]), value) : value)
  }
  reply.code(response.status)
  reply.send(Buffer.from(await response.arrayBuffer()))
}
