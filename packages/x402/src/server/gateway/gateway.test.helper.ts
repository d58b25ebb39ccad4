/** A gateway in front of a service that records its requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { TestContext } from 'node:test'
import type { GateOptions } from '../gate/GateOptions.js'
import { newLedger, paymentFor, requiredIn, stubFacilitator, stubGate } from '../stubs.test.helper.js'
import { type GatewayOptions, openGateway } from './Gateway.js'
import { Upstream, type UpstreamOptions } from './Upstream.js'

export type Seen = { method: string | undefined; url: string | undefined; headers: string[]; body: string }

export async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** A gateway with a paid route `GET /a`, in front of a service that records its requests. */
export async function openShop(
  t: TestContext,
  listener: RequestListener = (_, response) => response.end('goods'),
  options: Partial<Omit<GatewayOptions, 'gate' | 'upstream'>> &
    Pick<UpstreamOptions, 'headers' | 'timeoutMs' | 'maxConnections' | 'passHeaders' | 'methodInBody'> & {
      gate?: Partial<GateOptions>
      path?: string
    } = {},
) {
  const seen: Seen[] = []
  const service = createServer(async (request, response) => {
    const { method, url, rawHeaders: headers } = request
    seen.push({ method, url, headers, body: await bodyOf(request) })
    listener(request, response)
  })
  const servicePort = await listen(t, service)
  const settled: string[] = []
  const ledger = newLedger()
  const stub = stubFacilitator(ledger)
  const facilitators = stubFacilitator(ledger, {
    settle: async (payload, requirements, rest) => {
      const response = await stub.settle(payload, requirements, rest)
      settled.push(response.transaction)
      return response
    },
  })
  const { gate, chain } = await stubGate({ facilitators, origin: 'http://shop.example', ...options.gate }, ledger)
  const { headers, timeoutMs, maxConnections, passHeaders, methodInBody, path = '' } = options
  const url = `http://127.0.0.1:${servicePort}${path}`
  const upstream = new Upstream({ url, headers, timeoutMs, maxConnections, passHeaders, methodInBody })
  t.after(() => upstream.close())
  const { free, perPayer } = options
  const gateway = openGateway({ gate, upstream, free, perPayer, onError: () => {} })
  const server = createServer(gateway.request).on('upgrade', gateway.upgrade)
  const port = await listen(t, server)
  const address = `http://127.0.0.1:${port}`
  const payment = async (target: string, init: RequestInit = {}): Promise<string> => {
    const asked = await fetch(`${address}${target}`, init)
    assert.equal(asked.status, 402)
    return paymentFor(requiredIn(asked), chain).header
  }
  const pay = async (target = '/a', init: RequestInit = {}): Promise<Response> => {
    const header = await payment(target, init)
    return fetch(`${address}${target}`, { ...init, headers: { ...init.headers, 'PAYMENT-SIGNATURE': header } })
  }
  return { url: address, port, chain, payment, pay, seen, settled, service }
}

/** Sends the lines of a request, and returns the status and the text of the response. */
export async function sendRaw(
  port: number,
  lines: readonly string[],
  body = '',
): Promise<{ status: number; text: string }> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`, 'latin1')
  const text = await bodyOf(socket as unknown as IncomingMessage)
  return { status: Number(text.split(' ')[1]), text }
}
