/** Tests paid and held responses behind middleware that changes every response: compression, sessions, hooks. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { createGzip, type Gzip } from 'node:zlib'
import { serve } from '@hono/node-server'
import { decodeRequired } from '@latchkey/x402/client'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { openMarket } from './support/market.test.helper.js'
import { listen } from './support/shops.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })
const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
const large = 'large,'.repeat(1_000)
const quiet = { maxBytes: 10_000, onError: () => {} }
const routes = {
  'GET /json': { accepts },
  'GET /empty': { accepts },
  'GET /redirect': { accepts },
  'GET /stream': { accepts: { ...accepts, paymentFlow: 'upfront' } },
} as const

type Wrap = (response: ServerResponse) => void

/** Like `compression`: the head triggers it, and the body comes later. */
const compressed: Wrap = (response) => {
  const own = { write: response.write, end: response.end, writeHead: response.writeHead }
  let gzip: Gzip | undefined
  const sendHead = (): void => {
    if (!response.headersSent) response.writeHead(response.statusCode)
  }
  const members = {
    writeHead: (...args: unknown[]): unknown => {
      if (!response.hasHeader('Content-Encoding')) {
        response.setHeader('Content-Encoding', 'gzip').removeHeader('Content-Length')
        gzip = createGzip()
        gzip
          .on('data', (chunk) => own.write.call(response, chunk, 'utf8'))
          .on('end', () => own.end.call(response, '', 'utf8'))
      }
      return own.writeHead.apply(response, args as never)
    },
    write: (...args: unknown[]): boolean => {
      sendHead()
      return gzip === undefined ? own.write.apply(response, args as never) : gzip.write(args[0])
    },
    end: (...args: unknown[]): ServerResponse => {
      sendHead()
      if (gzip === undefined) return own.end.apply(response, args as never)
      gzip.end(args[0])
      return response
    },
  }
  Object.assign(response, members)
}

/** Like `express-session`: the end waits until a session is stored. */
const deferred: Wrap = (response) => {
  const { end } = response
  Object.assign(response, {
    end: (...args: unknown[]): ServerResponse => {
      setImmediate(() => setImmediate(() => end.apply(response, args as never)))
      return response
    },
  })
}

const listener: RequestListener = ({ url }, response) => {
  if (url === '/json') response.setHeader('Content-Type', 'application/json').end('{"weather":"sunny"}')
  else if (url === '/empty') response.writeHead(204).end()
  else if (url === '/redirect') response.writeHead(302, { Location: '/elsewhere' }).end()
  else {
    response.write('first,')
    setImmediate(() => response.end(large))
  }
}

const expected: { [path: string]: [number, string] } = {
  '/json': [200, '{"weather":"sunny"}'],
  '/empty': [204, ''],
  '/redirect': [302, ''],
  '/stream': [200, `first,${large}`],
}

/** Returns what a buyer with a secret gets, twice. */
async function twice(url: string): Promise<[number, string][]> {
  const unpaid = await fetch(url)
  const secret = randomBytes(32)
  const hash = createHash('sha256').update(secret).digest('base64url')
  const { payload } = await market.buyer.pay(decodeRequired(unpaid.headers.get('payment-required')!))
  const got: [number, string][] = []
  for (const info of [{ hash }, { hash, secret: secret.toString('base64url') }]) {
    const extensions = { 'payment-secret': { info: { algorithm: 'sha-256', ...info }, schema: {} } }
    const header = Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
    const response = await fetch(url, { redirect: 'manual', headers: { 'PAYMENT-SIGNATURE': header } })
    got.push([response.status, await response.text()])
  }
  return got
}

for (const [name, wrap] of Object.entries({ compression: compressed, 'a deferred end': deferred })) {
  const sellers = {
    Express: async () =>
      express()
        .use((_, response, next) => {
          wrap(response)
          next()
        })
        .use(expressGate(await market.gate({ routes }), quiet), listener),
    'node:http': async (): Promise<RequestListener> => {
      const gated = nodeGate(await market.gate({ routes }), listener, quiet)
      return (request, response) => {
        wrap(response)
        void gated(request, response)
      }
    },
  }
  for (const [framework, open] of Object.entries(sellers)) {
    test(`A9 ${framework}: responses wrapped by ${name} arrive, and arrive again`, {
      timeout,
    }, async (t) => {
      const { url, close } = await listen(await open())
      t.after(close)
      for (const [path, answer] of Object.entries(expected)) {
        assert.deepEqual(await twice(`${url}${path}`), [answer, answer], path)
      }
    })
  }

  test(`a response above the limit does not get through ${name}`, { timeout }, async (t) => {
    const gate = await market.gate({ routes: { 'GET /json': { accepts } } })
    const tooLong: RequestListener = (_, response) => {
      response.write(large.repeat(2))
      // The handler continues while the error is sent.
      setImmediate(() => response.write(large))
      setImmediate(() => response.end(large))
    }
    const gated = nodeGate(gate, tooLong, quiet)
    const { url, close } = await listen((request, response) => {
      wrap(response)
      void gated(request, response)
    })
    t.after(close)
    for (const [status, body] of await twice(`${url}/json`)) {
      assert.equal(status, 500)
      assert.ok(!body.includes('large'))
    }
  })
}

test('A9 Fastify: hooks change a response once, also when it is sent again', { timeout }, async (t) => {
  const app = fastify({ forceCloseConnections: true })
  fastifyGate(app, await market.gate({ routes: { 'GET /json': { accepts } } }), quiet)
  app.addHook('onSend', async (_, reply, body) => {
    reply.header('Set-Cookie', 'a=1')
    return `<${body}>`
  })
  app.get('/json', async () => 'goods')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  assert.deepEqual(await twice(`${url}/json`), [
    [200, '<goods>'],
    [200, '<goods>'],
  ])
})

test('A9 Hono: compress changes a response once, around the gate and inside it', { timeout }, async (t) => {
  const app = new Hono()
  const gate = honoGate(await market.gate({ routes: { 'GET /out': { accepts }, 'GET /in': { accepts } } }))
  app.use('/out', compress(), gate).use('/in', gate, compress())
  app.get('/:name', (context) => context.text(large))
  const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
    const started = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(started))
  })
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  for (const path of ['out', 'in']) {
    assert.deepEqual(await twice(`http://127.0.0.1:${port}/${path}`), [
      [200, large],
      [200, large],
    ])
  }
})

test('a gate used for an app and for its route takes one payment', { timeout }, async (t) => {
  const gate = await market.gate({ routes: { 'POST /goods': { accepts } } })
  const expressTwice = express().use(expressGate(gate, quiet))
  expressTwice.post('/goods', expressGate(gate, quiet), (_, response) => void response.send('goods'))
  const { url, close } = await listen(expressTwice)
  t.after(close)
  const app = fastify({ forceCloseConnections: true })
  fastifyGate(app, gate, quiet)
  await app.register(async (plugin) => {
    fastifyGate(plugin, gate, quiet)
    plugin.post('/goods', async () => 'goods')
  })
  t.after(() => app.close())
  const honoTwice = new Hono().use(honoGate(gate)).post('/goods', honoGate(gate), (context) => context.text('goods'))
  const viaHono = (async (input: string, init: RequestInit) => honoTwice.request(input, init)) as typeof fetch
  const sellers: [string, typeof fetch][] = [
    [url, fetch],
    [await app.listen({ port: 0, host: '127.0.0.1' }), fetch],
    ['http://127.0.0.1', viaHono],
  ]
  for (const [at, send] of sellers) {
    const header = await market.payment(await send(`${at}/goods`, { method: 'POST' }))
    const init = { method: 'POST', headers: { 'PAYMENT-SIGNATURE': header } }
    const paid = await send(`${at}/goods`, init)
    assert.deepEqual([paid.status, await paid.text()], [200, 'goods'])
    assert.equal((await send(`${at}/goods`, init)).status, 402)
  }
})
