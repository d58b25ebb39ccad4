/**
 * Tests a failover without persistence: the server is killed and starts empty, or has lost some claims. The facilitator
 * has bound the payment to the lost claims, so the payment still opens only one answer.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { paymentGate } from '@latchkey/x402/node'
import { RedisClaims } from '@latchkey/x402/redis'
import { Redis } from 'ioredis'
import { RedisServer } from '../support/redis.test.helper.js'
import { type Market, openMarket } from '../x402/support/market.test.helper.js'

const cent = 10_000n

type Replica = { readonly url: string; readonly handled: () => number; readonly claims: RedisClaims }

/** Opens a replica whose handler waits for `until`. */
async function openReplica(
  t: TestContext,
  market: Market,
  address: string,
  { until = async () => {}, paymentFlow }: { until?: () => Promise<void>; paymentFlow?: 'upfront' } = {},
): Promise<Replica> {
  const claims = await RedisClaims.open({ address })
  const accepts = {
    network: market.chain.caip2,
    payTo: market.seller,
    price: '$0.01',
    ...(paymentFlow && { paymentFlow }),
  }
  const gate = await market.gate({ routes: { 'GET /report': { accepts } }, claims })
  let handled = 0
  const server = createServer(
    paymentGate(gate, async (_, response) => {
      handled++
      await until()
      response.end('the report')
    }),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await gate.close()
    claims.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/report`, handled: () => handled, claims }
}

async function send({ url }: Replica, header: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { headers: { 'payment-signature': header } })
  return { status: response.status, text: `${response.headers.get('payment-required') ?? ''}${await response.text()}` }
}

function gateOf<T>() {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** Sends the payment until it is answered or finally refused, because the replica may not have reconnected yet. */
async function sendUntilDecided(replica: Replica, header: string): Promise<number> {
  for (let tries = 0; tries < 20; tries++) {
    const { status } = await send(replica, header)
    if (status !== 503) return status
  }
  return 503
}

test('an answered payment is refused after the server has lost all claims', async (t) => {
  const server = await RedisServer.start(t)
  const market = await openMarket(t)
  const [first, second] = [await openReplica(t, market, server.url), await openReplica(t, market, server.url)]
  const header = await market.payment(await fetch(first.url))
  assert.equal((await send(first, header)).status, 200)
  const { id } = first.claims
  await server.kill()
  await server.restart()
  for (const replica of [first, second]) assert.equal(await sendUntilDecided(replica, header), 402)
  assert.notEqual(first.claims.id, id)
  assert.equal(first.claims.id, second.claims.id)
  assert.deepEqual([first.handled(), second.handled(), await market.dollars()], [1, 0, cent])
  // Later purchases work as before.
  const next = await market.payment(await fetch(second.url))
  assert.equal((await send(second, next)).status, 200)
})

for (const paymentFlow of [undefined, 'upfront'] as const) {
  test(`a payment whose handler runs while the server loses all claims opens one answer (${paymentFlow ?? 'after the handler'})`, async (t) => {
    const server = await RedisServer.start(t)
    const market = await openMarket(t)
    const { open, opened } = gateOf<void>()
    const first = await openReplica(t, market, server.url, { until: () => opened, ...(paymentFlow && { paymentFlow }) })
    const second = await openReplica(t, market, server.url, paymentFlow && { paymentFlow })
    const header = await market.payment(await fetch(first.url))
    const answer = send(first, header)
    while (first.handled() === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.kill()
    await server.restart()
    assert.equal(await sendUntilDecided(second, header), 402)
    assert.equal(await sendUntilDecided(first, header), 402)
    open()
    assert.equal((await answer).status, 200)
    assert.deepEqual([first.handled(), second.handled(), await market.dollars()], [1, 0, cent])
  })
}

test('losing a single claim, such as the last before a failover, opens one answer', async (t) => {
  const server = await RedisServer.start(t)
  const market = await openMarket(t)
  const { open, opened } = gateOf<void>()
  const first = await openReplica(t, market, server.url, { until: () => opened })
  const second = await openReplica(t, market, server.url)
  const header = await market.payment(await fetch(first.url))
  const answer = send(first, header)
  while (first.handled() === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const client = new Redis(server.url)
  t.after(() => client.disconnect())
  const lost = await client.keys('{latchkey}:c:*')
  assert.equal(lost.length, 1)
  await client.del(...lost)
  // The facilitator has bound the payment to the same claims, which no longer know it, so another handler runs.
  assert.equal((await send(second, header)).status, 200)
  open()
  assert.equal((await answer).status, 503, 'what was made by a claim that is lost is neither charged nor sent')
  assert.deepEqual([first.handled(), second.handled(), await market.dollars()], [1, 1, cent])
})

test('two gates with independent servers open one answer', async (t) => {
  const market = await openMarket(t)
  const servers = [await RedisServer.start(t), await RedisServer.start(t)]
  const replicas = await Promise.all(servers.map(({ url }) => openReplica(t, market, url)))
  const header = await market.payment(await fetch(replicas[0]!.url))
  const sends = Array.from({ length: 32 }, (_, index) => send(replicas[index % 2]!, header))
  const statuses = (await Promise.all(sends)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses))
  assert.equal(replicas[0]!.handled() + replicas[1]!.handled(), 1)
  for (const replica of replicas) assert.equal(await sendUntilDecided(replica, header), 402)
  assert.equal(await market.dollars(), cent)
})
