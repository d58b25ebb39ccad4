import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PaymentHeaders, PaymentPass, PaymentSecret } from '@latchkey/x402-wire'
import { type Market, openMarket, url } from './market.test.helper.js'
import { MemoryPassCache, passOf, type StoredPass } from './PaidRequest.js'
import { type PayingFetchOptions, payingFetch } from './payingFetch.js'
import { buyerOf, receipt, shop } from './shop.test.helper.js'

const timeout = 30_000
const scope = 'S'.repeat(43)
const pass = `1.${'p'.repeat(80)}.${'m'.repeat(43)}`
const terms: PaymentPass.PassTerms = { scope, opens: 'route', minutes: 5, requests: undefined }
const inMinutes = (minutes: number): number => Math.floor(Date.now() / 1000) * 1000 + minutes * 60_000

type Respond = (request: Request, transaction: string | undefined) => Response | undefined

function price(market: Market, own: PaymentPass.PassTerms = terms, error?: string): Response {
  const extensions = { ...PaymentSecret.declaration(), ...PaymentPass.declaration(own) }
  const required = { ...market.required, extensions, ...(error === undefined ? {} : { error }) }
  return new Response('{}', {
    status: 402,
    headers: { [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(required) },
  })
}

/** A response with a pass, or with its remaining validity. */
function goods(headers: { [name: string]: string }, status = 200): Response {
  return new Response(status === 200 ? 'goods' : null, { status, headers })
}

const statusOf = (untilMs: number, requestsLeft?: number): string => PaymentPass.formatStatus({ untilMs, requestsLeft })

/** A seller of passes, except for the responses of `respond`. Records the passes and addresses of its requests. */
async function open(
  t: Parameters<typeof openMarket>[0],
  respond: Respond = () => undefined,
  options: PayingFetchOptions = {},
) {
  const market = await openMarket(t)
  const cache = new MemoryPassCache()
  const shown: (string | undefined)[] = []
  const { fetch } = shop((request, transaction) => {
    const header = request.headers.get(PaymentPass.passHeader)
    shown.push(header === null ? undefined : `${header.slice(0, pass.length) === pass} ${request.url}`)
    const own = respond(request, transaction)
    if (own !== undefined) return own
    if (header !== null) return goods({ [PaymentPass.passStatusHeader]: statusOf(inMinutes(5)) })
    if (transaction === undefined) return price(market)
    const response = receipt({ transaction })
    response.headers.set(PaymentPass.passHeader, pass)
    response.headers.set(PaymentPass.passStatusHeader, statusOf(inMinutes(5)))
    return response
  })
  const buyer = buyerOf(market)
  const pay = payingFetch(buyer, { fetch, passes: cache, repeatMs: 1, ...options })
  return { market, cache, shown, pay, count: () => buyer.payments.all().length }
}

const origin = new URL(url).origin

test('a pass', async (t) => {
  await t.test('is stored with its payment’s secret, and presented for the same request', { timeout }, async (t) => {
    const { cache, shown, pay, count } = await open(t)
    await pay(url)
    const [stored] = cache.all(origin)
    assert.deepEqual([stored!.pass, stored!.requests, stored!.scope], [pass, ['GET /weather'], scope])
    assert.match(stored!.secret, /^[\w-]{43}$/)
    assert.equal(passOf(await pay(`${url}?city=Rome`))!.requestsLeft, undefined)
    assert.deepEqual([shown, count()], [[undefined, undefined, `true ${url}?city=Rome`], 1])
  })

  await t.test(
    'is presented for another path of its origin only after a price for the same scope',
    { timeout },
    async (t) => {
      const { shown, pay, count } = await open(t)
      await pay(url)
      const other = `${origin}/other`
      await pay(other)
      assert.deepEqual(shown.slice(2), [undefined, `true ${other}`])
      await pay(other)
      assert.deepEqual([shown.slice(4), count()], [[`true ${other}`], 1])
    },
  )

  await t.test('is presented to no other origin, port or protocol', { timeout }, async (t) => {
    const { shown, pay, count } = await open(t)
    await pay(url)
    const others = ['http://other.example/weather', 'http://shop.example:8080/weather', 'https://shop.example/weather']
    for (const other of others) await pay(other)
    assert.deepEqual([shown.filter((one) => one !== undefined), count()], [[], 4])
  })

  await t.test('follows no redirect', { timeout }, async (t) => {
    const elsewhere = 'http://other.example/steal'
    let isMoved = false
    const { shown, pay } = await open(t, (request) => {
      if (!isMoved) return undefined
      assert.equal(request.redirect, request.headers.has(PaymentPass.passHeader) ? 'manual' : 'follow')
      return request.headers.has(PaymentPass.passHeader) ? goods({ Location: elsewhere }, 307) : goods({})
    })
    await pay(url)
    isMoved = true
    // The request did not reach the gate, and is sent like any other.
    assert.equal((await pay(url)).status, 200)
    assert.deepEqual(shown.slice(2), [`true ${url}`, undefined])
  })

  await t.test('may open a redirect, which is returned', { timeout }, async (t) => {
    const { shown, pay } = await open(t, (request) => {
      const status = { [PaymentPass.passStatusHeader]: statusOf(inMinutes(5), 3) }
      return request.headers.has(PaymentPass.passHeader) ? goods({ Location: '/b', ...status }, 302) : undefined
    })
    await pay(url)
    assert.equal((await pay(url)).status, 302)
    assert.equal(shown.length, 3)
  })

  await t.test('is forgotten if it is refused, and the request is paid once', { timeout }, async (t) => {
    const isShown = (request: Request): boolean => request.headers.has(PaymentPass.passHeader)
    const refuse: Respond = (request) => (isShown(request) ? price(world.market, terms, 'pass_expired') : undefined)
    const world = await open(t, (...args) => refuse(...args))
    await world.pay(url)
    assert.equal((await world.pay(url)).status, 200)
    assert.deepEqual([world.shown.slice(2), world.count()], [[`true ${url}`, undefined], 2])
    assert.equal(world.cache.all(origin).length, 1)
  })

  await t.test('for another scope is kept, and no longer presented there', { timeout }, async (t) => {
    const other = { ...terms, scope: 'T'.repeat(43) }
    let isChanged = false
    const world = await open(t, (_, transaction) =>
      isChanged && transaction === undefined ? price(world.market, other) : undefined,
    )
    await world.pay(url)
    isChanged = true
    await world.pay(url)
    assert.deepEqual(world.shown.slice(2), [`true ${url}`, undefined])
    assert.deepEqual(
      world.cache.all(origin).map(({ scope, requests }) => [scope[0], requests.length]),
      [
        ['S', 0],
        ['T', 1],
      ],
    )
  })

  await t.test('is forgotten with its last request', { timeout }, async (t) => {
    const { cache, pay } = await open(t, (request) => {
      const status = { [PaymentPass.passStatusHeader]: statusOf(inMinutes(5), 0) }
      return request.headers.has(PaymentPass.passHeader) ? goods(status) : undefined
    })
    await pay(url)
    await pay(url)
    assert.deepEqual(cache.all(origin), [])
  })

  await t.test('is left to the caller if the request has its own header', { timeout }, async (t) => {
    const { shown, pay } = await open(t)
    await pay(url)
    await pay(url, { headers: { [PaymentPass.passHeader]: 'mine' } })
    assert.deepEqual(shown.slice(2), [`false ${url}`])
  })

  await t.test('is neither stored nor presented with `passes: false`', { timeout }, async (t) => {
    const { shown, pay, count } = await open(t, undefined, { passes: false })
    await pay(url)
    await pay(url)
    assert.deepEqual([shown, count()], [[undefined, undefined, undefined, undefined], 2])
  })

  await t.test('is not stored if malformed or expired, and is limited if it never ends', { timeout }, async (t) => {
    let headers: { [name: string]: string } = {}
    const { cache, pay } = await open(t, (_, transaction) => {
      if (transaction === undefined) return undefined
      const response = receipt({ transaction })
      for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
      return response
    })
    const status = statusOf(inMinutes(5))
    const bad = [
      { [PaymentPass.passHeader]: pass },
      { [PaymentPass.passStatusHeader]: status },
      { [PaymentPass.passHeader]: `1.${'p'.repeat(5_000)}.${'m'.repeat(43)}`, [PaymentPass.passStatusHeader]: status },
      { [PaymentPass.passHeader]: '2.x.y', [PaymentPass.passStatusHeader]: status },
      { [PaymentPass.passHeader]: pass, [PaymentPass.passStatusHeader]: 'until=soon' },
      { [PaymentPass.passHeader]: pass, [PaymentPass.passStatusHeader]: statusOf(inMinutes(-1)) },
      { [PaymentPass.passHeader]: pass, [PaymentPass.passStatusHeader]: statusOf(inMinutes(5), 0) },
    ]
    for (headers of bad) {
      await pay(url)
      assert.deepEqual(cache.all(origin), [], JSON.stringify(headers).slice(0, 100))
    }
    headers = { [PaymentPass.passHeader]: pass, [PaymentPass.passStatusHeader]: 'until=99999999999' }
    await pay(url)
    assert.ok(cache.all(origin)[0]!.untilMs <= Date.now() + PaymentPass.maxPassMinutes * 60_000)
  })

  await t.test('is paid for if the cache fails, and the answer arrives', { timeout }, async (t) => {
    const fail = (): never => {
      throw new Error('the disk is full')
    }
    const { pay, count } = await open(t, undefined, { passes: { all: fail, put: fail, remove: fail } })
    for (const times of [1, 2]) {
      assert.equal(await (await pay(url)).text(), 'sunny')
      assert.equal(count(), times)
    }
  })
})

test('a cache in memory is bounded, and removes expired passes', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000 })
  const cache = new MemoryPassCache()
  const one: StoredPass = {
    ...{ origin, scope, opens: 'route', requests: [], pass, secret: 's'.repeat(43), untilMs: 2_000 },
    requestsLeft: undefined,
  }
  for (let index = 0; index < 1_100; index++) cache.put({ ...one, scope: `${index}` })
  assert.equal(cache.all(origin).length, 1_000)
  assert.deepEqual(cache.all('http://other.example'), [])
  cache.remove(origin, '1099')
  assert.equal(cache.all(origin).length, 999)
  t.mock.timers.tick(1_000)
  assert.deepEqual(cache.all(origin), [])
})
