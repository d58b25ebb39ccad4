/** One payment runs the handler once, whenever the client leaves and however slowly the ledger decides. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type FacilitatorClient, MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { altered, headerJson, openMarket, repeated, requiredOf, until } from '../support/market.test.helper.js'
import { adapters, routesFor, Stock } from '../support/shops.test.helper.js'
import { cents, openStall, show } from '../support/stall.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })
const cent = 10_000n

/** Reports the first `times` settlements as undecided, although the ledger has them. */
function undecidedAtFirst(times: number): FacilitatorClient {
  let left = times
  return altered(market.local, {
    settle: async (payload, requirements, ...rest) => {
      const settled = await market.local.settle(payload, requirements, ...rest)
      if (left-- <= 0) return settled
      const { network } = requirements
      return { success: false, errorReason: 'settlement_pending', transaction: settled.transaction, network }
    },
  })
}

/** Sends a request and hangs up when the condition holds. */
async function hangUp(url: string, init: RequestInit, when: () => boolean): Promise<void> {
  const controller = new AbortController()
  const sent = fetch(url, { ...init, signal: controller.signal }).then(
    (response) => response.arrayBuffer(),
    () => {},
  )
  await Promise.race([until(when), sent])
  controller.abort()
  await sent.catch(() => {})
}

function textInit(header: string, body: string): RequestInit {
  return { method: 'POST', body, headers: { 'PAYMENT-SIGNATURE': header, 'Content-Type': 'text/plain' } }
}

for (const { name, prefix, open } of adapters) {
  const shopFor = async (t: { after: (work: () => unknown) => void }, facilitators = market.local) => {
    const stock = new Stock()
    const routes = routesFor(prefix, market.chain.caip2, market.seller)
    const shop = await open(await market.gate({ routes, facilitators }), stock)
    t.after(() => shop.close())
    return { stock, at: (path: string) => `${shop.url}${prefix}${path}` }
  }
  const priceOf = async (url: string, init: RequestInit = {}): Promise<string> => market.payment(await fetch(url, init))

  test(`A9 ${name}: clients that hang up during a POST have it done once, charged once, and get the answer`, {
    timeout,
  }, async (t) => {
    const { stock, at } = await shopFor(t)
    const header = await priceOf(at('/echo'), { method: 'POST' })
    const before = await market.dollars()
    await hangUp(at('/echo'), textInit(header, 'wait'), () => stock.count('echo') === 1)
    for (let time = 0; time < 4; time++) {
      const runs = stock.count('echo')
      await hangUp(at('/echo'), textInit(header, 'wait'), () => stock.count('echo') > runs)
    }
    assert.equal(stock.count('echo'), 1)
    stock.release()
    const answer = await repeated(at('/echo'), header, textInit(header, 'wait'))
    assert.deepEqual([answer.status, await answer.text()], [200, 'done'])
    assert.equal(headerJson(answer, 'payment-response')['success'], true)
    assert.equal(stock.count('echo'), 1)
    assert.equal((await market.dollars()) - before, cent)
  })

  test(`A9 ${name}: a slow confirmation places one order`, { timeout }, async (t) => {
    const { stock, at } = await shopFor(t, undecidedAtFirst(3))
    const header = await priceOf(at('/echo'), { method: 'POST' })
    const before = await market.dollars()
    const answer = await repeated(at('/echo'), header, textInit(header, 'an order'))
    assert.deepEqual([answer.status, await answer.text()], [200, 'an order'])
    assert.equal(stock.count('echo'), 1)
    assert.equal((await market.dollars()) - before, cent)
  })

  test(`A9 ${name}: while the ledger is undecided, the answer of a GET is held, with its headers`, {
    timeout,
  }, async (t) => {
    const { stock, at } = await shopFor(t, undecidedAtFirst(3))
    const header = await priceOf(at('/weather'))
    const answer = await repeated(at('/weather'), header)
    assert.deepEqual([answer.status, await answer.text()], [200, '{"weather":"sunny"}'])
    assert.deepEqual(answer.headers.getSetCookie(), ['session=1', 'theme=dark'])
    assert.equal(answer.headers.get('etag'), '"1"')
    assert.match(answer.headers.get('content-type')!, /^application\/json/)
    assert.match(answer.headers.get('cache-control')!, /private/)
    assert.equal(headerJson(answer, 'payment-response')['success'], true)
    assert.equal(stock.count('weather'), 1)
  })

  test(`A9 ${name}: a client that hangs up during a GET is charged, and gets the answer with the next request`, {
    timeout,
  }, async (t) => {
    const { stock, at } = await shopFor(t)
    const header = await priceOf(at('/slow'))
    const before = await market.dollars()
    await hangUp(at('/slow'), { headers: { 'PAYMENT-SIGNATURE': header } }, () => stock.count('slow') === 1)
    const answer = await repeated(at('/slow'), header)
    assert.deepEqual([answer.status, await answer.text()], [200, 'late'])
    assert.equal(stock.count('slow'), 1)
    assert.equal((await market.dollars()) - before, cent)
  })
}

test('A9 an undelivered answer is held for a buyer without a secret', { timeout }, async (t) => {
  const body = Buffer.alloc(9 * 1024 * 1024, 'x')
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a') }, (_, response) => {
    response.end(body)
  })
  const header = await market.payment(await fetch(`${url}/a`), (payload) => {
    delete payload['extensions']
  })
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /a HTTP/1.1\r\nHost: ${host}\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  socket.destroy()
  const answer = await until200(() => show(`${url}/a`, header))
  assert.equal(Buffer.compare(Buffer.from(await answer.arrayBuffer()), body), 0)
  assert.equal(runs(), 1)
  // The client has the complete answer now; the server learns that a moment later.
  assert.equal((await show(`${url}/a`, header)).status, 402)
})

/** Retries, because the server may not have noticed yet that the connection is gone. */
async function until200(send: () => Promise<Response>): Promise<Response> {
  let found: Response | undefined
  await until(async () => {
    const response = await send()
    if (response.status === 200) found = response
    else await response.arrayBuffer()
    return found !== undefined
  })
  return found!
}

test('A9 a restarted seller serves the answer that its claims hold', { timeout }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-security-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'claims.db')
  const routes = cents(market, 'GET /a')
  const first = new SqliteClaims(path)
  const stall = await openStall(t, market, { routes, facilitators: undecidedAtFirst(1), claims: first })
  const header = await market.payment(await fetch(`${stall.url}/a`))
  assert.equal((await show(`${stall.url}/a`, header)).status, 503)
  first.close()
  const second = new SqliteClaims(path)
  t.after(() => second.close())
  const restarted = await openStall(t, market, { routes, claims: second }, (_, response) => void response.end('other'))
  const answer = await repeated(`${restarted.url}/a`, header)
  assert.deepEqual([answer.status, await answer.text()], [200, 'goods'])
  assert.deepEqual([stall.runs(), restarted.runs()], [1, 0])
})

test('A9 a handler that fails after the settlement may be called again, for the same money', { timeout }, async (t) => {
  let isBroken = true
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'POST /a') }, (_, response) => {
    response.statusCode = isBroken ? 500 : 200
    response.end('goods')
  })
  const before = await market.dollars()
  const header = await market.payment(await fetch(`${url}/a`, { method: 'POST' }))
  const init = { method: 'POST', headers: { 'PAYMENT-SIGNATURE': header } }
  const failed = await fetch(`${url}/a`, init)
  assert.equal(failed.status, 500)
  // The buyer was charged, and the response reports it.
  assert.equal(headerJson(failed, 'payment-response')['success'], true)
  isBroken = false
  assert.equal((await repeated(`${url}/a`, header, init)).status, 200)
  assert.equal(await (await fetch(`${url}/a`, init)).status, 402)
  assert.deepEqual([runs(), (await market.dollars()) - before], [2, cent])
})

test('A9 a store that fails after the settlement loses no answer, and serves none twice', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const finish = claims.finish.bind(claims)
  let isFull = true
  const full = Object.assign(claims, {
    finish: (...args: Parameters<typeof finish>) => {
      if (isFull) throw new Error('the disk is full')
      finish(...args)
    },
  })
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a', 'POST /a'), claims: full })
  for (const method of ['GET', 'POST']) {
    const before = await market.dollars()
    isFull = true
    const ran = runs()
    const header = await market.payment(await fetch(`${url}/a`, { method }))
    const init = { method, headers: { 'PAYMENT-SIGNATURE': header } }
    const answer = await fetch(`${url}/a`, init)
    assert.deepEqual([answer.status, await answer.text()], [200, 'goods'])
    const again = await fetch(`${url}/a`, init)
    assert.ok([402, 503].includes(again.status), `${again.status}`)
    isFull = false
    await until(async () => (await fetch(`${url}/a`, init)).status === 402)
    assert.equal(runs() - ran, 1)
    assert.equal((await market.dollars()) - before, cent)
  }
})

test('A9 an answer that cannot be held is not charged', { timeout }, async (t) => {
  const claims = Object.assign(new MemoryClaims(), {
    hold: () => {
      throw new Error('the disk is full')
    },
  })
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a'), claims })
  const before = await market.dollars()
  const response = await show(`${url}/a`, await market.payment(await fetch(`${url}/a`)))
  assert.equal(response.status, 503)
  assert.equal(await market.dollars(), before)
})

test('A9 an answer whose settlement finally fails is dropped, and the response says so', { timeout }, async (t) => {
  const results = ['settlement_pending', 'invalid_exact_avm_payload_validity']
  const facilitators = altered(market.local, {
    settle: async (_, { network }) => ({ success: false, errorReason: results.shift()!, transaction: '', network }),
  })
  const claims = new MemoryClaims()
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators, claims })
  const header = await market.payment(await fetch(`${url}/a`))
  assert.equal((await show(`${url}/a`, header)).status, 503)
  const response = await repeated(`${url}/a`, header)
  assert.equal(response.status, 402)
  assert.equal(headerJson(response, 'payment-response')['errorReason'], 'invalid_exact_avm_payload_validity')
  assert.deepEqual([claims.size, runs()], [0, 1])
})

test('A16 above a price, the handler runs only after the settlement', { timeout }, async (t) => {
  const facilitators = altered(market.local, {
    settle: async (_, { network }) => ({ success: false, errorReason: 'insufficient_funds', transaction: '', network }),
  })
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const routes = {
    'GET /dear': { accepts, settleFirstAbove: '$0.009' },
    'GET /cheap': { accepts, settleFirstAbove: '$0.01' },
    'GET /other': { accepts: { ...accepts, price: { asset: '0', amount: '5' } }, settleFirstAbove: '$1' },
  } as const
  const { url, runs } = await openStall(t, market, { routes, facilitators })
  const { accepts: offers } = await requiredOf(await fetch(`${url}/other`))
  assert.equal((offers[0]!['extra'] as { paymentFlow?: string }).paymentFlow, 'upfront', 'in another asset')
  for (const [path, expected] of [
    ['/dear', 0],
    ['/cheap', 1],
  ] as const) {
    const before = runs()
    const response = await show(`${url}${path}`, await market.payment(await fetch(`${url}${path}`)))
    assert.deepEqual([response.status, runs() - before], [402, expected], path)
  }
})
