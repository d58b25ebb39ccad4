/** A payment can be read from the ledger. Its content there must not be enough to take the answer that was paid for. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, test } from 'node:test'
import type { FacilitatorClient } from '@latchkey/x402/server'
import { altered, headerJson, openMarket, type Payload, repeated } from '../support/market.test.helper.js'
import { adapters, routesFor, Stock } from '../support/shops.test.helper.js'
import { cents, openStall, show } from '../support/stall.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })
const secret = randomBytes(32).toString('base64url')
const hash = createHash('sha256').update(Buffer.from(secret, 'base64url')).digest('base64url')

/**
 * Settles, and reports the settlement as undecided until `isDecided`: the payment is on the ledger, and its answer is
 * not sent.
 */
class SlowFacilitator {
  isDecided = false
  readonly seen: string[] = []
  readonly client: FacilitatorClient = altered(market.local, {
    verify: (payload, ...rest) => {
      this.seen.push(JSON.stringify(payload))
      return market.local.verify(payload, ...rest)
    },
    settle: async (payload, requirements, ...rest) => {
      this.seen.push(JSON.stringify(payload))
      const settled = await market.local.settle(payload, requirements, ...rest)
      if (this.isDecided) return settled
      const { network } = requirements
      return { success: false, errorReason: 'settlement_pending', transaction: settled.transaction, network }
    },
  })
}

/** Returns a payment with its buyer's additions to the extension. */
function withInfo(payload: Payload, info: object): string {
  const extensions = { 'payment-secret': { info: { algorithm: 'sha-256', ...info }, schema: {} } }
  return Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
}

async function payloadFor(url: string): Promise<Payload> {
  const header = await market.payment(await fetch(url), (payload) => {
    delete payload['extensions']
  })
  return JSON.parse(Buffer.from(header, 'base64').toString()) as Payload
}

async function errorOf(response: Response): Promise<unknown> {
  await response.arrayBuffer()
  return headerJson(response, 'payment-required')['error']
}

/** Sends the payment from another address of the loopback network. */
async function showFrom(localAddress: string, url: string, header: string): Promise<number> {
  const sent = request(url, { localAddress, headers: { 'PAYMENT-SIGNATURE': header } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode!
}

for (const { name, prefix, open } of adapters) {
  test(`A8 ${name}: a payment from the ledger does not take the answer, and its buyer gets it`, {
    timeout,
  }, async (t) => {
    const slow = new SlowFacilitator()
    const stock = new Stock()
    const routes = routesFor(prefix, market.chain.caip2, market.seller)
    const shop = await open(await market.gate({ routes, facilitators: slow.client }), stock)
    t.after(() => shop.close())
    const url = `${shop.url}${prefix}/weather`
    const payload = await payloadFor(url)
    const first = await show(url, withInfo(payload, { hash }))
    assert.equal(first.status, 503)
    slow.isDecided = true
    const own = randomBytes(32)
    const ownHash = createHash('sha256').update(own).digest('base64url')
    const stolen = [
      Buffer.from(JSON.stringify(payload)).toString('base64'),
      withInfo(payload, {}),
      withInfo(payload, { hash }),
      withInfo(payload, { hash: ownHash, secret: own.toString('base64url') }),
    ]
    for (const header of stolen) assert.equal(await errorOf(await show(url, header)), 'payment_already_used')
    const wrong = withInfo(payload, { hash, secret: own.toString('base64url') })
    assert.equal(await errorOf(await show(url, wrong)), 'invalid_payload')
    const answer = await show(url, withInfo(payload, { hash, secret }))
    assert.deepEqual([answer.status, await answer.text()], [200, '{"weather":"sunny"}'])
    assert.equal(stock.count('weather'), 1)
    // The connection may have broken.
    const again = await show(url, withInfo(payload, { hash, secret }))
    assert.deepEqual([again.status, await again.text()], [200, '{"weather":"sunny"}'])
    for (const header of stolen) assert.equal(await errorOf(await show(url, header)), 'payment_already_used')
    assert.equal(stock.count('weather'), 1)
    assert.ok(!slow.seen.some((one) => one.includes(secret)), 'no facilitator sees the secret')
  })

  test(`A8 ${name}: a buyer without a secret is identified by its address`, { timeout }, async (t) => {
    const slow = new SlowFacilitator()
    const routes = routesFor(prefix, market.chain.caip2, market.seller)
    const shop = await open(await market.gate({ routes, facilitators: slow.client }), new Stock())
    t.after(() => shop.close())
    const url = `${shop.url}${prefix}/weather`
    const header = Buffer.from(JSON.stringify(await payloadFor(url))).toString('base64')
    assert.equal((await show(url, header)).status, 503)
    slow.isDecided = true
    assert.equal(await showFrom('127.0.0.2', url, header), 402)
    const cookie = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': header, Cookie: 'a=b' } })
    assert.equal(await errorOf(cookie), 'payment_already_used')
    const answer = await repeated(url, header)
    assert.deepEqual([answer.status, await answer.text()], [200, '{"weather":"sunny"}'])
    // The buyer can no longer be distinguished from someone who read the payment from the ledger.
    assert.equal(await errorOf(await show(url, header)), 'payment_already_used')
  })
}

test('A8 an open payment at one route does not open another route of the same price', { timeout }, async (t) => {
  const slow = new SlowFacilitator()
  const routes = cents(market, 'GET /a', 'GET /b', '/c')
  const { url, runs } = await openStall(t, market, { routes, facilitators: slow.client })
  const payload = await payloadFor(`${url}/a`)
  delete payload.resource
  const header = Buffer.from(JSON.stringify(payload)).toString('base64')
  assert.equal((await show(`${url}/a`, header)).status, 503)
  slow.isDecided = true
  for (const path of ['/b', '/a?x=1', '/c']) {
    assert.equal(await errorOf(await show(`${url}${path}`, header)), 'payment_already_used', path)
  }
  const head = await fetch(`${url}/a`, { method: 'HEAD', headers: { 'PAYMENT-SIGNATURE': header } })
  assert.equal(await errorOf(head), 'payment_already_used')
  assert.equal((await show(`${url}/a`, header)).status, 200)
  assert.equal(runs(), 1)
})
