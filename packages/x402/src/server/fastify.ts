/** The gate as a hook of Fastify: `paymentGate(app, gate)` before the routes, on the app or on a plugin of it. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { BufferOptions } from './bufferResponse.js'
import type { Gate } from './Gate.js'
import { guard } from './node.js'
import { merged } from './responses.js'

type FastifyRequest = { raw: IncomingMessage; originalUrl?: string }
type FastifyReply = {
  raw: ServerResponse
  getHeaders: () => { [name: string]: number | string | string[] | undefined }
  header: (name: string, value: string) => unknown
  code: (status: number) => unknown
  send: (body: Buffer) => unknown
  hijack: () => unknown
  callNotFound: () => unknown
}
type FastifyApp = {
  prefix: string
  hasRoute: (route: { method: 'OPTIONS'; url: string }) => boolean
  options: (url: string, handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => unknown
  addHook: (name: 'onRequest', hook: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) => unknown
}

export function paymentGate(app: FastifyApp, gate: Gate, options: BufferOptions = {}): void {
  app.addHook('onRequest', async (request, reply) => {
    const { url = '/' } = request.raw
    const paths = [...new Set([url, request.originalUrl ?? url])]
    const outer = { ...reply.getHeaders() } as OutgoingHttpHeaders
    const passage = await guard({ gate, request: request.raw, response: reply.raw, paths, options, outer })
    if (passage.type === 'pass') return undefined
    if (passage.type === 'gone') reply.hijack()
    else await answer(reply, passage.response)
    return reply
  })
  // Hooks of a plugin run only for its routes, and browsers ask by a method for which there is none.
  if (gate.hasCors && app.prefix !== '' && !app.hasRoute({ method: 'OPTIONS', url: `${app.prefix}/*` })) {
    app.options('/*', (_, reply) => reply.callNotFound())
  }
}

async function answer(reply: FastifyReply, response: Response): Promise<void> {
  const before = reply.getHeaders()
  for (const [name, value] of response.headers) {
    const isMerged = value !== 'no-store' && before[name] !== undefined
    reply.header(name, isMerged ? merged(name, String(before[name]), value) : value)
  }
  reply.code(response.status)
  reply.send(Buffer.from(await response.arrayBuffer()))
}
