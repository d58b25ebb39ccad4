import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { OptionsError } from '../../errors.js'
import { Gate } from '../gate/Gate.js'
import type { GateOptions } from '../gate/GateOptions.js'
import { mergeHeader } from '../gate/responses.js'
import { checkGate } from '../routes/GateRequest.js'
import { depthOf } from '../routes/RouteTable.js'
import { applyGate, type BufferOptions, type GateResult, pathOf } from './applyGate.js'
import { isGateOptions } from './gateSource.js'
import { type NodeRequest, type NodeResponse, send } from './NodeMessage.js'

export { type Payment, paymentOf } from '../exchange/Payment.js'
export type { BufferOptions } from './applyGate.js'

/** The part of a Fastify request that the gate uses. */
export type FastifyRequest = { raw: NodeRequest; originalUrl?: string; params?: unknown }
/** The part of a Fastify reply that the gate uses. */
export type FastifyReply = {
  raw: NodeResponse
  getHeaders: () => { [name: string]: number | string | string[] | undefined }
  header: (name: string, value: string) => unknown
  code: (status: number) => unknown
  send: (body: Buffer) => unknown
  hijack: () => unknown
  callNotFound: () => unknown
}
/** The part of a Fastify app or plugin that the gate uses. */
export type FastifyApp = {
  prefix: string
  hasRoute: (route: { method: 'OPTIONS'; url: string }) => boolean
  options: (url: string, handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => unknown
  addHook: (name: never, hook: never) => unknown
}

type Hooks = {
  onRequest: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void
  onRoute: (route: { url: string }) => void
  onReady: () => Promise<void>
}

/**
 * Adds a gate as a Fastify hook, on the app or on one of its plugins. Call it before the routes are added. Keys are
 * whole paths, or relative to the prefix of the plugin. WebSocket routes of `@fastify/websocket` are settled before their
 * handlers run. The app does not start if no key can match a route that the gate covers, or if a gate that is passed by
 * its options cannot be opened.
 *
 * @throws OptionsError if `gate` is not a gate
 * @example
 * paymentGate(app, { payTo, facilitators: url, routes: { 'GET /weather': '$0.01' } })
 * app.get('/weather', () => ({ weather: 'sunny' }))
 */
export function paymentGate(app: FastifyApp, gate: Gate | GateOptions, options: BufferOptions = {}): void {
  if (!isGateOptions(gate)) checkGate(gate)
  // Hooks are added now, because routes that are added before them would be free.
  const opening = isGateOptions(gate) ? Gate.open(gate) : Promise.resolve(gate as Gate)
  // The error goes to `onReady`.
  opening.catch(() => {})
  const addHook = <Name extends keyof Hooks>(name: Name, hook: Hooks[Name]): unknown =>
    app.addHook(name as never, hook as never)
  const depth = depthOf(app.prefix)
  const urls = new Set<string>()
  addHook('onRoute', ({ url }) => {
    urls.add(url)
  })
  addHook('onReady', async () => {
    const opened = await opening
    if ([...urls].some((url) => opened.mayMatch(url, depth))) return
    const where = app.prefix === '' ? 'the app' : `the prefix ${app.prefix}`
    const hint =
      'Call paymentGate before the routes, in the same plugin; keys are whole paths, or relative to its prefix.'
    throw new OptionsError(`none of the gate's keys matches a route of ${where}`, hint)
  })
  const pass = async (request: FastifyRequest, reply: FastifyReply): Promise<GateResult> => {
    const { url = '/' } = request.raw
    const { originalUrl = url } = request
    const sent = hasEmptyParameter(request) ? fillSegments(pathOf(url)) : pathOf(originalUrl)
    const path = { path: pathOf(url), depth, sent, targets: [url, originalUrl] }
    const outerHeaders = { ...reply.getHeaders() } as OutgoingHttpHeaders
    const result = await applyGate({
      gate: await opening,
      request: request.raw,
      response: reply.raw,
      path,
      options,
      outerHeaders,
    })
    if (result.type === 'next') return result
    if (result.type === 'closed') reply.hijack()
    else if (result.isHeld) await sendHeld(reply, outerHeaders, result.response)
    else await sendReply(reply, result.response)
    return result
  }
  // A callback instead of a promise, so that the following code runs where it is called.
  addHook('onRequest', (request, reply, done) => {
    pass(request, reply).then((result) => {
      if (result.type !== 'next') return
      if (result.run === undefined) done()
      else result.run(done)
    }, done)
  })
  const hasCors = isGateOptions(gate) ? (gate.cors ?? false) !== false : gate.hasCors
  // Hooks of a plugin run only for its routes, and a browser's preflight has a method without a route.
  if (hasCors && app.prefix !== '' && !app.hasRoute({ method: 'OPTIONS', url: `${app.prefix}/*` })) {
    app.options('/*', (_, reply) => reply.callNotFound())
  }
}

/** Fastify's router accepts an empty segment as a parameter, as no other does: `/items/` matches `/items/:id`. */
function hasEmptyParameter({ params }: FastifyRequest): boolean {
  return Object.entries(params ?? {}).some(([name, value]) => name !== '*' && value === '')
}

function fillSegments(path: string): string {
  return path.replace(/\/(?=[/?#;]|$)/g, '/-')
}

/** Hooks such as `onSend` already processed the response when it was created, and would change it again. */
async function sendHeld(reply: FastifyReply, outerHeaders: OutgoingHttpHeaders, response: Response): Promise<void> {
  reply.hijack()
  for (const [name, value] of Object.entries(outerHeaders)) {
    if (value !== undefined) (reply.raw as ServerResponse).setHeader(name, value)
  }
  await send(reply.raw, response)
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
