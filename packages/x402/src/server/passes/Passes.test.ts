import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { PaymentPass } from '@latchkey/x402-wire'
import type { GateOptions } from '../gate/GateOptions.js'
import * as GateRequest from '../routes/GateRequest.js'
import { bindingOf } from '../routes/GateRequest.js'
import { MemoryClaims } from '../store/Claims.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  price,
  priced,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'
import { buy, cookieIn, passGate, refusal, secret, show } from './passes.test.helper.js'

const counted = { 'GET /a': { accepts: price, passes: { requests: 3 } } } as const

test('a pass opens the route again for a client that presents the secret of the payment', async () => {
  const world = await passGate()
  const { pass, shown, headers, transactionId } = await buy(world)
  const admission = admitted(await world.gate.decide(show('/a', shown)))
  assert.equal(admission.transactionId, transactionId)
  assert.equal(admission.pass!.requestsLeft, undefined)
  assert.ok(Math.abs(admission.pass!.untilMs - Date.now() - 30 * 60_000) < 60_000)
  assert.match(headers.get('Vary')!, /PAYMENT-PASS, Cookie/)
  const sent = new Headers(admission.headers as [string, string][])
  assert.equal(sent.get('Cache-Control'), 'private')
  assert.match(sent.get('Vary')!, /PAYMENT-PASS, Cookie/)
  assert.deepEqual(PaymentPass.readStatus(sent)!.untilMs, admission.pass!.untilMs)
  const other = `${pass}.${Buffer.alloc(32, 7).toString('base64url')}`
  assert.equal(refusal(await world.gate.decide(show('/a', other))), 'pass_invalid')
  assert.equal(refusal(await world.gate.decide(show('/a', pass!))), 'pass_invalid')
})

test('a pass needs neither facilitator nor node', async () => {
  const ledger = newLedger()
  const facilitator = stubFacilitator(ledger)
  const world = await passGate({ facilitators: facilitator }, ledger)
  const { shown } = await buy(world)
  ledger.isDown = true
  for (const call of ['verify', 'settle', 'supported'] as const) {
    ;(facilitator as { [name: string]: unknown })[call] = () => assert.fail(`${call} was called`)
  }
  admitted(await world.gate.decide(show('/a', shown)))
})

test('the 402 declares passes and their scope', async () => {
  const world = await passGate({ routes: { 'GET /a': { accepts: price, passes: { minutes: 5, requests: 10 } } } })
  const { extensions } = await priced(world)
  const { scope, ...terms } = PaymentPass.readTerms(extensions)!
  assert.deepEqual(terms, { opens: 'route', minutes: 5, requests: 10 })
  assert.match(scope, /^[\w-]{43}$/)
  const without = await passGate({ routes: { 'GET /a': { accepts: price } } })
  assert.equal(PaymentPass.readTerms((await priced(without)).extensions), undefined)
})

test('routes use the passes of the gate, their own, or none', async () => {
  const routes = {
    'GET /a': { accepts: price },
    'GET /b': { accepts: price, passes: { requests: 7 } },
    'GET /c': { accepts: price, passes: false },
  } as const
  const world = await passGate({ routes, passes: { secret, minutes: 60 } })
  const terms = async (path: string) => PaymentPass.readTerms((await priced(world, path)).extensions)
  assert.equal((await terms('/a'))!.minutes, 60)
  assert.deepEqual({ ...(await terms('/b')), scope: '' }, { scope: '', opens: 'route', minutes: 43_200, requests: 7 })
  assert.equal(await terms('/c'), undefined)
})

test('counts requests, starting with the payment, and returns those that fail', async () => {
  const world = await passGate({ routes: counted })
  const { shown, headers } = await buy(world)
  assert.match(headers.get(PaymentPass.passStatusHeader)!, /, requests=2$/)
  const failed = admitted(await world.gate.decide(show('/a', shown)))
  assert.equal(failed.pass!.requestsLeft, 1)
  await failed.cancel()
  await failed.cancel()
  for (const left of [1, 0]) {
    const admission = admitted(await world.gate.decide(show('/a', shown)))
    assert.equal(admission.pass!.requestsLeft, left)
    await admission.settle(answer)
    await admission.cancel()
  }
  assert.equal(refusal(await world.gate.decide(show('/a', shown))), 'pass_used_up')
})

test('64 concurrent requests open exactly as many as are left', async () => {
  const world = await passGate({ routes: { 'GET /a': { accepts: price, passes: { requests: 11 } } } })
  const { shown } = await buy(world)
  const decisions = await Promise.all(Array.from({ length: 64 }, () => world.gate.decide(show('/a', shown))))
  assert.equal(decisions.filter(({ type }) => type === 'paid').length, 10)
})

test('a repeated payment returns the same pass, neither longer nor larger', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const world = await passGate({ routes: { 'GET /a': { accepts: price, passes: { minutes: 2, requests: 3 } } } })
  const first = await buy(world)
  admitted(await world.gate.decide(show('/a', first.shown)))
  t.mock.timers.tick(60_000)
  const again = responseOf(await first.repeat()).headers
  const [before, after] = [first.headers, again].map((headers) => PaymentPass.readStatus(headers)!)
  assert.deepEqual(after, { untilMs: before!.untilMs, requestsLeft: 1 })
  admitted(await world.gate.decide(show('/a', first.shown)))
  // The pass is used up, so the answer is sent again without a pass.
  assert.equal(responseOf(await first.repeat()).headers.get(PaymentPass.passHeader), null)
  t.mock.timers.tick(120_000)
  const late = responseOf(await first.repeat())
  assert.equal(late.status, 200)
  assert.equal(late.headers.get(PaymentPass.passHeader), null)
})

test('a pass expires after its minutes, even if the clock is set back', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const now = mock.method(performance, 'now')
  t.after(() => now.mock.restore())
  const startMs = performance.now()
  let elapsedMs = 0
  now.mock.mockImplementation(() => startMs + elapsedMs)
  const world = await passGate()
  const { shown } = await buy(world)
  const wait = (ms: number): void => {
    elapsedMs += ms
    t.mock.timers.tick(ms)
  }
  wait(29 * 60_000)
  admitted(await world.gate.decide(show('/a', shown)))
  t.mock.timers.setTime(Date.now() - 24 * 60 * 60_000)
  admitted(await world.gate.decide(show('/a', shown)))
  wait(2 * 60_000)
  assert.equal(refusal(await world.gate.decide(show('/a', shown))), 'pass_expired')
})

test('refuses a pass from a clock that was far ahead', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60 * 60_000 })
  const ahead = await passGate()
  const { shown } = await buy(ahead)
  t.mock.timers.setTime(Date.now() - 60 * 60_000)
  const { gate } = await passGate()
  assert.equal(refusal(await gate.decide(show('/a', shown))), 'pass_invalid')
})

test('replicas with the same secret accept each other’s passes, and a secret can be replaced', async () => {
  const [first, second] = [await passGate(), await passGate()]
  const { shown } = await buy(first)
  admitted(await second.gate.decide(show('/a', shown)))
  const renewed = await passGate({ passes: { secret: ['another secret, of as many bytes as needed', secret] } })
  admitted(await renewed.gate.decide(show('/a', shown)))
  const later = await buy(renewed)
  assert.equal(refusal(await first.gate.decide(show('/a', later.shown))), 'pass_invalid')
  const without = await passGate({ passes: {} })
  assert.equal(refusal(await without.gate.decide(show('/a', shown))), 'pass_invalid')
})

test('does not open requests that another store counts', async () => {
  const { shown } = await buy(await passGate({ routes: counted }))
  const { gate } = await passGate({ routes: counted })
  assert.equal(refusal(await gate.decide(show('/a', shown))), 'pass_expired')
})

test('issues no pass before the payment is settled, and issues it with the repeat that settles it', async () => {
  const ledger = newLedger()
  const honest = stubFacilitator(ledger)
  let isPending = true
  const settle: typeof honest.settle = async (...args) => {
    if (!isPending) return honest.settle(...args)
    return { success: false, errorReason: 'settlement_pending', transaction: 'x', network: 'algorand:x' }
  }
  const world = await passGate({ facilitators: { ...honest, settle } }, ledger)
  await assert.rejects(buy(world))
  isPending = false
  assert.ok((await buy(world)).pass)
  const failing = stubFacilitator(ledger, {
    settle: async () => ({ success: false, errorReason: 'settlement_failed', transaction: 'x', network: 'algorand:x' }),
  })
  await assert.rejects(buy(await passGate({ facilitators: failing }, ledger)))
})

test('a failing store costs the pass, not the answer, and opens nothing', async () => {
  const claims = new MemoryClaims()
  const errors: unknown[] = []
  const world = await passGate({ claims, routes: counted, onError: (error) => errors.push(error) })
  const { shown } = await buy(world)
  for (const name of ['issue', 'take']) {
    Object.defineProperty(claims.passes, name, { value: () => Promise.reject(new Error('the disk is full')) })
  }
  const { pass, headers } = await buy(world)
  assert.equal(pass, null)
  assert.ok(headers.has('PAYMENT-RESPONSE'))
  assert.equal(responseOf(await world.gate.decide(show('/a', shown))).status, 500)
  assert.equal(errors.length, 2)
})

test('a buyer without a secret gets no pass in a header', async () => {
  const { pass, headers } = await buy(await passGate(), '/a', { hasSecret: false })
  assert.equal(pass, null)
  assert.deepEqual(headers.getSetCookie(), [])
  assert.ok(headers.has('PAYMENT-RESPONSE'))
})

test('gives a page a cookie that works for navigations and changes nothing', async () => {
  const routes = { '/a': { accepts: { ...price, paymentFlow: 'authorization' }, passes: { minutes: 30 } } } as const
  const world = await passGate({ routes })
  const init = { headers: { 'PAYMENT-PASS': 'cookie' } }
  const { headers, transactionId } = await buy(world, '/a', { init })
  const { pair, attributes } = cookieIn(headers)
  assert.match(pair, /^__Host-x402-pass-[\w-]{8}=1\./)
  assert.equal(attributes, 'Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=1800')
  const cookie = { headers: { Cookie: `theme=dark; ${pair}` } }
  assert.equal(admitted(await world.gate.decide(ask('/a', undefined, cookie))).transactionId, transactionId)
  assert.equal(
    refusal(await world.gate.decide(ask('/a', undefined, { ...cookie, method: 'POST' }))),
    'Payment required',
  )
  const overridden = { headers: { ...cookie.headers, 'X-HTTP-Method-Override': 'DELETE' } }
  assert.equal(refusal(await world.gate.decide(ask('/a', undefined, overridden))), 'Payment required')
  // The cookie's pass is not valid in the header.
  assert.equal(refusal(await world.gate.decide(show('/a', pair.split('=')[1]!))), 'pass_invalid')
})

test('accepts any valid cookie of the name, and no header pass in a cookie', async () => {
  const world = await passGate()
  const { headers, shown } = await buy(world, '/a', { init: { headers: { 'PAYMENT-PASS': 'cookie' } } })
  const { pair } = cookieIn(headers)
  const [name] = pair.split('=')
  const at = (cookie: string) => world.gate.decide(ask('/a', undefined, { headers: { Cookie: cookie } }))
  admitted(await at(`${name}=tossed; ${name}=; ${pair}`))
  assert.equal(refusal(await at(`${name}=${shown}`)), 'Payment required')
  assert.equal(refusal(await at(`${'x=y; '.repeat(8_000)}${pair}`)), 'Payment required')
})

test('a pass for a path opens no other spelling, which a handler may read as another path', async () => {
  const routes = { 'GET /files/*': { accepts: price, passes: { minutes: 1, scope: 'path' } } } as const
  const world = await passGate({ routes })
  const { shown } = await buy(world, '/files/rome')
  const at = (path: string, sent = path) => world.gate.decide(show('/files/rome', shown), { path, sent })
  admitted(await at('/files/rome'))
  admitted(await at('/files/rome?day=1'))
  for (const path of ['/files/paris/../rome', '/files/paris/%2e%2e/rome', '/files/paris\\..\\rome', '/files/rome#a']) {
    assert.equal(refusal(await at(path)), 'pass_invalid', path)
    assert.equal(refusal(await at('/files/rome', path)), 'pass_invalid', path)
  }
})

test('a pass opens its route while a node does not report the name of its asset', async () => {
  const accepts = { ...price, price: { asset: '77', amount: '5' } }
  const world = await passGate({ routes: { 'GET /a': { accepts, passes: { minutes: 1 } } } })
  const { shown } = await buy(world)
  world.chain.asset = () => new Promise(() => {})
  const { payment } = admitted(await world.gate.decide(show('/a', shown)))
  assert.equal(payment().amountText, '5 base units of asset 77')
})

test('a cookie for one path is sent only to that path, and needs no TLS on a development server', async () => {
  const routes = { 'GET /news/:id': { accepts: price, passes: { minutes: 1, scope: 'path' } } } as const
  const world = await passGate({ routes })
  const init = { headers: { 'PAYMENT-PASS': 'cookie' } }
  const secure = cookieIn((await buy(world, '/news/1', { init })).headers)
  assert.match(secure.pair, /^__Secure-x402-pass-/)
  assert.match(secure.attributes, /^Path=\/news\/1; HttpOnly; SameSite=Lax; Secure; Max-Age=60$/)
  const local = await buy(world, '/news/1', { init, origin: 'http://127.0.0.1:4021' })
  const plain = cookieIn(local.headers)
  assert.match(plain.pair, /^x402-pass-/)
  assert.doesNotMatch(plain.attributes, /Secure/)
  // Text that would end the attribute is not a valid target of a paid route.
  assert.equal(responseOf(await world.gate.decide(ask('/news/1;Domain=example'))).status, 400)
})

test('removes old cookies before requests become too long for servers', async () => {
  const routes = { 'GET /news/:id': { accepts: price, passes: { minutes: 1, scope: 'path' } } } as const
  const world = await passGate({ routes })
  const others = Array.from({ length: 12 }, (_, index) => `__Secure-x402-pass-${`${index}`.padStart(8, '0')}=1`)
  const headers = { 'PAYMENT-PASS': 'cookie', Cookie: others.join('; ') }
  const set = (await buy(world, '/news/1', { init: { headers } })).headers.getSetCookie()
  assert.equal(set.length, 4)
  for (const removed of set.slice(1)) assert.match(removed, /^__Secure-x402-pass-0000000[0-2]=; .*; Max-Age=0$/)
})

test('pass cookies do not affect the buyer’s payments and quotes', () => {
  const of = (cookie: string | undefined) => {
    const request = ask('/a', 'p', cookie === undefined ? {} : { headers: { Cookie: cookie } })
    const read = GateRequest.read(request, { key: '/a' }, { path: '/a' })
    return [read.quoteBinding, bindingOf(read, { hash: undefined, isProven: false })].join(' ')
  }
  assert.equal(of('__Host-x402-pass-abcdefgh=1'), of(undefined))
  assert.equal(of('a=1; x402-pass-abcdefgh=1; b=2'), of('a=1; b=2'))
  assert.notEqual(of('a=1'), of(undefined))
})

test('warns if passes end with the process', async () => {
  const warnings = async (options: Partial<GateOptions>): Promise<string[]> => {
    const list: string[] = []
    await passGate({ ...options, onWarning: (text) => list.push(text) })
    return list
  }
  assert.match((await warnings({ passes: {} }))[0]!, /a restart invalidates them/)
  assert.match((await warnings({ routes: counted }))[0]!, /counted in this process only/)
  assert.deepEqual(await warnings({}), [])
  assert.deepEqual(await warnings({ passes: {}, routes: { 'GET /a': { accepts: price } } }), [])
})

test('refuses options that cannot work', async () => {
  const open = (passes: unknown, gatePasses: unknown = { secret }, accepts: object = price) =>
    stubGate({ routes: { 'GET /a': { accepts, passes } } as never, passes: gatePasses as never, onWarning: () => {} })
  for (const minutes of [0, -1, Number.NaN, 600_000, '5', Number.POSITIVE_INFINITY]) {
    await assert.rejects(open({ minutes }), /GET \/a: passes.minutes cannot be/)
  }
  for (const requests of [0, 1, 2.5, '5', 1e12]) await assert.rejects(open({ requests }), /passes.requests cannot be/)
  await assert.rejects(open({}), /neither minutes nor requests/)
  await assert.rejects(open({ minutes: 1, scope: 'all' }), /passes.scope cannot be "all"/)
  const dynamic = { ...price, price: () => '$1' }
  await assert.rejects(open({ minutes: 1, scope: 'route' }, undefined, dynamic), /if a price or a payee is a function/)
  for (const bad of ['', 'short', ['long enough for a secret of 32 bytes', 'short'], [], 5]) {
    await assert.rejects(open({ minutes: 1 }, { secret: bad }), /passes.secret has/)
  }
  const { passes: _, ...claims } = new MemoryClaims() as { passes: unknown } & object
  await assert.rejects(
    stubGate({ routes: counted, passes: { secret }, claims: claims as never }),
    /passes need a claims store/,
  )
})
