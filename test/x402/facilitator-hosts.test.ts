/** The facilitator is a fetch handler, so every server can host it. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import { Server, toNodeListener } from '@latchkey/http'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import express from 'express'
import { Hono } from 'hono'
import { openMarket } from './support/market.test.helper.js'

type Handler = ReturnType<typeof createFacilitatorHandler>
type Listening = {
  address: () => unknown
  close: () => unknown
  once: (name: 'listening', done: () => void) => unknown
}

async function portOf(t: TestContext, server: Listening): Promise<number> {
  t.after(() => server.close())
  if (server.address() === null) await new Promise<void>((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

const hosts: { readonly [name: string]: (t: TestContext, handler: Handler) => Promise<number> } = {
  'the HTTP server of Latchkey': async (t, handler) => {
    const server = new Server({ fetch: handler })
    t.after(() => server.stop())
    return (await server.listen('127.0.0.1', 0)).port
  },
  'node:http': (t, handler) => portOf(t, createServer(toNodeListener(handler)).listen(0, '127.0.0.1')),
  Express: (t, handler) => portOf(t, express().use(toNodeListener(handler)).listen(0, '127.0.0.1')),
  Hono: (t, handler) => {
    const { fetch } = new Hono().all('*', (context) => handler(context.req.raw))
    return portOf(t, serve({ fetch, port: 0, hostname: '127.0.0.1' }))
  },
}

for (const [name, host] of Object.entries(hosts)) {
  test(`${name} hosts the facilitator`, { timeout: 60_000 }, async (t) => {
    const market = await openMarket(t)
    const port = await host(t, createFacilitatorHandler({ facilitator: market.facilitator, maxBodyBytes: 10_000 }))
    const url = `http://127.0.0.1:${port}`
    const supported = (await (await fetch(`${url}/supported`)).json()) as {
      kinds: { scheme: string; network: string }[]
    }
    assert.deepEqual(
      supported.kinds.filter(({ scheme }) => scheme === 'exact').map(({ network }) => network),
      market.chain.ids,
    )
    const headers = { 'content-type': 'application/json' }
    const post = (body: string) => fetch(`${url}/verify`, { method: 'POST', headers, body })
    assert.equal((await post('x'.repeat(10_001))).status, 413)
    assert.equal((await post('{}')).status, 400)
    assert.equal((await fetch(`${url}/verify`)).headers.get('Allow'), 'POST')
  })
}
