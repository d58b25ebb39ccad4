/** Runs a seller on each adapter, and records its sales: answers by id, and orders by purchase. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { serve } from '@hono/node-server'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate, Route } from '@latchkey/x402/server'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import type { Counter, Random } from './soakRandom.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

/**
 * The goods: a report, which is settled after it was made; a dossier, which is settled first because of its price; an
 * order, which is settled first because of its effect; and a stream, which is settled first and sent while it is made.
 */
export const goods = ['report', 'dossier', 'order', 'stream'] as const
export type Good = (typeof goods)[number]

export const methods = { report: 'GET', dossier: 'GET', order: 'POST', stream: 'GET' } as const
const prices: { [good in Good]: string } = { report: '$0.001', dossier: '$0.002', order: '$0.003', stream: '$0.004' }

export function routesFor(network: string, payTo: string): { [key: string]: Route } {
  const accepts = (good: Good) => ({ network, payTo, price: prices[good], maxTimeoutSeconds })
  return {
    'GET /report': { accepts: accepts('report') },
    'GET /dossier': { accepts: accepts('dossier'), settleFirstAbove: prices.report },
    'GET /stream': { accepts: { ...accepts('stream'), paymentFlow: 'upfront' } },
    'POST /order': { accepts: accepts('order') },
  }
}

/** The content of every answer: its purchase, and the handler run that made it. */
export type Answer = { purchase: string; answer: string; good: Good; filler: string }

/** Payments expire within a minute or two, because the devnet makes blocks faster than the public network. */
const maxTimeoutSeconds = 300
const failureRate = 0.02
const maxFiller = 20_000

/** The handlers of a seller, and what they did. */
export class Shop {
  readonly name: string
  readonly #random: Random
  readonly #counts: Counter
  /** How often each order was placed, by purchase. */
  readonly orders = new Map<string, number>()

  constructor(name: string, random: Random, counts: Counter) {
    this.name = name
    this.#random = random
    this.#counts = counts
  }

  /** Returns undefined if the handler fails before it had an effect. */
  async serve(good: Good, purchase: string): Promise<Answer | undefined> {
    await this.#random.pause(0, this.#random.chance(0.1) ? 800 : 60)
    if (this.#random.chance(failureRate)) {
      this.#counts.add('handler failures')
      return undefined
    }
    this.#counts.add('handler runs')
    if (good === 'order') this.orders.set(purchase, (this.orders.get(purchase) ?? 0) + 1)
    const filler = 'x'.repeat(this.#random.chance(0.3) ? this.#random.between(0, maxFiller) : 10)
    return { purchase, answer: randomUUID(), good, filler }
  }
}

export type SellerOptions = { gate: Gate; shop: Shop }
export type Adapter = {
  name: string
  isHttp2?: boolean
  /** Returns the port. */
  open: (t: Scope, options: SellerOptions) => Promise<number>
}

const failure = { error: 'out of order' }
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
  const id = good === 'order' ? orderOf(await text(request)) : purchase
  const answer = await shop.serve(good, id)
  response.writeHead(answer === undefined ? 500 : 200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(answer ?? failure))
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
    const id = good === 'order' ? (request.body as { order: string }).order : target(request.originalUrl).purchase
    const answer = await shop.serve(good, id)
    response.status(answer === undefined ? 500 : 200).json(answer ?? failure)
  }
  app.get('/report', handle('report'))
  app.get('/dossier', handle('dossier'))
  app.get('/stream', handle('stream'))
  app.post('/order', express.json(), handle('order'))
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
    const handler = async (request: { body: unknown; url: string }, reply: { code: (status: number) => unknown }) => {
      const id = good === 'order' ? (request.body as { order: string }).order : target(request.url).purchase
      const answer = await shop.serve(good, id)
      if (answer === undefined) reply.code(500)
      return answer ?? failure
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
      const id = good === 'order' ? orderOf(await context.req.text()) : target(context.req.url).purchase
      const answer = await shop.serve(good, id)
      return answer === undefined ? context.json(failure, 500) : context.json(answer)
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
