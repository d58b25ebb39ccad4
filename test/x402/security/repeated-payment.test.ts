/**
 * A resent payment opens only what it was made for: no more expensive variant, no other host, path or method, and no
 * pass for one.
 */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { GateOptions } from '@latchkey/x402/server'
import { openMarket, requiredOf } from '../support/market.test.helper.js'
import { type PlainShop, plainShops } from '../support/plainShops.test.helper.js'
import { type RawAnswer, rawRequest } from '../support/rawRequest.test.helper.js'

const market = await openMarket({ after })
const payTo = market.seller
const dear = { Authorization: 'Bearer dear' }
const byAuthorization = {
  network: market.chain.caip2,
  price: ({ headers }: Request) => (headers.get('Authorization') === dear.Authorization ? '$5' : '$0.01'),
  payTo,
}
const cent = { network: market.chain.caip2, price: '$0.01', payTo }
const passes = { secret: 'a secret of at least 32 bytes, as from a generator' }

type Answer = Pick<RawAnswer, 'status' | 'head'>
type Ask = { target: string; method?: string; host?: string; headers?: { [name: string]: string } }

async function open(t: TestContext, seller: PlainShop, routes: GateOptions['routes'], status = 200) {
  const gate = await market.gate({ routes, passes, onWarning: () => {} })
  const served: string[] = []
  const { url, close } = await seller.open(gate, ({ method, target, header }) => {
    served.push(`${method} ${target} ${header('Authorization') ?? ''}`)
    return { status, body: 'goods' }
  })
  t.after(close)
  const ask = ({ target, ...options }: Ask): Promise<Answer> => rawRequest(url, target, options)
  /** Pays for a request, with the secret, so that its buyer can repeat it. */
  const buy = async (first: Ask) => {
    const unpaid = await fetch(`${url}${first.target}`, { method: first.method ?? 'GET' })
    await unpaid.arrayBuffer()
    const { repeatHeader } = await market.newBuyer().pay((await requiredOf(unpaid)) as never)
    const paid = { 'PAYMENT-SIGNATURE': repeatHeader }
    const { secret } = JSON.parse(Buffer.from(repeatHeader, 'base64').toString()).extensions['payment-secret'].info
    const send = (one: Ask): Promise<Answer> => ask({ ...one, headers: { ...one.headers, ...paid } })
    return { first: await send(first), send, secret: String(secret) }
  }
  return { ask, buy, served, host: new URL(url).host }
}

function passIn({ head }: Answer): string | undefined {
  return /^payment-pass: (.*)$/im.exec(head)?.[1]?.trim()
}

function errorIn({ status, head }: Answer): string {
  const header = /^payment-required: (.*)$/im.exec(head)?.[1] ?? 'e30='
  return `${status} ${JSON.parse(Buffer.from(header, 'base64').toString()).error}`
}

// Raw requests use HTTP/1.1; what a payment is bound to does not depend on the protocol.
for (const seller of plainShops.filter(({ protocol }) => protocol === 'HTTP/1.1')) {
  test(`${seller.name}: a failed POST at the cheap price does not open the expensive one`, async (t) => {
    const { buy, served } = await open(t, seller, { 'POST /a': { accepts: byAuthorization } }, 400)
    const post = { target: '/a', method: 'POST', headers: {} }
    const { first, send } = await buy(post)
    assert.equal(first.status, 400)
    assert.equal(errorIn(await send({ ...post, headers: dear })), '402 payment_already_used')
    assert.deepEqual(served, ['POST /a '])
    // The paid request runs again.
    assert.equal((await send(post)).status, 400)
    assert.equal(served.length, 2)
  })

  test(`${seller.name}: a repeated payment issues no pass for an expensive variant`, async (t) => {
    const routes = { 'GET /a': { accepts: byAuthorization, passes: { minutes: 60 } } }
    const { ask, buy, secret } = await bought(t, seller, routes, { target: '/a' })
    assert.equal(errorIn(await buy({ target: '/a', headers: dear })), '402 payment_already_used')
    const again = await buy({ target: '/a' })
    assert.equal(again.status, 200)
    const pass = { 'PAYMENT-PASS': `${passIn(again)}.${secret}` }
    assert.equal((await ask({ target: '/a', headers: pass })).status, 200)
    assert.equal(errorIn(await ask({ target: '/a', headers: { ...pass, ...dear } })), '402 pass_invalid')
  })

  test(`${seller.name}: a repeated payment issues no pass for another host, path spelling or method`, async (t) => {
    const routes = { 'GET /files/*': { accepts: cent, passes: { minutes: 60, scope: 'path' } } } as const
    const { buy, served } = await bought(t, seller, routes, { target: '/files/a' })
    served.length = 0
    const others: Ask[] = [
      { target: '/files/a', host: 'other.example' },
      { target: '/files/secret/../a' },
      { target: '/files/./a' },
      { target: '/files/a', headers: { 'X-HTTP-Method-Override': 'DELETE' } },
    ]
    for (const other of others) {
      const answer = await buy(other)
      // Hono resolves the path before the gate and the handler see it, so both are the same request.
      const isSame = answer.status === 200 && other.host === undefined && other.headers === undefined
      if (isSame) assert.ok(seller.name.startsWith('Hono'), other.target)
      else assert.match(errorIn(answer), /^(402 payment_already_used|400|405)/, JSON.stringify(other))
      if (!isSame) assert.equal(passIn(answer), undefined)
    }
    assert.deepEqual(served, [])
  })

  test(`${seller.name}: a failed POST does not run as another method`, async (t) => {
    const { buy, served } = await open(t, seller, { '/a': { accepts: cent } }, 400)
    const post = { target: '/a', method: 'POST', headers: {} }
    const { send } = await buy(post)
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const { status } = await send({ ...post, headers: { [name]: 'DELETE' } })
      assert.deepEqual([status, served.length], [402, 1], name)
    }
  })
}

/** Opens a shop with one payment that was served, and its repeats. */
async function bought(t: TestContext, seller: PlainShop, routes: GateOptions['routes'], first: Ask) {
  const shop = await open(t, seller, routes)
  const paid = await shop.buy(first)
  assert.equal(paid.first.status, 200)
  assert.notEqual(passIn(paid.first), undefined)
  return { ask: shop.ask, served: shop.served, buy: paid.send, secret: paid.secret }
}
