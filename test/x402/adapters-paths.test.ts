/** No spelling of a protected path is served without a payment, in any framework. */
import assert from 'node:assert/strict'
import { Agent, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { serve } from '@hono/node-server'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import express from 'express'
import fc from 'fast-check'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { openMarket } from './support/market.test.helper.js'
import { listen } from './support/shops.test.helper.js'
import { cents } from './support/stall.test.helper.js'

// Sets the seed of all properties.
await import(new URL('../../seed.mjs', import.meta.url).href)

const market = await openMarket({ after })
const keys = ['GET /weekly', 'GET /items/:id', 'GET /files/*', 'GET /:shop/prices']
const agent = new Agent({ keepAlive: true })
after(() => agent.destroy())

/** Counts requests that reach the handler. Without a gate, this shows which spellings are worth trying. */
type Shop = { url: string; served: () => number }
type Open = (gate: Gate | undefined, prefix: string) => Promise<Shop>

const goods = 'goods'

const openExpress: Open = async (gate, prefix) => {
  let served = 0
  const router = express.Router()
  if (gate !== undefined) router.use(expressGate(gate))
  for (const path of ['/weekly', '/items/:id', '/files/*rest', '/:shop/prices']) {
    router.get(path, (_, response) => {
      served++
      response.send(goods)
    })
  }
  const { url, close } = await listen(express().use(prefix || '/', router))
  after(close)
  return { url, served: () => served }
}

/** As lenient as it can be configured. */
const openFastify: Open = async (gate, prefix) => {
  let served = 0
  const routerOptions = {
    caseSensitive: false,
    ignoreDuplicateSlashes: true,
    ignoreTrailingSlash: true,
    useSemicolonDelimiter: true,
  }
  const app = fastify({ forceCloseConnections: true, routerOptions })
  const add = async (plugin: FastifyInstance): Promise<void> => {
    if (gate !== undefined) fastifyGate(plugin, gate)
    for (const path of ['/weekly', '/items/:id', '/files/*', '/:shop/prices']) {
      plugin.get(path, async () => {
        served++
        return goods
      })
    }
  }
  await app.register(add, { prefix })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  after(() => app.close())
  return { url, served: () => served }
}

const openHono =
  (mount: (app: Hono, prefix: string) => Hono): Open =>
  async (gate, prefix) => {
    let served = 0
    const app = new Hono({ strict: false })
    if (gate !== undefined) app.use(honoGate(gate))
    for (const path of ['/weekly', '/items/:id', '/files/*', '/:shop/prices']) {
      app.get(path, (context) => {
        served++
        return context.text(goods)
      })
    }
    const { fetch } = prefix === '' ? app : mount(app, prefix)
    const server = serve({ fetch, port: 0, hostname: '127.0.0.1' })
    await new Promise((resolve) => server.once('listening', resolve))
    after(() => server.close())
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, served: () => served }
  }

/** Parses paths the way hand-written servers do. */
const openNode: Open = async (gate, prefix) => {
  let served = 0
  const listener: RequestListener = (request, response) => {
    const path = safeDecode(pathname(request.url ?? '/'))
    if (/^\/(weekly|items\/[^/]+|files(\/.*)?|[^/]+\/prices)$/i.test(path)) {
      served++
      response.end(goods)
      return
    }
    response.statusCode = 404
    response.end('')
  }
  const gated = gate === undefined ? listener : nodeGate(gate, listener, { onError: () => {} })
  const { url, close } = await listen(prefix === '' ? gated : express().use(prefix, gated))
  after(close)
  return { url, served: () => served }
}

/** Handles the pitfall that two leading slashes start a host. */
function pathname(target: string): string {
  return URL.canParse(target, 'http://localhost') ? new URL(target, 'http://localhost').pathname : target
}

function safeDecode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function ask(url: string, path: string, method: string): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const sent = request({ hostname, port, path, method, agent }, (response) => {
      response.resume()
      response.on('end', resolve)
    })
    sent.on('error', () => resolve())
    sent.end()
  })
}

const hex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** A character, and what may be mistaken for it. */
const spelled = (character: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(character) },
    fc.constant(character.toUpperCase()),
    fc.constant(hex(character)),
    fc.constant(hex(character).toUpperCase()),
    fc.constant(hex(hex(character)[0]!) + hex(character).slice(1)),
    fc.constant(character === 'k' ? hex('\u212a') : character),
  )
const separator = fc.oneof(
  { weight: 6, arbitrary: fc.constant('/') },
  fc.constantFrom(
    '//',
    '/./',
    '/x/../',
    '%2f',
    '%2F',
    '\\',
    '%5c',
    '/%2e/',
    '/%2e%2e/',
    '/;a/',
    ';a/',
    '/../',
    '//x/',
    '/\\\\x/',
  ),
)
const ending = fc.oneof(
  { weight: 5, arbitrary: fc.constant('') },
  fc.constantFrom(
    '/',
    '//',
    '?a=b',
    '?/../free',
    '#x',
    ';x',
    ';x/y',
    '%2f',
    '/.',
    '/..',
    '%20',
    '%00',
    '%3fx',
    '%23x',
    '/%2e%2e/x',
  ),
)
const path = fc
  .tuple(
    fc.constantFrom('weekly', 'items/7', 'files/a/b', 'files', 'shop/prices', 'a%2Fb/prices', 'files/../free'),
    separator,
    ending,
  )
  .chain(([base, start, end]) =>
    fc
      .tuple(
        ...base
          .split('/')
          .flatMap((segment, index) => [
            index === 0 ? fc.constant(start) : separator,
            segment.includes('%')
              ? fc.constant(segment)
              : fc.tuple(...[...segment].map(spelled)).map((all) => all.join('')),
          ]),
      )
      .map((pieces) => pieces.join('') + end),
  )
  .map((text) => (text.startsWith('/') ? text : `/${text}`))

const frameworks: { [name: string]: Open } = {
  Express: openExpress,
  Fastify: openFastify,
  'Hono with route()': openHono((app, prefix) => new Hono({ strict: false }).route(prefix, app)),
  'Hono with mount()': openHono((app, prefix) => new Hono({ strict: false }).mount(prefix, app.fetch)),
  'node:http': openNode,
}
const prefixes = fc.oneof(
  { weight: 6, arbitrary: fc.constant('/api') },
  fc.constantFrom(
    '/API',
    '//api',
    '/%61pi',
    '/./api',
    '/x/../api',
    '/api/.',
    '/api/',
    '/api;x',
    '/api/x/..',
    '/api%2f',
  ),
)
const mounts = [
  { prefix: '', base: '', name: 'at the top' },
  { prefix: '/api', base: '/api', name: 'under a prefix with whole keys' },
  { prefix: '/api', base: '', name: 'under a prefix with relative keys' },
]

for (const [name, open] of Object.entries(frameworks)) {
  for (const { prefix, base, name: where } of mounts) {
    test(`${name}, ${where}: no spelling of a protected path is free`, async () => {
      const own = keys.map((key) => key.replace(' ', ` ${base}`))
      const gate = await market.gate({ routes: cents(market, ...own) })
      const [guarded, open_] = [await open(gate, prefix), await open(undefined, prefix)]
      const start = prefix === '' ? fc.constant('') : prefixes
      const check = fc.asyncProperty(start, path, fc.constantFrom('GET', 'HEAD'), async (first, rest, method) => {
        const target = `${first}${rest}`
        const before = guarded.served()
        await Promise.all([ask(guarded.url, target, method), ask(open_.url, target, method)])
        assert.equal(guarded.served(), before, `${method} ${target}`)
      })
      await fc.assert(check, { numRuns: prefix === '' ? 500 : 300 })
      // Most of the spellings reach no handler, but enough of them do.
      assert.ok(open_.served() > 20, `only ${open_.served()} reached a handler without a gate`)
    })
  }
}
