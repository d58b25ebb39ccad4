/** Runs a seller on each adapter. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { serve } from '@hono/node-server'
import { paymentGate as expressGate, paymentOf as expressPayment } from '@latchkey/x402/express'
import { paymentGate as fastifyGate, paymentOf as fastifyPayment } from '@latchkey/x402/fastify'
import { paymentGate as honoGate, paymentOf as honoPayment } from '@latchkey/x402/hono'
import { paymentGate as nodeGate, paymentOf as nodePayment } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import express from 'express'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { type Good, goods, methods, type Shop } from './soakShop.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

export type SellerOptions = { gate: Gate; shop: Shop }
export type Adapter = {
  name: string
  isHttp2?: boolean
  /** Returns the port. */
  open: (t: Scope, options: SellerOptions) => Promise<number>
}

const failure = { error: 'out of order' }
const overridesHeader = 'Settlement-Overrides'
const onError = (): void => {}

function target(url = '/'): { good: Good | undefined; purchase: string } {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const good = goods.find((one) => pathname === `/${one}`)
  return { good, purchase: searchParams.get('purchase') ?? '' }
}

/** Returns the id in the order itself; the id in the URL is only for the books. */
function orderOf(body: string): string {
  return (JSON.parse(body) as { order: string }).order
}

async function serveNode(shop: Shop, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { good, purchase } = target(request.url)
  if (good === undefined) return void response.writeHead(404).end()
  const id = methods[good] === 'POST' ? orderOf(await text(request)) : purchase
  const payment = nodePayment(request)
  if (good === 'tail') return sendStream(shop.stream(id, payment!), response)
  const served = await shop.serve(good, id, payment)
  if (served?.overrides !== undefined) response.setHeader(overridesHeader, served.overrides)
  response.writeHead(served === undefined ? 500 : 200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(served?.answer ?? failure))
}

/** Stops when the client has left. A handler that fails breaks its response off. */
async function sendStream(lines: AsyncGenerator<string>, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/jsonl' })
  try {
    for await (const line of lines) {
      if (response.destroyed) break
      response.write(line)
    }
    response.end()
  } catch {
    response.destroy()
  }
}

async function listen(t: Scope, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections?.()
  })
  return (server.address() as AddressInfo).port
}

async function openNode(t: Scope, { gate, shop }: SellerOptions): Promise<number> {
  return listen(t, createServer(nodeGate(gate, (...call) => serveNode(shop, ...call), { onError })))
}

async function openHttp2(t: Scope, { gate, shop }: SellerOptions): Promise<number> {
  const listener = nodeGate(gate, (...call) => serveNode(shop, ...call), { onError })
  const server = createHttp2Server(listener as never)
  closeSessions(t, server)
  return listen(t, server as never)
}

/** Closes all sessions, because an HTTP/2 server stops only when its last session does. */
function closeSessions(t: Scope, server: Pick<Http2Server, 'on'>): void {
  const sessions = new Set<{ destroy: () => void }>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {}).once('close', () => sessions.delete(session))
  })
  t.after(() => {
    for (const session of sessions) session.destroy()
  })
}

async function openExpress(t: Scope, { gate, shop }: SellerOptions): Promise<number> {
  const app = express()
  app.set('env', 'test')
  app.use(expressGate(gate, { onError }))
  const handle = (good: Good) => async (request: express.Request, response: express.Response) => {
    const isOrder = methods[good] === 'POST'
    const id = isOrder ? (request.body as { order: string }).order : target(request.originalUrl).purchase
    const payment = expressPayment(request)
    if (good === 'tail') return sendStream(shop.stream(id, payment!), response)
    const served = await shop.serve(good, id, payment)
    if (served?.overrides !== undefined) response.setHeader(overridesHeader, served.overrides)
    response.status(served === undefined ? 500 : 200).json(served?.answer ?? failure)
  }
  for (const good of goods) {
    if (methods[good] === 'POST') app.post(`/${good}`, express.json(), handle(good))
    else app.get(`/${good}`, handle(good))
  }
  return listen(t, createServer(app))
}

async function openFastify(t: Scope, options: SellerOptions): Promise<number> {
  return openFastifyApp(t, fastify({ forceCloseConnections: true }), options)
}

async function openFastifyHttp2(t: Scope, options: SellerOptions): Promise<number> {
  const app = fastify({ http2: true, http2SessionTimeout: 60_000 })
  closeSessions(t, app.server)
  return openFastifyApp(t, app as never, options)
}

async function openFastifyApp(t: Scope, app: FastifyInstance, { gate, shop }: SellerOptions): Promise<number> {
  fastifyGate(app, gate, { onError })
  for (const good of goods) {
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const isOrder = methods[good] === 'POST'
      const id = isOrder ? (request.body as { order: string }).order : target(request.url).purchase
      const payment = fastifyPayment(request)
      if (good === 'tail') return reply.type('application/jsonl').send(Readable.from(shop.stream(id, payment!)))
      const served = await shop.serve(good, id, payment)
      if (served?.overrides !== undefined) reply.header(overridesHeader, served.overrides)
      if (served === undefined) reply.code(500)
      return served?.answer ?? failure
    }
    app.route({ method: methods[good], url: `/${good}`, handler })
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  return (app.server.address() as AddressInfo).port
}

async function openHono(t: Scope, { gate, shop }: SellerOptions): Promise<number> {
  const app = new Hono()
  app.use(honoGate(gate))
  for (const good of goods) {
    app.on(methods[good], `/${good}`, async (context) => {
      const id = methods[good] === 'POST' ? orderOf(await context.req.text()) : target(context.req.url).purchase
      const payment = honoPayment(context)
      if (good === 'tail') {
        const body = Readable.toWeb(Readable.from(shop.stream(id, payment!))) as ReadableStream
        return new Response(body, { headers: { 'Content-Type': 'application/jsonl' } })
      }
      const served = await shop.serve(good, id, payment)
      if (served?.overrides !== undefined) context.header(overridesHeader, served.overrides)
      return served === undefined ? context.json(failure, 500) : context.json(served.answer)
    })
  }
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => {
    server.close()
    ;(server as ReturnType<typeof createServer>).closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

export const adapters: readonly Adapter[] = [
  { name: 'node', open: openNode },
  { name: 'express', open: openExpress },
  { name: 'fastify', open: openFastify },
  { name: 'hono', open: openHono },
  { name: 'node over HTTP/2', isHttp2: true, open: openHttp2 },
  { name: 'fastify over HTTP/2', isHttp2: true, open: openFastifyHttp2 },
]
