/** The gate in front of a listener of `node:http` or `node:http2`, and in front of WebSockets. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { warn } from '../../errors.js'
import { Gate } from '../gate/Gate.js'
import type { GateOptions } from '../gate/GateOptions.js'
import { json } from '../gate/responses.js'
import { checkGate } from '../routes/GateRequest.js'
import { applyGate, type BufferedResponse, type BufferOptions, mountedPath } from './applyGate.js'
import { isGateOptions } from './gateSource.js'
import { type NodeRequest, type NodeResponse, send } from './NodeMessage.js'

export { type Payment, paymentOf } from '../exchange/Payment.js'
export type { SalesPageOptions } from '../sales/salesPage.js'
export type { BufferOptions } from './applyGate.js'
export type { NodeRequest, NodeResponse } from './NodeMessage.js'
export { type SalesListener, salesListener } from './salesListener.js'
export { type UpgradeListener, upgradeGate } from './upgradeGate.js'

/** A listener for requests of `node:http` or `node:http2`. */
export type GateListener<Request extends NodeRequest, Response extends NodeResponse> = (
  request: Request,
  response: Response,
) => unknown

/** A listener for servers of `node:http` and of `node:http2`. */
export type GatedListener = (request: NodeRequest, response: NodeResponse) => Promise<void>

/**
 * Opens a gate, and puts it in front of a listener of `node:http` or `node:http2`. If the listener throws, or its
 * promise rejects, before it has ended its response, the response is 500 and nothing is charged.
 *
 * @throws what `Gate.open` throws
 * @example
 * const options = { payTo, facilitators: url, routes: { 'GET /weather': '$0.01' } }
 * const server = createServer(
 *   await paymentGate(options, (request, response) => {
 *     // What is not paid for comes here, too.
 *     if (request.method === 'GET' && request.url === '/weather') response.end('sunny')
 *     else response.writeHead(404).end()
 *   }),
 * )
 */
export function paymentGate<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
>(
  options: GateOptions & BufferOptions,
  listener: GateListener<Request, Response>,
): Promise<GatedListener & GateListener<Request, Response>>
/**
 * Puts a gate that is open in front of a listener of `node:http` or `node:http2`.
 *
 * @throws OptionsError if `gate` is not a gate
 * @example
 * const server = createServer(
 *   paymentGate(gate, (request, response) => {
 *     if (request.method === 'GET' && request.url === '/weather') response.end('sunny')
 *     else response.writeHead(404).end()
 *   }),
 * )
 */
export function paymentGate<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
>(
  gate: Gate,
  listener: GateListener<Request, Response>,
  options?: BufferOptions,
): GatedListener & GateListener<Request, Response>
export function paymentGate(
  gate: Gate | (GateOptions & BufferOptions),
  listener: GateListener<never, never>,
  options: BufferOptions = {},
): GatedListener | Promise<GatedListener> {
  const handler = listener as GateListener<NodeRequest, NodeResponse>
  if (isGateOptions(gate)) return Gate.open(gate).then((opened) => gatedListener(opened, handler, gate))
  checkGate(gate)
  return gatedListener(gate, handler, options)
}

function gatedListener(
  gate: Gate,
  listener: GateListener<NodeRequest, NodeResponse>,
  { onError = warn, ...options }: BufferOptions,
): GatedListener {
  return async (request, response) => {
    let buffered: BufferedResponse | undefined
    try {
      const result = await applyGate({
        gate,
        request,
        response,
        path: mountedPath(request),
        options: { ...options, onError },
      })
      if (result.type === 'closed') return
      if (result.type === 'response') {
        await send(response, result.response)
        return
      }
      buffered = result.buffered
      const handle = (): unknown => listener(request, response)
      await (result.run === undefined ? handle() : result.run(handle))
    } catch (error) {
      onError(error)
      if (buffered !== undefined) buffered.fail()
      else await sendFailure(response)
    }
  }
}

async function sendFailure(response: NodeResponse): Promise<void> {
  // A response that has ended is complete and on its way.
  if (response.writableEnded) return
  if (response.headersSent) (response as ServerResponse).destroy()
  else await send(response, json(500, { error: 'the handler failed' }))
}
