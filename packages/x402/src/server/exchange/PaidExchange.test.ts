import assert from 'node:assert/strict'
import test from 'node:test'
import { PaymentHeaders, PaymentSecret } from '@latchkey/x402-wire'
import * as hono from '../adapters/hono.js'
import { MemoryClaims } from '../store/Claims.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  priced,
  requiredIn,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'

test('settles after the handler, and then refuses the payment', async () => {
  const world = await stubGate()
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  assert.equal(world.ledger.transactions.size, 0)
  const result = await admission.settle(answer)
  assert.ok('headers' in result)
  assert.equal(world.ledger.transactions.get(transactionId)?.type, 'confirmed')
  assert.equal(responseOf(await world.gate.decide(ask('/a', header))).status, 402)
})

test('accepts a payment again after its handler failed, and not while it is served', async () => {
  const world = await stubGate()
  const { header } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  const busy = responseOf(await world.gate.decide(ask('/a', header)))
  assert.deepEqual([busy.status, busy.headers.get('Retry-After')], [503, '5'])
  assert.equal(((await busy.json()) as { error: string }).error, 'settlement_pending')
  await admission.cancel()
  admitted(await world.gate.decide(ask('/a', header)))
})

test('keeps no claim on refused payments', async () => {
  const claims = new MemoryClaims()
  const ledger = newLedger()
  const failing = stubFacilitator(ledger, {
    settle: async (_, { network }) => ({ success: false, errorReason: 'bad', transaction: '', network }),
  })
  const world = await stubGate(
    { claims, facilitators: failing, routes: { 'GET /a': { accepts: { ...price, paymentFlow: 'upfront' } } } },
    ledger,
  )
  const { header } = paymentFor(await priced(world), world.chain)
  const response = responseOf(await world.gate.decide(ask('/a', header)))
  assert.equal(response.status, 402)
  assert.ok(response.headers.has('PAYMENT-REQUIRED') && response.headers.has('PAYMENT-RESPONSE'))
  assert.equal(claims.size, 0)
})

test('a busy facilitator refuses no payment: the same payment is sent again and served', async () => {
  for (const isTrusted of [true, false]) {
    for (const busyIn of ['verify', 'settle'] as const) {
      const ledger = newLedger()
      const honest = stubFacilitator(ledger)
      let isBusy = true
      const busy = stubFacilitator(ledger, {
        isTrusted,
        verify: async (...call) =>
          isBusy && busyIn === 'verify'
            ? { isValid: false, invalidReason: 'facilitator_busy' }
            : honest.verify(...call),
        settle: async (payload, requirements, ...rest) =>
          isBusy && busyIn === 'settle'
            ? { success: false, errorReason: 'facilitator_busy', transaction: '', network: requirements.network }
            : honest.settle(payload, requirements, ...rest),
      })
      const world = await stubGate({ facilitators: busy }, ledger)
      const { header } = paymentFor(await priced(world), world.chain)
      const decision = await world.gate.decide(ask('/a', header))
      const result = busyIn === 'verify' ? decision : await admitted(decision).settle(answer)
      assert.ok('response' in result)
      const { status, headers } = result.response
      assert.deepEqual([status, headers.get('Retry-After')], [503, '5'], `${busyIn} ${isTrusted}`)
      assert.equal(headers.has('PAYMENT-REQUIRED'), false)
      isBusy = false
      const again = await world.gate.decide(ask('/a', header))
      if (busyIn === 'settle') assert.equal(await responseOf(again).text(), 'goods')
      else assert.ok('headers' in (await admitted(again).settle(answer)))
    }
  }
})

test('serves a pending payment later, although a facilitator would report it as used', async () => {
  const ledger = newLedger()
  let isValid = true
  const forgetful = stubFacilitator(ledger, {
    isTrusted: false,
    verify: async () => ({ isValid, invalidReason: 'already in ledger' }),
    settle: async () => {
      throw new Error('lost')
    },
  })
  const world = await stubGate({ facilitators: forgetful }, ledger)
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  const lost = await admitted(await world.gate.decide(ask('/a', header))).settle(answer)
  assert.ok('response' in lost && lost.response.status === 503)
  ledger.transactions.set(transactionId, { type: 'confirmed', round: 1_001n })
  isValid = false
  const served = responseOf(await world.gate.decide(ask('/a', header)))
  assert.deepEqual([served.status, await served.text()], [200, 'goods'])
  assert.equal(responseOf(await world.gate.decide(ask('/a', header))).status, 402)
})

test('refuses a payment that was settled elsewhere', async () => {
  const world = await stubGate()
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  for (const state of [{ type: 'confirmed', round: 1_000n }, { type: 'pending' }] as const) {
    world.ledger.transactions.set(transactionId, state)
    assert.equal(requiredIn(responseOf(await world.gate.decide(ask('/a', header)))).error, 'payment_already_used')
  }
})

test('does not settle for a handler that took too long', async (t) => {
  const world = await stubGate()
  const { header } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  const later = performance.now() + 400_000
  t.mock.method(performance, 'now', () => later)
  const result = await admission.settle(answer)
  assert.ok('response' in result && result.response.status === 504)
  assert.equal(world.ledger.transactions.size, 0)
})

test('cancels a handler that never ends after the client has left, when its time is up', async (t) => {
  const world = await stubGate()
  const { header } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const over = admission.disconnected()
  t.mock.timers.tick(300_000)
  assert.equal(responseOf(await world.gate.decide(ask('/a', header))).status, 503)
  t.mock.timers.tick(60_001)
  await over
  const late = await admission.settle(answer)
  assert.ok('response' in late && late.response.status === 504)
  assert.equal(world.ledger.transactions.size, 0)
  admitted(await world.gate.decide(ask('/a', header)))
})

test('reports a lost response to the next request if an unsafe handler never ends after the client has left', async (t) => {
  const world = await stubGate({ routes: { 'POST /a': { accepts: price } } })
  const post = (header?: string): Request => ask('/a', header, { method: 'POST' })
  const required = requiredIn(responseOf(await world.gate.decide(post())))
  assert.equal(required.accepts[0]!.extra['paymentFlow'], 'upfront')
  const { header, transactionId } = paymentFor(required, world.chain)
  const admission = admitted(await world.gate.decide(post(header)))
  assert.equal(admission.settled?.transaction, transactionId)
  assert.equal(admission.isStreamed, false)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const over = admission.disconnected()
  t.mock.timers.tick(360_001)
  await over
  const lost = responseOf(await world.gate.decide(post(header)))
  assert.equal(lost.status, 500)
  assert.equal(((await lost.json()) as { error: string }).error, 'response_lost')
  assert.ok(lost.headers.has('PAYMENT-RESPONSE'))
})

test('reports a lost response if an unsafe Hono handler never responds', async (t) => {
  const world = await stubGate({ routes: { 'POST /a': { accepts: price } } })
  const post = (header?: string, signal?: AbortSignal): Request =>
    ask('/a', header, { method: 'POST', ...(signal === undefined ? {} : { signal }) })
  const { header } = paymentFor(requiredIn(responseOf(await world.gate.decide(post()))), world.chain)
  const left = new AbortController()
  const context = { req: { raw: post(header, left.signal), path: '/a' }, res: new Response() }
  let isRunning = false
  void hono.paymentGate(world.gate)(context, () => {
    isRunning = true
    return new Promise(() => {})
  })
  while (!isRunning) await new Promise(setImmediate)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  left.abort()
  t.mock.timers.tick(360_001)
  t.mock.timers.reset()
  await new Promise(setImmediate)
  const lost = responseOf(await world.gate.decide(post(header)))
  assert.equal(((await lost.json()) as { error: string }).error, 'response_lost')
})

test('disconnected resolves when the handler ends', async () => {
  const world = await stubGate()
  const { header } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  const over = admission.disconnected()
  await admission.settle(answer)
  await over
  await admission.undelivered()
  const held = responseOf(await world.gate.decide(ask('/a', header)))
  assert.deepEqual([held.status, await held.text()], [200, 'goods'])
})

test('unsafe methods settle first, unless the seller sets another flow', async () => {
  const routes = {
    '/a': { accepts: price },
    '/b': { accepts: { ...price, paymentFlow: 'authorization' } },
    '/c': { accepts: { ...price, paymentFlow: 'upfront' } },
    '/d': { accepts: price, settleFirstAbove: '$0.01' },
    '/e': { accepts: { ...price, paymentFlow: 'authorization' }, settleFirstAbove: '$0.0099' },
  } as const
  const world = await stubGate({ routes })
  const flowOf = async (method: string, path: string): Promise<string> => {
    const response = responseOf(await world.gate.decide(ask(path, undefined, { method })))
    const { header } = paymentFor(requiredIn(response), world.chain)
    const { settled, isStreamed } = admitted(await world.gate.decide(ask(path, header, { method })))
    return `${settled === undefined ? 'after' : 'first'}${isStreamed ? ' streamed' : ''}`
  }
  const flows = ['GET /a', 'HEAD /a', 'POST /a', 'DELETE /a', 'PUT /b', 'GET /c', 'POST /c', 'GET /d', 'GET /e']
  const found = await Promise.all(flows.map((one) => flowOf(...(one.split(' ') as [string, string]))))
  const expected = ['after', 'after', 'first', 'first', 'after', 'first streamed', 'first streamed', 'after', 'first']
  assert.deepEqual(found, expected)
  const bad = { 'GET /a': { accepts: price, settleFirstAbove: 'much' } } as const
  await assert.rejects(stubGate({ routes: bad }), /GET \/a: /)
})

test('settles a GET first if a program behind the gate may treat it as a POST', async () => {
  const world = await stubGate({ routes: { '/a': { accepts: price } } })
  const flowOf = async (path: string, headers: { [name: string]: string }): Promise<unknown> => {
    const required = requiredIn(responseOf(await world.gate.decide(ask(path, undefined, { headers }))))
    return required.accepts[0]!.extra['paymentFlow']
  }
  assert.equal(await flowOf('/a', {}), undefined)
  assert.equal(await flowOf('/a', { 'X-HTTP-Method-Override': 'get' }), undefined)
  assert.equal(await flowOf('/a', { 'X-HTTP-Method-Override': 'POST' }), 'upfront')
  assert.equal(await flowOf('/a?_method=delete', {}), 'upfront')
})

test('accepts a claimed payment for its resource although the price has changed', async () => {
  const ledger = newLedger()
  let isLost = true
  const facilitators = stubFacilitator(ledger, {
    settle: async (payload, requirements) => {
      const settled = await stubFacilitator(ledger).settle(payload, requirements)
      if (isLost) throw new Error('lost')
      return settled
    },
  })
  const claims = new MemoryClaims()
  const before = await stubGate({ claims, facilitators }, ledger)
  const { header } = paymentFor(await priced(before), before.chain)
  await admitted(await before.gate.decide(ask('/a', header))).settle(answer)
  isLost = false
  const routes = { 'GET /a': { accepts: { ...price, price: '$0.02' } } } as const
  const dearer = await stubGate({ claims, facilitators, routes }, ledger)
  const other = paymentFor(await priced(before), before.chain)
  const refused = requiredIn(responseOf(await dearer.gate.decide(ask('/a', other.header))))
  assert.equal(refused.error, 'No matching payment requirements')
  const held = responseOf(await dearer.gate.decide(ask('/a', header)))
  assert.deepEqual([held.status, await held.text()], [200, 'goods'])
})

test('a payment settled for a failed request opens none with other headers of `varyBy`', async () => {
  const ledger = newLedger()
  const dear = { 'X-Quality': 'best' }
  const accepts = {
    ...price,
    price: ({ headers }: Request) => (headers.get('X-Quality') === 'best' ? '$0.05' : '$0.01'),
  }
  const routes = { 'POST /a': { accepts, varyBy: ['X-Quality'] } } as const
  const world = await stubGate({ routes, facilitators: stubFacilitator(ledger) }, ledger)
  const post = (payment?: string, headers = {}) =>
    world.gate.decide(ask('/a', payment, { method: 'POST', headers: { ...headers } }))
  const { header } = paymentFor(requiredIn(responseOf(await post())), world.chain)
  await admitted(await post(header)).cancel()
  const refused = requiredIn(responseOf(await post(header, dear)))
  assert.deepEqual([refused.error, refused.accepts[0]!.amount], ['payment_already_used', '50000'])
  assert.ok(admitted(await post(header)).settled)
})

test('refuses a malformed secret, and sends no secret to a facilitator', async () => {
  const ledger = newLedger()
  const seen: unknown[] = []
  const facilitators = stubFacilitator(ledger, {
    verify: async (payload, _, options) => {
      seen.push(payload.extensions, options?.claimant)
      return { isValid: true }
    },
  })
  const world = await stubGate({ facilitators }, ledger)
  const required = await priced(world)
  const { payload } = paymentFor(required, world.chain)
  const { secret, hash } = PaymentSecret.create()
  const declared = { ...payload, extensions: required.extensions! }
  const bad = PaymentSecret.add(declared, 'x')
  const refused = requiredIn(responseOf(await world.gate.decide(ask('/a', PaymentHeaders.encode(bad)))))
  assert.equal(refused.error, 'invalid_payload')
  const shown = PaymentSecret.reveal(declared, secret)
  admitted(await world.gate.decide(ask('/a', PaymentHeaders.encode(shown))))
  assert.deepEqual(seen[0], PaymentSecret.add(declared, hash).extensions)
  assert.match(String(seen[1]), /^[A-Za-z0-9_-]{43}$/)
})

test('A9 a payment for a cheap route opens no expensive one while its claim is cancelled', async () => {
  const claims = new MemoryClaims()
  const routes = { 'GET /a': { accepts: price }, 'GET /dear': { accepts: { ...price, price: '$100' } } } as const
  const world = await stubGate({ claims, routes })
  const { payload } = paymentFor(await priced(world), world.chain)
  const { resource: _, ...anywhere } = payload
  const header = PaymentHeaders.encode(anywhere as typeof payload)
  const cheap = admitted(await world.gate.decide(ask('/a', header)))
  const has = claims.has.bind(claims)
  let isFirst = true
  claims.has = (id) => {
    const isKnown = has(id)
    if (isFirst) void cheap.cancel()
    isFirst = false
    return isKnown
  }
  assert.equal(responseOf(await world.gate.decide(ask('/dear', header))).status, 503)
  assert.equal(responseOf(await world.gate.decide(ask('/dear', header))).status, 402)
  assert.deepEqual([world.ledger.transactions.size, claims.size], [0, 0])
})

async function paidPost(claims = new MemoryClaims()) {
  const { gate, chain } = await stubGate({ claims, routes: { 'POST /a': { accepts: price } } })
  const post = (header?: string) => gate.decide(ask('/a', header, { method: 'POST' }))
  const { header } = paymentFor(requiredIn(responseOf(await post())), chain)
  return { claims, post: () => post(header) }
}

test('A9 does not run a POST twice if its handler outlasts its claim', async (t) => {
  const { post } = await paidPost()
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  const [startMs, startDate] = [performance.now(), Date.now()]
  t.mock.method(performance, 'now', () => startMs + Date.now() - startDate)
  const slow = admitted(await post())
  for (let seconds = 0; seconds < 700; seconds += 10) {
    t.mock.timers.tick(10_000)
    await new Promise(setImmediate)
  }
  const lost = responseOf(await post())
  assert.equal(((await lost.json()) as { error: string }).error, 'response_lost')
  const late = await slow.settle(answer)
  assert.ok('response' in late && late.response.status === 503, 'another request was answered')
})

test('A9 does not run a POST twice if its answer could not be stored', async (t) => {
  const { claims, post } = await paidPost()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const admission = admitted(await post())
  let tries = 0
  claims.hold = () => {
    tries++
    throw new Error('the disk is full')
  }
  assert.ok('headers' in (await admission.settle(answer)))
  await admission.undelivered()
  assert.equal(responseOf(await post()).status, 503)
  // The claim lasts for minutes. The answer is dropped before the claim ends.
  const start = performance.now()
  t.mock.method(performance, 'now', () => start + 3_600_000)
  while ((responseOf(await post()).status as number) === 503) t.mock.timers.tick(60_000)
  assert.equal(responseOf(await post()).status, 402)
  assert.equal(tries, 1)
})

test('answers a POST whose answer could not be stored and whose buyer has left, when the store works again', async (t) => {
  const { claims, post } = await paidPost()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const admission = admitted(await post())
  const { hold } = claims
  claims.hold = () => {
    throw new Error('the database is away')
  }
  assert.ok('headers' in (await admission.settle(answer)))
  await admission.undelivered()
  t.mock.timers.tick(1_000)
  const pending = responseOf(await post())
  assert.equal(((await pending.json()) as { error: string }).error, 'settlement_pending')
  claims.hold = hold
  t.mock.timers.tick(2_000)
  await new Promise((resolve) => setImmediate(resolve))
  const answered = responseOf(await post())
  assert.deepEqual([answered.status, await answered.text()], [200, 'goods'])
})
