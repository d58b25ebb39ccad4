/** Opens the same shop in every web framework: its goods, and how often each was made. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type HttpBindings, serve } from '@hono/node-server'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate, GateOptions, Route } from '@latchkey/x402/server'
import { paymentGate as webGate } from '@latchkey/x402/web'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'

export const maxBytes = 2 * 1024 * 1024
export const largeBytes = 1024 * 1024

/** The output of a handler, which the frameworks only send. */
export type Goods = {
  status?: number
  headers?: { [name: string]: string | string[] }
  body?: string | Buffer | AsyncGenerator<string | Buffer>
}

export class Stock {
  readonly runs: string[] = []
  /** The second half of the stream waits for this. */
  goOn: () => void = () => {}
  /** Responses to `wait` end after this. */
  release: () => void = () => {}
  readonly #released = new Promise<void>((resolve) => {
    this.release = resolve
  })

  get(name: string, body = ''): Goods {
    this.runs.push(name)
    if (name === 'throw') throw new Error('the handler is broken')
    const goods: { [name: string]: () => Goods } = {
      weather: () => ({
        headers: { 'Content-Type': 'application/json', 'Set-Cookie': ['session=1', 'theme=dark'], ETag: '"1"' },
        body: '{"weather":"sunny"}',
      }),
      cached: () => ({ headers: { 'Cache-Control': 'public, max-age=60, s-maxage=600' }, body: 'cached' }),
      shared: () => ({ headers: sharedCacheHeaders, body: 'for one buyer' }),
      echo: () => ({ headers: { 'Content-Type': 'text/plain' }, body: body === 'wait' ? this.#afterRelease() : body }),
      error: () => ({ status: 503, headers: { 'PAYMENT-RESPONSE': 'e30=' }, body: 'out of order' }),
      missing: () => ({ status: 404, body: 'no such thing' }),
      large: () => ({ body: Buffer.alloc(largeBytes, 'x') }),
      endless: () => ({ body: endless() }),
      slow: () => ({ body: this.#afterWait() }),
      stream: () => ({ headers: { 'Cache-Control': 'public' }, body: this.#halves() }),
      free: () => ({ body: 'free' }),
    }
    return goods[name]!()
  }

  count(name: string): number {
    return this.runs.filter((one) => one === name).length
  }

  async *#halves(): AsyncGenerator<string> {
    const second = new Promise<void>((resolve) => {
      this.goOn = resolve
    })
    yield 'first,'
    await second
    yield 'second'
  }

  async *#afterRelease(): AsyncGenerator<string> {
    await this.#released
    yield 'done'
  }

  async *#afterWait(): AsyncGenerator<string> {
    await sleep(300)
    yield 'late'
  }
}

async function* endless(): AsyncGenerator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  for (;;) {
    yield chunk
    await sleep(0)
  }
}

/** Headers that tell shared caches to store a response, in place of Cache-Control. */
export const sharedCacheHeaders = {
  'CDN-Cache-Control': 'public, max-age=600',
  'Cloudflare-CDN-Cache-Control': 'max-age=600',
  'Vercel-CDN-Cache-Control': 'max-age=600',
  'Netlify-CDN-Cache-Control': 'public, s-maxage=600',
  'Surrogate-Control': 'max-age=600',
  'Edge-Control': 'cache-maxage=600s',
  'X-Accel-Expires': '600',
  Expires: 'Fri, 31 Dec 2100 23:59:59 GMT',
  'Cache-Control': 'private="Set-Cookie, X-Own", max-age=600',
}

const names = ['weather', 'cached', 'shared', 'error', 'throw', 'missing', 'large', 'endless', 'slow', 'stream', 'free']

export type Shop = { url: string; close: () => Promise<void> }
export type Adapter = {
  name: string
  prefix: string
  open: (gate: Gate, stock: Stock) => Promise<Shop>
  /** Options of the gate that only this adapter needs. */
  own?: Pick<GateOptions, 'basePath'>
}

/** Everything costs a cent, and the stream is settled first. */
export function routesFor(prefix: string, network: string, payTo: string): { [key: string]: Route } {
  const accepts = { network, price: '$0.01', payTo }
  const paid = names.filter((name) => name !== 'free' && name !== 'stream')
  return {
    ...Object.fromEntries(paid.map((name) => [`GET ${prefix}/${name}`, { accepts }])),
    [`POST ${prefix}/echo`]: { accepts },
    [`GET ${prefix}/items/:id`]: { accepts },
    [`GET ${prefix}/files/*`]: { accepts },
    [`GET ${prefix}/stream`]: { accepts: { ...accepts, paymentFlow: 'upfront' } },
  }
}

async function sendNode(response: ServerResponse, { status = 200, headers = {}, body = '' }: Goods): Promise<void> {
  response.writeHead(status, headers)
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    response.end(body)
    return
  }
  for await (const piece of body) {
    if (response.write(piece)) continue
    await Promise.race([once(response, 'drain'), once(response, 'close')])
    if (response.closed) return
  }
  response.end()
}

export async function listen(listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<Shop> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

const noErrors = { maxBytes, onError: () => {} }

async function openNode(gate: Gate, stock: Stock): Promise<Shop> {
  const handler = nodeGate(
    gate,
    async (request, response) => {
      const name = decodeURIComponent(request.url!.split('?')[0]!).toLowerCase().split('/').filter(Boolean)
      if (name[0] === 'items' || name[0] === 'files') await sendNode(response, stock.get('weather'))
      else if (name[0] === 'echo') await sendNode(response, stock.get('echo', await textOf(request)))
      else await sendNode(response, names.includes(name[0] ?? '') ? stock.get(name[0]!) : { status: 404 })
    },
    noErrors,
  )
  return listen(handler)
}

function expressRoutes(app: express.Router, stock: Stock): void {
  for (const name of names) app.get(`/${name}`, (_, response) => sendNode(response, stock.get(name)))
  for (const path of ['/items/:id', '/files/*rest']) {
    app.get(path, (_, response) => sendNode(response, stock.get('weather')))
  }
  app.post('/echo', express.text(), (request, response) => sendNode(response, stock.get('echo', request.body)))
}

/** Silences the framework's error page, which prints errors. */
function quiet(app: express.Express): void {
  app.set('env', 'test')
}

async function openExpress(gate: Gate, stock: Stock): Promise<Shop> {
  const app = express()
  quiet(app)
  app.use(expressGate(gate, noErrors))
  expressRoutes(app, stock)
  return listen(app)
}

async function openExpressRouter(gate: Gate, stock: Stock): Promise<Shop> {
  const app = express()
  quiet(app)
  const router = express.Router()
  router.use(expressGate(gate, noErrors))
  expressRoutes(router, stock)
  app.use('/api', router)
  return listen(app)
}

async function openExpressMounted(gate: Gate, stock: Stock): Promise<Shop> {
  const app = express()
  quiet(app)
  app.use('/api', expressGate(gate, noErrors))
  const router = express.Router()
  expressRoutes(router, stock)
  app.use('/api', router)
  return listen(app)
}

function fastifyRoutes(app: FastifyInstance, stock: Stock): void {
  const handle =
    (name: string) => async (request: { body: unknown }, reply: { raw: ServerResponse; hijack(): void }) => {
      const goods = stock.get(name, String(request.body ?? ''))
      reply.hijack()
      await sendNode(reply.raw, goods)
    }
  // Uses the framework's own APIs as well, which differ.
  app.get('/weather', async (_, reply) => {
    const { headers = {}, body } = stock.get('weather')
    return reply.headers(headers).send(body)
  })
  app.get('/error', async (_, reply) => {
    const { status = 500, body } = stock.get('error')
    return reply.code(status).send(body)
  })
  app.get('/throw', async () => stock.get('throw'))
  for (const name of names) if (!['weather', 'error', 'throw'].includes(name)) app.get(`/${name}`, handle(name))
  app.get('/items/:id', handle('weather'))
  app.get('/files/*', handle('weather'))
  app.post('/echo', handle('echo'))
}

async function openFastify(gate: Gate, stock: Stock): Promise<Shop> {
  const app = fastify({ forceCloseConnections: true })
  fastifyGate(app, gate, noErrors)
  fastifyRoutes(app, stock)
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
}

async function openFastifyPrefix(gate: Gate, stock: Stock): Promise<Shop> {
  const app = fastify({ forceCloseConnections: true })
  await app.register(
    async (plugin) => {
      fastifyGate(plugin, gate, noErrors)
      fastifyRoutes(plugin, stock)
    },
    { prefix: '/api' },
  )
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
}

async function openHono(gate: Gate, stock: Stock): Promise<Shop> {
  const app = new Hono()
  app.use(honoGate(gate, { maxBytes }))
  app.onError((_, context) => context.text('Internal Server Error', 500))
  for (const name of names) app.get(`/${name}`, () => webResponse(stock.get(name)))
  for (const path of ['/items/:id', '/files/*']) app.get(path, () => webResponse(stock.get('weather')))
  app.post('/echo', async (context) => webResponse(stock.get('echo', await context.req.text())))
  return serveWeb(app.fetch)
}

async function serveWeb(fetch: FetchCallback): Promise<Shop> {
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      ;(server as ReturnType<typeof createServer>).closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

type FetchCallback = Parameters<typeof serve>[0]['fetch']

/** A function from `Request` to `Response`, without access to the connection. */
async function openWeb(gate: Gate, stock: Stock): Promise<Shop> {
  const handler = webGate(
    gate,
    async (request: Request, _env: HttpBindings) => {
      const [name = ''] = decodeURIComponent(new URL(request.url).pathname).toLowerCase().split('/').filter(Boolean)
      if (name === 'items' || name === 'files') return webResponse(stock.get('weather'))
      if (name === 'echo') return webResponse(stock.get('echo', await request.text()))
      return names.includes(name) ? webResponse(stock.get(name)) : new Response(null, { status: 404 })
    },
    { maxBytes, otherPaths: 'free', clientAddress: (_, { incoming }) => incoming.socket.remoteAddress },
  )
  return serveWeb((request, env) =>
    handler(request, env as HttpBindings).catch(() => new Response('Internal Server Error', { status: 500 })),
  )
}

function webResponse({ status = 200, headers = {}, body = '' }: Goods): Response {
  if (typeof body === 'string' || Buffer.isBuffer(body))
    return new Response(new Uint8Array(Buffer.from(body)), { status, headers: webHeaders(headers) })
  const iterator = body
  const stream = new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(new Uint8Array(Buffer.from(value)))
    },
    cancel: () => void iterator.return(undefined),
  })
  return new Response(stream, { status, headers: webHeaders(headers) })
}

function webHeaders(headers: NonNullable<Goods['headers']>): Headers {
  const pairs = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
  return new Headers(pairs as [string, string][])
}

export const adapters: readonly Adapter[] = [
  { name: 'Hono', prefix: '', open: openHono },
  { name: 'Express', prefix: '', open: openExpress },
  { name: 'Express with a router', prefix: '/api', open: openExpressRouter },
  { name: 'Express mounted under a prefix', prefix: '/api', open: openExpressMounted },
  { name: 'Fastify', prefix: '', open: openFastify },
  { name: 'Fastify with a prefix', prefix: '/api', open: openFastifyPrefix },
  { name: 'node:http', prefix: '', open: openNode },
  { name: 'a fetch handler', prefix: '', open: openWeb, own: { basePath: '/' } },
]
