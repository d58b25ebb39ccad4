/** Tests the devnet's fetch handler in other servers, and without a server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type HttpBindings, serve } from '@hono/node-server'
import { createDevnetHandler, type DevnetHandler, type DevnetHandlerOptions } from '@latchkey/devnet'
import { Server, toNodeListener } from '@latchkey/http'
import * as algosdk from 'algosdk'
import { Hono } from 'hono'

const timeout = 300_000

type Host = (t: TestContext, devnet: DevnetHandler) => Promise<string>

/** The code that a user would write for each server. */
const hosts: { readonly [name: string]: Host } = {
  Hono: async (t, devnet) => {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.all('*', async (context) => {
      const { remoteAddress } = context.env.incoming.socket
      const response = await devnet.fetch(context.req.raw, { remoteAddress })
      if (response.type === 'error') context.env.outgoing.destroy()
      return response
    })
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    t.after(() => server.close())
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
  'node:http': async (t, devnet) => {
    const server = createServer(toNodeListener(devnet.fetch)).listen(0, '127.0.0.1')
    t.after(() => {
      server.close()
      server.closeAllConnections()
    })
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
  '@latchkey/http': async (t, devnet) => {
    const server = new Server({ fetch: (request, info) => devnet.fetch(request, info) })
    t.after(() => server.stop())
    return `http://127.0.0.1:${(await server.listen('127.0.0.1', 0)).port}`
  },
}

async function create(t: TestContext, options: DevnetHandlerOptions = {}): Promise<DevnetHandler> {
  const devnet = await createDevnetHandler(options)
  t.after(() => devnet.stop())
  return devnet
}

async function signedPayment(devnet: DevnetHandler, algod: algosdk.Algodv2): Promise<Uint8Array> {
  const { addr, sk } = algosdk.mnemonicToSecretKey(devnet.accounts[0]!.mnemonic)
  const suggestedParams = await algod.getTransactionParams().do()
  const payment = { sender: addr, receiver: addr, amount: 1, suggestedParams }
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject(payment).signTxn(sk)
}

for (const [name, host] of Object.entries(hosts)) {
  test(`${name} hosts the devnet`, { timeout }, async (t) => {
    const devnet = await create(t)
    const url = await host(t, devnet)
    const algod = new algosdk.Algodv2('', url)
    const { txid } = await algod.sendRawTransaction(await signedPayment(devnet, algod)).do()
    const confirmed = await algosdk.waitForConfirmation(algod, txid, 4)
    assert.deepEqual([confirmed.confirmedRound, devnet.round], [1n, 1n])
    const preflight = await fetch(`${url}/v2/status`, { method: 'OPTIONS', headers: { Origin: 'https://example.com' } })
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
  })

  test(`${name}: the drop fault closes the connection`, { timeout }, async (t) => {
    const devnet = await create(t)
    const url = await host(t, devnet)
    const signed = await signedPayment(devnet, new algosdk.Algodv2('', url))
    devnet.addFault({ type: 'drop', count: 1 })
    await assert.rejects(fetch(`${url}/v2/transactions`, { method: 'POST', body: Buffer.from(signed) }), TypeError)
    assert.equal(devnet.round, 1n, 'the submission took effect')
    assert.equal((await fetch(`${url}/v2/status`)).status, 200)
  })

  test(`${name}: rejects cheats from other hosts and origins`, { timeout }, async (t) => {
    const devnet = await create(t)
    const url = await host(t, devnet)
    const mine = (headers: { [name: string]: string }) => fetch(`${url}/devnet/mine`, { method: 'POST', headers })
    assert.equal((await mine({})).status, 200)
    assert.equal((await mine({ Origin: 'http://localhost:3000' })).status, 200)
    assert.equal((await mine({ Origin: 'https://example.com' })).status, 403)
    assert.equal(await statusFor(`${url}/devnet/mine`, 'devnet.example.com'), 403)
    assert.equal(devnet.round, 2n)
  })

  test(`${name}: a disconnect ends the wait for a block`, { timeout }, async (t) => {
    const devnet = await create(t, { blocks: 'manual' })
    const aborted: AbortSignal[] = []
    const spied: DevnetHandler = Object.create(devnet, {
      fetch: {
        value: (request: Request, info?: object) => {
          if (request.url.includes('wait-for-block')) aborted.push(request.signal)
          return devnet.fetch(request, info)
        },
      },
    })
    const url = await host(t, spied)
    const controller = new AbortController()
    const waiting = fetch(`${url}/v2/status/wait-for-block-after/0`, { signal: controller.signal })
    while (aborted.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    controller.abort()
    await assert.rejects(waiting, { name: 'AbortError' })
    while (!aborted[0]!.aborted) await new Promise((resolve) => setTimeout(resolve, 5))
  })
}

/** Sends a Host header, which `fetch` does not let a program choose. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const outgoing = httpRequest(url, { method: 'POST', headers: { Host: host } }).end()
  const [response] = await once(outgoing, 'response')
  response.resume()
  return response.statusCode
}

test('rejects cheats from remote addresses', async (t) => {
  const devnet = await create(t)
  const mine = (info?: object) => devnet.fetch(new Request('http://localhost/devnet/mine', { method: 'POST' }), info)
  // A host that does not report the remote address, or reports it in its own format.
  assert.equal((await mine()).status, 403)
  assert.equal((await mine({ incoming: {}, outgoing: {} })).status, 403)
  assert.equal((await mine({ remoteAddress: '127.0.0.1' })).status, 200)
  assert.equal((await mine({ remoteAddress: '::ffff:127.0.0.1' })).status, 200)
  assert.equal((await mine({ remoteAddress: '192.0.2.7' })).status, 403)
  const elsewhere = new Request('http://192.0.2.1/devnet/mine', { method: 'POST' })
  assert.equal((await devnet.fetch(elsewhere)).status, 403)
  assert.equal(devnet.round, 2n)
})

test('an aborted signal ends the wait for a block', { timeout }, async (t) => {
  const devnet = await create(t, { blocks: 'manual' })
  const controller = new AbortController()
  const request = new Request('http://localhost/v2/status/wait-for-block-after/0', { signal: controller.signal })
  const waiting = devnet.fetch(request)
  controller.abort()
  assert.equal(((await (await waiting).json()) as { 'last-round': number })['last-round'], 0)
})

test('a waiting request ends when the devnet stops', { timeout }, async (t) => {
  const devnet = await create(t, { blocks: 'manual' })
  const waiting = devnet.fetch(new Request('http://localhost/v2/status/wait-for-block-after/0'))
  await devnet.stop()
  assert.equal((await waiting).status, 200)
  await devnet.stopped
})

test('the token is required', async (t) => {
  const devnet = await create(t, { token: 'sesame' })
  const status = async (headers: { [name: string]: string }) =>
    (await devnet.fetch(new Request('http://localhost/v2/status', { headers }))).status
  assert.deepEqual([await status({}), await status({ 'X-Algo-API-Token': 'sesame' })], [401, 200])
})
