import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Devnet } from '@latchkey/devnet'
import { Chain, MemoryClaims } from '@latchkey/x402/server'
import { RunningGateway } from './RunningGateway.js'
import type { GatewaySettings } from './settings.js'

test('of two reloads the later one stays, however long the first one takes', { timeout: 60_000 }, async (t) => {
  const devnet = await Devnet.start({ port: 0 })
  t.after(() => devnet.stop())
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: 31566704n })
  const kinds = [{ x402Version: 2, scheme: 'exact', network: chain.caip2 }]
  const server = createServer(async (request, response) => {
    if (request.url!.startsWith('/slow/')) await sleep(500)
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ kinds, extensions: [], signers: {} }))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const payTo = devnet.accounts[1]!.address
  const settings = (price: string, facilitator = url): GatewaySettings => ({
    upstream: url,
    facilitator,
    routes: { 'GET /a': { accepts: { price, payTo } } },
    free: [],
    headers: {},
    timeoutMs: undefined,
    perPayer: undefined,
    discovery: undefined,
    tls: undefined,
  })
  const parts = { chain, claims: new MemoryClaims(), onError: () => {}, onWarning: () => {} }
  const gateway = await RunningGateway.start(parts, settings('$0.01'), { host: '127.0.0.1', port: 0 })
  t.after(() => gateway.stop())
  await Promise.all([
    gateway.reload(() => settings('$0.02', `${url}/slow`)),
    assert.rejects(gateway.reload(() => JSON.parse('{'))),
    gateway.reload(() => settings('$0.03')),
  ])
  const required = (await (await fetch(`${gateway.url}/a`)).json()) as { accepts: { amount: string }[] }
  assert.equal(required.accepts[0]!.amount, '30000')
})
