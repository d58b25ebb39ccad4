/** The gate in front of WebSockets, and of other protocols that a connection is upgraded to. */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SettleResponse } from '@latchkey/x402-wire'
import { warn } from '../../errors.js'
import type { Admission, Decision } from '../exchange/Admission.js'
import { sharePayment } from '../exchange/Payment.js'
import type { Gate } from '../gate/Gate.js'
import { json } from '../gate/responses.js'
import { checkGate, isUpgradeRequest } from '../routes/GateRequest.js'
import { type BufferOptions, mountedPath } from './applyGate.js'
import { webRequest } from './NodeMessage.js'

/** A listener for the event `upgrade`. `receipt` is set if the connection is paid for. */
export type UpgradeListener = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  receipt: SettleResponse | undefined,
) => unknown

/**
 * Puts the gate in front of a listener for the event `upgrade` of a server. A payment is settled before the listener is
 * called, and opens one connection. A client that has not paid gets the response of the gate, such as 402 with the
 * price.
 *
 * @throws OptionsError if `gate` is not a gate
 * @example
 * const sockets = new WebSocketServer({ noServer: true })
 * server.on('upgrade', upgradeGate(gate, (request, socket, head) => {
 *   sockets.handleUpgrade(request, socket, head, (webSocket) => webSocket.send('sunny'))
 * }))
 */
export function upgradeGate(
  gate: Gate,
  listener: UpgradeListener,
  { onError = warn }: Pick<BufferOptions, 'onError'> = {},
): (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  checkGate(gate)
  return async (request, socket, head) => {
    const closed = new AbortController()
    const onClose = (): void => closed.abort()
    // Node does not listen for errors of an upgraded socket, and an unhandled one would end the process.
    const onSocketError = (): void => void socket.destroy()
    socket.once('close', onClose).on('error', onSocketError)
    const writtenBefore = bytesWritten(socket)
    let admission: Admission | undefined
    try {
      const decision = await decide(gate, request, closed.signal)
      if (decision.type === 'response') return await respond(socket, decision.response)
      if (decision.type === 'paid') admission = decision.admission
      if (socket.destroyed) {
        await admission?.cancel()
        return
      }
      socket.off('error', onSocketError)
      await listener(request, socket, head, admission?.settled)
    } catch (error) {
      onError(error)
      // The listener failed before it accepted the connection, so the payment may open another.
      if (bytesWritten(socket) === writtenBefore) await admission?.cancel()
      socket.destroy()
    } finally {
      socket.off('close', onClose)
    }
  }
}

/** NaN if the number is not known. */
function bytesWritten(socket: Duplex & { readonly bytesWritten?: number }): number {
  return socket.bytesWritten ?? Number.NaN
}

async function decide(gate: Gate, request: IncomingMessage, signal: AbortSignal): Promise<Decision> {
  const path = mountedPath(request)
  let web: Request
  try {
    web = webRequest(request, path.path, signal)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { type: 'response', response: json(400, { error: 'the request has no valid URL' }) }
  }
  // Any upgrade is settled first, for every protocol.
  if (!isUpgradeRequest(web)) web.headers.set('Upgrade', 'unknown')
  const decision = await gate.decide(web, path, request.socket?.remoteAddress)
  sharePayment(web, [request])
  return decision
}

async function respond(socket: Duplex, response: Response): Promise<void> {
  const { status } = response
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
  const body = Buffer.from(await response.arrayBuffer())
  const own = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    `Content-Length: ${body.length}`,
  ]
  if (socket.destroyed) return
  socket.end(Buffer.concat([Buffer.from(`${[...own, ...headers].join('\r\n')}\r\n\r\n`, 'latin1'), body]))
}
