/**
 * A request target that programs could read differently is refused, so the price always matches what the handler
 * serves.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeRequired } from '@latchkey/x402/client'
import { upgradeGate } from '@latchkey/x402/node'
import type { Route } from '@latchkey/x402/server'
import { openMarket } from '../support/market.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { cents } from '../support/stall.test.helper.js'
import { askOf, keys, type Reading, serveUpgrades, targetShops } from './support/targetShops.test.helper.js'

const market = await openMarket({ after })
type Scope = { after: (work: () => unknown) => void }

const accepts = {
  network: market.chain.caip2,
  price: (request: Request) => (new URL(request.url).searchParams.get('quality') === 'best' ? '$1' : '$0.01'),
  payTo: market.seller,
}

async function openShop(t: Scope, name: string, route: Partial<Route> = {}) {
  const { open, prefix, isHttp2 } = targetShops[name]!
  const served: Reading[] = []
  const routes = Object.fromEntries(keys.map((key) => [key, { accepts, ...route }]))
  const shop = await open(await market.gate({ routes }), (reading) => served.push(reading))
  const { ask, close } = askOf(shop.url, isHttp2)
  t.after(async () => {
    close()
    await shop.close()
  })
  return { served, ask: (target: string, headers = {}) => ask(`${prefix}${target}`, headers) }
}

/** For some program, each has a price of a cent and opens goods of a dollar. */
const attacks = [
  '/w?x=1#&quality=best',
  '/w#?quality=best',
  '/w#quality=best',
  '/w;quality=best',
  '/w;?quality=best',
  '/w?x=1;quality=best',
  '/w?quality=low&quality=best',
  '/w?quality=low&Quality=best',
  '/w?quality[]=best',
  '/w?quality[0]=best',
  '/w?quality%5B%5D=best',
  '/w?x[quality]=best',
  '/w?quality=best]=x',
  '/w?quality+=best',
  '/w?q%75ality=best',
  '/w?%71uality=best',
  '/w?quality=%62est',
  '/w?quality=best%00',
  '/w?quality=best%ff',
  '/w?quality=%zz',
  '/w?x=\\&quality=best',
  `/w?${'x&'.repeat(101)}quality=best`,
  '/w?__proto__=best',
  '/w?=best',
  '/W?quality=best',
  '/w/?quality=best',
  '/items/%67old',
  '/Items/gold',
  '/items/gold/',
  '/items//gold',
  '/items/a%2Fgold',
  '/items/go%0ald',
  '/x/../items/gold',
]

const honest = [
  '/w',
  '/w?',
  '/w?quality=low',
  '/w?quality=low&x=1&y',
  '/w?q=new+york&x=a%20b%26c%3Dd',
  '/w?q=100%25&u=https://example.com/a?b=c',
  '/w?name=caf%C3%A9&tag={a|b}',
  "/w?name=O'Brien",
  '/items/7',
  '/items/caf%C3%A9',
  '/items/a%20b',
  '/items/a.b~c-d_e',
]

for (const name of Object.keys(targetShops)) {
  test(`${name}: a target that hides a parameter from the price is refused, and its handler does not run`, async (t) => {
    const { ask, served } = await openShop(t, name)
    for (const target of attacks) {
      const { status, body } = await ask(target)
      // Some are refused by Node's server, or match no handler.
      assert.ok([400, 404, 0].includes(status), `${target}: ${status}`)
      if (status === 400 && body !== '') assert.match(body, /ambiguous_request|is ambiguous|Bad Request|URI/, target)
    }
    assert.deepEqual(served, [])
  })

  test(`${name}: an ordinary target is priced, and its handler reads the same parameters`, async (t) => {
    const { ask, served } = await openShop(t, name)
    for (const target of honest) assert.equal((await ask(target)).status, 402, target)
    const { body } = await ask('/w?quality=low&city=new+york')
    const [offer] = (JSON.parse(body) as { accepts: { amount: string }[] }).accepts
    assert.equal(offer!.amount, '10000')
    const dear = JSON.parse((await ask('/w?quality=best')).body) as { accepts: { amount: string }[] }
    assert.equal(dear.accepts[0]!.amount, '1000000')
    const required = decodeRequired(Buffer.from(body).toString('base64'))
    const { header } = await market.buyer.pay(required)
    const paid = await ask('/w?quality=low&city=new+york', { 'PAYMENT-SIGNATURE': header })
    assert.deepEqual([paid.status, served.length], [200, 1])
    assert.deepEqual(Object.fromEntries(served[0]!.parameters), { quality: 'low', city: 'new york' })
  })

  test(`${name}: with a fixed price, parameters may be repeated; an invalid target is refused`, async (t) => {
    const { ask } = await openShop(t, name, cents(market, 'x')['x'])
    for (const target of ['/w?a=1&a=2', '/w?a[]=1&a[]=2', '/w?a=1;b=2'])
      assert.equal((await ask(target)).status, 402, target)
    for (const target of ['/w?a=1#b', '/w?a=\\', '/w?a=%ff']) {
      const { status } = await ask(target)
      assert.ok([400, 0].includes(status), `${target}: ${status}`)
    }
  })

  test(`${name}: a target that is too long for an offer is refused, and its handler does not run`, async (t) => {
    const { ask, served } = await openShop(t, name)
    const long = (length: number) => `/w?q=${'a'.repeat(length)}`
    assert.equal((await ask(long(8_000))).status, 402)
    const { status, body } = await ask(long(8_200))
    assert.deepEqual([status, JSON.parse(body).error], [414, 'target_too_long'])
    assert.deepEqual(served, [])
  })

  test(`${name}: a route can allow repeated parameters`, async (t) => {
    const { ask } = await openShop(t, name, { repeatedParameters: 'allow' })
    assert.equal((await ask('/w?quality=low&quality=best')).status, 402)
    assert.equal((await ask('/w?quality[]=best')).status, 400)
  })
}

for (const name of Object.keys(targetShops).filter((one) => !targetShops[one]!.isHttp2)) {
  test(`${name}: the absolute form is priced if its host matches the Host header`, async (t) => {
    const { open, prefix } = targetShops[name]!
    let served = 0
    const routes = Object.fromEntries(keys.map((key) => [key, { accepts }]))
    const shop = await open(await market.gate({ routes }), () => served++)
    t.after(() => shop.close())
    const { host } = new URL(shop.url)
    const ask = (start: string) => rawRequest(shop.url, `${start}${prefix}/w?quality=best`)
    assert.equal((await ask(`http://${host}`)).status, 402)
    for (const start of [`https://${host}`, `http://u@${host}`, 'http://other.example']) {
      const { status } = await ask(start)
      // Hono reads the URL instead of the Host header, so both name the same host.
      assert.ok(status === 400 || (status === 402 && name === 'Hono'), `${start}: ${status}`)
    }
    assert.equal(served, 0)
  })
}

test('Fastify: an empty segment that its router treats as a parameter is paid for', async (t) => {
  for (const name of ['Fastify', 'Fastify, HTTP/2']) {
    const { ask, served } = await openShop(t, name, cents(market, 'x')['x'])
    for (const target of ['/items/', '/items/?x=1']) assert.equal((await ask(target)).status, 402, target)
    assert.deepEqual(served, [])
  }
})

test('an upgrade with a fragment in its target is refused', async (t) => {
  let opened = 0
  const gate = await market.gate({ routes: { 'GET /w': { accepts } } })
  const { url, close } = await serveUpgrades(
    upgradeGate(gate, (_, socket) => {
      opened++
      socket.destroy()
    }),
  )
  t.after(close)
  const headers = { Upgrade: 'websocket', Connection: 'Upgrade' }
  for (const target of ['/w?x=1#&quality=best', '/w?quality=low&quality=best', '/w;x']) {
    assert.equal((await rawRequest(url, target, { headers })).status, 400, target)
  }
  assert.equal((await rawRequest(url, '/w?quality=best', { headers })).status, 402)
  assert.equal(opened, 0)
})
