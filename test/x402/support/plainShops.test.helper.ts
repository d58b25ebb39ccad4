/**
 * Puts one handler behind the gate of every web framework, over HTTP/1.1 and HTTP/2. Streams use each framework's own
 * API.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { serve } from '@hono/node-server'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { serve as serve1 } from 'hono-node-server-1'

/** The request to a handler. */
export type Order = {
  readonly method: string
  readonly target: string
  readonly header: (name: string) => string | undefined
  /** Adds a listener to every signal of the framework that the client has left. */
  readonly onLeave: (listener: () => void) => void
}
/** The response of a handler: one text, or pieces as they are made. */
export type Sold = { readonly status?: number; readonly body: string | AsyncIterable<string> }
export type Work = (order: Order) => Sold

export type PlainShop = {
  readonly name: string
  readonly protocol: 'HTTP/1.1' | 'HTTP/2'
  readonly open: (gate: Gate, work: Work) => Promise<OpenShop>
}

export type OpenShop = {
  readonly url: string
  /** Whether no client is connected, as far as the server has noticed. */
  readonly isIdle: () => boolean
  readonly close: () => Promise<void>
}

type AnyServer = Pick<Server, 'on' | 'close' | 'address' | 'listening'>

/** Returns a server that listens, or is about to, with its connections. */
async function opened(server: AnyServer): Promise<OpenShop> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  if (!server.listening) await once(server as Server, 'listening')
  const close = async (): Promise<void> => {
    const closed = once(server as Server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, isIdle: () => sockets.size === 0, close }
}

type Listener = (request: never, response: never) => void

function listen(listener: Listener): Promise<OpenShop> {
  return opened(createServer(listener as never).listen(0, '127.0.0.1'))
}

function listenHttp2(listener: Listener): Promise<OpenShop> {
  return opened(createHttp2Server(listener as never).listen(0, '127.0.0.1') as unknown as AnyServer)
}

const quiet = { onError: () => {} }

function orderOf(request: IncomingMessage, response: ServerResponse): Order {
  const { method = 'GET', url = '/', headers } = request
  const onLeave = (listener: () => void): void => {
    for (const event of ['close', 'aborted']) request.once(event, listener)
    response.once('close', listener)
  }
  return { method, target: url, header: (name) => headers[name.toLowerCase()] as string | undefined, onLeave }
}

async function sendNode(response: ServerResponse, { status = 200, body }: Sold): Promise<void> {
  response.writeHead(status, { 'Content-Type': 'text/plain' })
  if (typeof body === 'string') {
    response.end(body)
    return
  }
  for await (const piece of body) if (!response.write(piece)) await once(response, 'drain')
  response.end()
}

function nodeListener(work: Work) {
  return (request: unknown, response: unknown): Promise<void> =>
    sendNode(response as ServerResponse, work(orderOf(request as IncomingMessage, response as ServerResponse)))
}

/** `isPiped`: uses a pipe, which stops if its target seems to be closed. */
function openExpress(isPiped: boolean): PlainShop['open'] {
  return (gate, work) => {
    const app = express()
    app.set('env', 'test')
    app.use(expressGate(gate, quiet))
    app.all('/*path', async (request, response, next) => {
      const sold = work({ ...orderOf(request, response), target: request.originalUrl })
      if (!isPiped || typeof sold.body === 'string') return sendNode(response, sold)
      Readable.from(sold.body)
        .on('error', next)
        .pipe(response.status(sold.status ?? 200))
    })
    return listen(app as Listener)
  }
}

function openFastify(isHttp2: boolean): PlainShop['open'] {
  return async (gate, work) => {
    const app = (isHttp2
      ? fastify({ http2: true })
      : fastify({ forceCloseConnections: true })) as unknown as FastifyInstance
    fastifyGate(app, gate, quiet)
    app.all('/*', async (request, reply) => {
      const { status = 200, body } = work(orderOf(request.raw, reply.raw))
      reply.code(status).type('text/plain')
      return reply.send(typeof body === 'string' ? body : Readable.from(body))
    })
    const shop = opened(app.server)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return shop
  }
}

type Serve = (options: object) => ReturnType<typeof serve>

function openHono(start: Serve, isHttp2 = false): PlainShop['open'] {
  return async (gate, work) => {
    const app = new Hono()
    app.use(honoGate(gate))
    app.onError((_, context) => context.text('Internal Server Error', 500))
    app.all('/*', ({ req }) => {
      const { status = 200, body } = work({
        method: req.method,
        target: req.raw.url.slice(new URL(req.raw.url).origin.length),
        header: (name) => req.header(name),
        onLeave: (listener) => req.raw.signal.addEventListener('abort', listener),
      })
      return new Response(typeof body === 'string' ? body : webStream(body), { status })
    })
    const created = isHttp2 ? { createServer: createHttp2Server } : {}
    const server = start({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', ...created })
    return opened(server as unknown as AnyServer)
  }
}

function webStream(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(new TextEncoder().encode(value))
    },
    cancel: () => void iterator.return?.(),
  })
}

export const plainShops: readonly PlainShop[] = [
  {
    name: 'node:http',
    protocol: 'HTTP/1.1',
    open: (gate, work) => listen(nodeGate(gate, nodeListener(work), quiet) as Listener),
  },
  {
    name: 'node:http2',
    protocol: 'HTTP/2',
    open: (gate, work) => listenHttp2(nodeGate(gate, nodeListener(work), quiet) as Listener),
  },
  { name: 'Express', protocol: 'HTTP/1.1', open: openExpress(false) },
  { name: 'Express with a pipe', protocol: 'HTTP/1.1', open: openExpress(true) },
  { name: 'Fastify', protocol: 'HTTP/1.1', open: openFastify(false) },
  { name: 'Fastify over HTTP/2', protocol: 'HTTP/2', open: openFastify(true) },
  { name: 'Hono', protocol: 'HTTP/1.1', open: openHono(serve as never) },
  { name: 'Hono over HTTP/2', protocol: 'HTTP/2', open: openHono(serve as never, true) },
  { name: 'Hono with node-server 1', protocol: 'HTTP/1.1', open: openHono(serve1 as never) },
]
