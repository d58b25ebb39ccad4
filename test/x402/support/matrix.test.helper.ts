/** Opens one shop in every web framework, over HTTP/1.1 and HTTP/2, under every kind of prefix. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttp2Server, Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
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
import { listenHttp2 } from './http2.test.helper.js'
import { listen, type Shop } from './shops.test.helper.js'

/**
 * The behaviour of a handler; `partial` fails in the middle of its response, `after` and `later` after it has ended.
 */
export const goods = ['weather', 'empty', 'error', 'throw', 'partial', 'after', 'later', 'free'] as const
export type Good = (typeof goods)[number]
export const weather = '{"weather":"sunny"}'

/** Counts how often each handler ran. */
export class Runs {
  readonly names: string[] = []

  count(name: Good): number {
    return this.names.filter((one) => one === name).length
  }
}

export type Seller = {
  name: string
  protocol: 'HTTP/1.1' | 'HTTP/2'
  /** The prefix that the client adds to the paths of the routes. */
  prefix: string
  open: (gate: Gate, runs: Runs) => Promise<Shop>
}

const quiet = { onError: () => {} }
type Response_ = ServerResponse

/** Throws for some goods before, during or after the response. */
function serveGood(name: Good, response: Response_, runs: Runs): void {
  runs.names.push(name)
  if (name === 'throw') throw new Error('the handler is broken')
  if (name === 'partial') {
    response.write('the first half')
    throw new Error('the handler is broken')
  }
  if (name === 'error') {
    response.statusCode = 503
    response.end('out of order')
  } else if (name === 'empty') {
    response.statusCode = 204
    response.end()
  } else {
    response.setHeader('Content-Type', 'application/json')
    response.end(weather)
  }
  if (name === 'after') throw new Error('the handler is broken after its response')
}

async function serveGoodLater(name: Good, response: Response_, runs: Runs): Promise<void> {
  serveGood(name, response, runs)
  if (name !== 'later') return
  await new Promise((resolve) => setImmediate(resolve))
  throw new Error('the handler is broken some time after its response')
}

function nodeListener(runs: Runs) {
  return async (request: { url?: string | undefined }, response: unknown): Promise<void> => {
    const name = request.url!.split('?')[0]!.split('/').at(-1) as Good
    const own = response as ServerResponse
    if (goods.includes(name)) return serveGoodLater(name, own, runs)
    own.statusCode = 404
    own.end()
  }
}

function expressRoutes(router: express.Router, runs: Runs): express.Router {
  for (const name of goods) {
    router.get(`/${name}`, (_, response) => {
      // Uses the framework's own API if there is one.
      if (name === 'weather' || name === 'after') {
        runs.names.push(name)
        response.json(JSON.parse(weather))
        if (name === 'after') throw new Error('the handler is broken after its response')
        return undefined
      }
      return serveGoodLater(name, response, runs)
    })
  }
  return router
}

function expressApp(): express.Express {
  const app = express()
  app.set('env', 'test')
  return app
}

/** Express 5 supports only HTTP/1.1; people give its objects the prototypes of HTTP/2. */
function overHttp2(app: express.Express): express.Express {
  const [request, response] = [
    Object.create(Http2ServerRequest.prototype),
    Object.create(Http2ServerResponse.prototype),
  ]
  const copy = (from: object, to: object): object =>
    Object.defineProperties(to, { ...Object.getOwnPropertyDescriptors(from), app: { value: app, configurable: true } })
  Object.assign(app, { request: copy(express.request, request), response: copy(express.response, response) })
  return app
}

type Listen = (listener: (request: IncomingMessage, response: ServerResponse) => void) => Promise<Shop>
const secureHttp2: Listen = (listener) => listenHttp2(listener as never, { isSecure: true })
const plainHttp2: Listen = (listener) => listenHttp2(listener as never)

function fastifyRoutes(app: FastifyInstance, runs: Runs): void {
  for (const name of goods) {
    app.get(`/${name}`, async (_, reply) => {
      if (name === 'weather' || name === 'later' || name === 'after') {
        runs.names.push(name)
        reply.type('application/json').send(weather)
        if (name === 'later') await new Promise((resolve) => setImmediate(resolve))
        if (name !== 'weather') throw new Error('the handler is broken after its response')
        return reply
      }
      if (name === 'error' || name === 'empty') {
        runs.names.push(name)
        return reply.code(name === 'empty' ? 204 : 503).send(name === 'empty' ? undefined : 'out of order')
      }
      if (name === 'partial') reply.hijack()
      try {
        serveGood(name, reply.raw, runs)
      } catch (error) {
        if (name !== 'partial') throw error
        reply.raw.destroy()
        return reply
      }
      return reply
    })
  }
}

type FastifyOptions = { isHttp2?: boolean; prefixes?: string[]; rewrite?: string }

function openFastify({ isHttp2 = false, prefixes = [], rewrite }: FastifyOptions): Seller['open'] {
  return async (gate, runs) => {
    const rewriteUrl = ({ url = '/' }: { url?: string | undefined }): string =>
      rewrite !== undefined && url.startsWith(rewrite) ? url.slice(rewrite.length) : url
    const app = (isHttp2
      ? fastify({ http2: true, rewriteUrl })
      : fastify({ forceCloseConnections: true, rewriteUrl })) as unknown as FastifyInstance
    const add = async (plugin: FastifyInstance): Promise<void> => {
      fastifyGate(plugin, gate, quiet)
      fastifyRoutes(plugin, runs)
    }
    const [outer, inner] = prefixes
    if (outer === undefined) await add(app)
    else if (inner === undefined) await app.register(add, { prefix: outer })
    else await app.register(async (plugin) => void (await plugin.register(add, { prefix: inner })), { prefix: outer })
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  }
}

function honoRoutes(app: Hono, runs: Runs, at = ''): Hono {
  for (const name of goods) {
    app.get(`${at}/${name}`, (context) => {
      runs.names.push(name)
      if (name === 'throw') throw new Error('the handler is broken')
      if (name === 'error') return context.text('out of order', 503)
      if (name === 'empty') return context.body(null, 204)
      if (name !== 'partial') return context.body(weather, 200, { 'Content-Type': 'application/json' })
      const parts = [() => new TextEncoder().encode('the first half')]
      return new Response(
        new ReadableStream({
          pull: (controller) => {
            const next = parts.shift()
            if (next === undefined) throw new Error('the handler is broken')
            controller.enqueue(next())
          },
        }),
      )
    })
  }
  return app
}

type OpenHono = { build: (gate: Gate, runs: Runs) => Hono; isHttp2?: boolean; serve?: typeof serve }

function openHono({ build, isHttp2 = false, serve: start = serve }: OpenHono): Seller['open'] {
  return async (gate, runs) => {
    const app = build(gate, runs).onError((_, context) => context.text('Internal Server Error', 500))
    const options = { fetch: app.fetch, port: 0, hostname: '127.0.0.1' }
    const server = start(isHttp2 ? { ...options, createServer: createHttp2Server } : options)
    const sockets = new Set<{ destroy: () => void }>()
    server.on('connection', (socket: { destroy: () => void }) => sockets.add(socket))
    if (!server.listening) await once(server, 'listening')
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: async () => {
        for (const socket of sockets) socket.destroy()
        server.close()
        await once(server, 'close')
      },
    }
  }
}

const honoKinds: { name: string; prefix: string; build: OpenHono['build'] }[] = [
  { name: 'at the top', prefix: '', build: (gate, runs) => honoRoutes(new Hono().use(honoGate(gate)), runs) },
  {
    name: 'in route()',
    prefix: '/api',
    build: (gate, runs) => new Hono().route('/api', honoRoutes(new Hono().use(honoGate(gate)), runs)),
  },
  {
    name: 'in route() in route()',
    prefix: '/api/v1',
    build: (gate, runs) => {
      const inner = honoRoutes(new Hono().use(honoGate(gate)), runs)
      return new Hono().route('/api', new Hono().route('/v1', inner))
    },
  },
  {
    name: 'with basePath()',
    prefix: '/api',
    build: (gate, runs) => honoRoutes(new Hono().basePath('/api').use(honoGate(gate)) as Hono, runs),
  },
  {
    name: 'with use(path)',
    prefix: '/api',
    build: (gate, runs) => honoRoutes(new Hono().use('/api/*', honoGate(gate)), runs, '/api'),
  },
  {
    name: 'in mount()',
    prefix: '/api',
    build: (gate, runs) => new Hono().mount('/api', honoRoutes(new Hono().use(honoGate(gate)), runs).fetch),
  },
]

type OpenExpress = (app: express.Express, gate: Gate, runs: Runs) => void
const expressKinds: { name: string; prefix: string; build: OpenExpress }[] = [
  {
    name: 'at the top',
    prefix: '',
    build: (app, gate, runs) => app.use(expressGate(gate, quiet), expressRoutes(express.Router(), runs)),
  },
  {
    name: 'in a router',
    prefix: '/api',
    build: (app, gate, runs) =>
      app.use('/api', expressRoutes(express.Router().use(expressGate(gate, quiet)) as express.Router, runs)),
  },
  {
    name: 'in a router in a router',
    prefix: '/api/v1',
    build: (app, gate, runs) => {
      const inner = expressRoutes(express.Router().use(expressGate(gate, quiet)) as express.Router, runs)
      app.use('/api', express.Router().use('/v1', inner))
    },
  },
  {
    name: 'mounted',
    prefix: '/api',
    build: (app, gate, runs) => app.use('/api', expressGate(gate, quiet), expressRoutes(express.Router(), runs)),
  },
]

const protocols = ['HTTP/1.1', 'HTTP/2'] as const

export const sellers: readonly Seller[] = [
  ...protocols.flatMap((protocol): Seller[] => {
    const isHttp2 = protocol === 'HTTP/2'
    const start: Listen = isHttp2 ? plainHttp2 : listen
    return [
      {
        name: 'Node',
        protocol,
        prefix: '',
        open: (gate, runs) => start(nodeGate(gate, nodeListener(runs), quiet) as never),
      },
      ...expressKinds.map(({ name, prefix, build }) => ({
        name: `Express ${name}`,
        protocol,
        prefix,
        open: (gate: Gate, runs: Runs) => {
          const app = isHttp2 ? overHttp2(expressApp()) : expressApp()
          build(app, gate, runs)
          return start(app as never)
        },
      })),
      { name: 'Fastify', protocol, prefix: '', open: openFastify({ isHttp2 }) },
      { name: 'Fastify with a prefix', protocol, prefix: '/api', open: openFastify({ isHttp2, prefixes: ['/api'] }) },
      {
        name: 'Fastify with a prefix in a prefix',
        protocol,
        prefix: '/api/v1',
        open: openFastify({ isHttp2, prefixes: ['/api', '/v1'] }),
      },
      { name: 'Fastify with rewriteUrl', protocol, prefix: '/api', open: openFastify({ isHttp2, rewrite: '/api' }) },
      ...honoKinds.map(({ name, prefix, build }) => ({
        name: `Hono ${name}`,
        protocol,
        prefix,
        open: openHono({ build, isHttp2 }),
      })),
    ]
  }),
  {
    name: 'Node with TLS',
    protocol: 'HTTP/2',
    prefix: '',
    open: (gate, runs) => secureHttp2(nodeGate(gate, nodeListener(runs), quiet) as never),
  },
  {
    name: 'Node mounted in Express',
    protocol: 'HTTP/1.1',
    prefix: '/api',
    open: (gate, runs) => listen(expressApp().use('/api', nodeGate(gate, nodeListener(runs), quiet) as never)),
  },
  ...honoKinds.map(
    ({ name, prefix, build }): Seller => ({
      name: `Hono with node-server 1 ${name}`,
      protocol: 'HTTP/1.1',
      prefix,
      open: openHono({ build, serve: serve1 as never }),
    }),
  ),
]
