/** Opens the same two paid routes in every framework, with handlers that record how they read the request target. */
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { parse as parseQuery } from 'node:querystring'
import { parse as parseUrl } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import express5 from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { listenHttp2 } from '../../support/http2.test.helper.js'
import { listen, type Shop } from '../../support/shops.test.helper.js'

const express4 = createRequire(import.meta.url)('express-4') as typeof express5

/** How a price function or a handler read a request. */
export type Reading = {
  /** Path and query as text. */
  readonly target: string
  /** The parameters of the query, as the framework's parser returns them. */
  readonly parameters: readonly (readonly [string, unknown])[]
  /** The parameter of the route, decoded. */
  readonly id: string | undefined
}

export type Note = (reading: Reading) => void
/** Opens a shop; without a gate, its handlers run for every request. */
export type OpenShop = (gate: Gate | undefined, note: Note) => Promise<Shop>

export const keys = ['GET /w', 'GET /items/:id'] as const

/** Reads a request as a price function does, with web APIs. */
export function readRequest(request: Request): Reading {
  const { pathname, search, searchParams } = new URL(request.url)
  const [, , segment] = pathname.split('/')
  const id = /^\/items\//.test(pathname) ? decodeURIComponent(segment ?? '') : undefined
  return { target: `${pathname}${search}`, parameters: [...searchParams], id }
}

const openExpress =
  (express: typeof express5, prefix = ''): OpenShop =>
  async (gate, note) => {
    const router = express.Router()
    if (gate !== undefined) router.use(expressGate(gate, { onError: () => {} }))
    for (const path of ['/w', '/items/:id']) {
      router.get(path, (request, response) => {
        const { id } = request.params as { id?: string }
        note({ target: originForm(request.originalUrl), parameters: Object.entries(request.query), id })
        response.send('goods')
      })
    }
    const app = express().use(prefix || '/', router)
    app.use(
      ((_error: unknown, _request, response, _next) => void response.status(500).end()) as express5.ErrorRequestHandler,
    )
    return listen(app)
  }

const openFastify =
  (options: { [name: string]: unknown }): OpenShop =>
  async (gate, note) => {
    const app = fastify({ forceCloseConnections: true, ...options })
    if (gate !== undefined) fastifyGate(app as never, gate)
    for (const path of ['/w', '/items/:id']) {
      app.get(path, async (request) => {
        const { id } = request.params as { id?: string }
        note({ target: originForm(request.originalUrl), parameters: Object.entries(request.query as object), id })
        return 'goods'
      })
    }
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  }

const openHono =
  (isHttp2: boolean): OpenShop =>
  async (gate, note) => {
    const app = new Hono({ strict: false })
    if (gate !== undefined) app.use(honoGate(gate))
    for (const path of ['/w', '/items/:id']) {
      app.get(path, (context) => {
        const { pathname, search } = new URL(context.req.url)
        const parameters = Object.entries(context.req.queries()).flatMap(([name, values]) =>
          values.map((value) => [name, value] as const),
        )
        // `query()` chooses which of several values a handler gets.
        const single = Object.entries(context.req.query())
        note({
          target: `${pathname}${search}`,
          parameters: parameters.length === single.length ? single : parameters,
          id: context.req.param('id' as never),
        })
        return context.text('goods')
      })
    }
    const listener = getRequestListener(app.fetch)
    return isHttp2 ? listenHttp2(listener as never) : listen(listener)
  }

type Parser = (target: string) => Iterable<readonly [string, unknown]>
const parsers: { [name: string]: Parser } = {
  URL: (target) => new URL(target, 'http://localhost').searchParams,
  querystring: (target) => Object.entries(parseQuery(target.slice((target.indexOf('?') + 1 || target.length + 1) - 0))),
  'url.parse': (target) => Object.entries(parseUrl(target, true).query),
}

/** Handlers that parse the target themselves. */
const openNode =
  (parser: Parser, isHttp2 = false): OpenShop =>
  async (gate, note) => {
    const handler = (request: IncomingMessage, response: ServerResponse): void => {
      const target = originForm(request.url ?? '/')
      const { pathname } = new URL(target, 'http://localhost')
      const path = decodeURIComponent(pathname)
      if (/^\/(w|items\/[^/]+)\/?$/i.test(path))
        note({ target, parameters: [...parser(target)], id: path.split('/')[2] })
      response.end('goods')
    }
    const safely = (request: IncomingMessage, response: ServerResponse): void => {
      try {
        handler(request, response)
      } catch {
        response.writeHead(500).end()
      }
    }
    const listener = gate === undefined ? safely : nodeGate(gate, safely, { onError: () => {} })
    return isHttp2 ? listenHttp2(listener as never) : listen(listener as never)
  }

/** As lenient as it can be configured. */
const forgiving = {
  routerOptions: {
    caseSensitive: false,
    ignoreDuplicateSlashes: true,
    ignoreTrailingSlash: true,
    useSemicolonDelimiter: true,
  },
}

export type TargetShop = { readonly open: OpenShop; readonly prefix: string; readonly isHttp2: boolean }

const http1 = (open: OpenShop, prefix = ''): TargetShop => ({ open, prefix, isHttp2: false })
const http2 = (open: OpenShop): TargetShop => ({ open, prefix: '', isHttp2: true })

export const targetShops: { readonly [name: string]: TargetShop } = {
  'Express 4': http1(openExpress(express4)),
  'Express 4 under a prefix': http1(openExpress(express4, '/api'), '/api'),
  'Express 5': http1(openExpress(express5)),
  'Express 5 under a prefix': http1(openExpress(express5, '/api'), '/api'),
  Fastify: http1(openFastify({})),
  'Fastify, forgiving': http1(openFastify(forgiving)),
  'Fastify, HTTP/2': http2(openFastify({ http2: true })),
  Hono: http1(openHono(false)),
  'Hono, HTTP/2': http2(openHono(true)),
  'node:http with URL': http1(openNode(parsers['URL']!)),
  'node:http with querystring': http1(openNode(parsers['querystring']!)),
  'node:http with url.parse': http1(openNode(parsers['url.parse']!)),
  'node:http2': http2(openNode(parsers['URL']!, true)),
}

function originForm(target: string): string {
  return target.replace(/^https?:\/\/[^/?#\\]*/i, '')
}

export type Ask = (target: string, headers?: { [name: string]: string }) => Promise<{ status: number; body: string }>

/** Sends targets unchanged. A status of 0 means that a target cannot be sent, or that Node's server refuses it. */
export function askOf(url: string, isHttp2: boolean): { ask: Ask; close: () => void } {
  return isHttp2 ? askHttp2(url) : askHttp1(url)
}

function askHttp1(url: string): { ask: Ask; close: () => void } {
  const { hostname, port, host } = new URL(url)
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const ask: Ask = (target, headers = {}) =>
    new Promise((resolve) => {
      const failed = (): void => resolve({ status: 0, body: '' })
      try {
        const options = { hostname, port, path: target, agent, headers: { Host: host, ...headers } }
        const sent = sendRequest(options, (response) => {
          let body = ''
          response.setEncoding('utf8').on('data', (part: string) => {
            body += part
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
        })
        sent.on('error', failed).end()
      } catch {
        failed()
      }
    })
  return { ask, close: () => agent.destroy() }
}

function askHttp2(url: string): { ask: Ask; close: () => void } {
  let session: ClientHttp2Session | undefined
  const sessionOf = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(url)
      session.on('error', () => {})
    }
    return session
  }
  const ask: Ask = (target, headers = {}) =>
    new Promise((resolve) => {
      try {
        const stream = sessionOf().request({ ...headers, ':path': target }, { endStream: true })
        let [status, body] = [0, '']
        stream.on('response', (head) => {
          status = head[':status'] ?? 0
        })
        stream.setEncoding('utf8').on('data', (part: string) => {
          body += part
        })
        stream.on('error', () => {})
        stream.on('close', () => resolve({ status, body }))
      } catch {
        resolve({ status: 0, body: '' })
      }
    })
  return { ask, close: () => session?.destroy() }
}

/** Starts a server for a listener, on the loopback interface. */
export async function serveUpgrades(
  onUpgrade: (...args: never[]) => unknown,
): Promise<{ url: string; close: () => void }> {
  const server = createServer((_, response) => void response.writeHead(404).end())
  server.on('upgrade', onUpgrade as never)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
