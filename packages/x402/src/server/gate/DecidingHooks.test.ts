/** The hooks of a gate that decide: free access, refusals, and hooks that fail. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { Hono } from 'hono'
import { paymentGate as honoGate } from '../adapters/hono.js'
import { paymentGate as nodeGate } from '../adapters/node.js'
import { paymentGate as webGate } from '../adapters/web.js'
import type { FacilitatorClient } from '../exchange/FacilitatorClient.js'
import { paymentOf } from '../exchange/Payment.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  priced,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'
import type { CanceledContext, DecidingHooks } from './DecidingHooks.js'
import type { GateOptions } from './GateOptions.js'

/** A gate with hooks, and one without that shares its claims and ledger. */
async function hookedGate(hooks: DecidingHooks, options: Partial<GateOptions> = {}) {
  const ledger = newLedger()
  const calls: string[] = []
  const stub = stubFacilitator(ledger)
  const facilitators: FacilitatorClient = {
    ...stub,
    verify: async (...parts) => {
      calls.push('verify')
      return stub.verify(...parts)
    },
    settle: async (...parts) => {
      calls.push('settle')
      return stub.settle(...parts)
    },
  }
  const errors: { code?: string; message: string }[] = []
  const onError = (error: unknown): void => void errors.push(error as Error)
  const world = await stubGate({ facilitators, onError, hookTimeoutMs: 50, ...hooks, ...options }, ledger)
  const plain = await stubGate({ ...options, facilitators }, ledger)
  const required = await priced(plain)
  return { ...world, calls, errors, required, ...paymentFor(required, world.chain) }
}

test('a hook grants free access, and a payment beside it is not charged', async () => {
  const world = await hookedGate({
    onProtectedRequest: ({ adapter }) =>
      adapter.getHeader('X-API-Key') === 'known' ? { grantAccess: true } : undefined,
  })
  for (const payment of [undefined, world.header]) {
    const request = ask('/a', payment, { headers: { 'X-API-Key': 'known' } })
    const decision = await world.gate.decide(request)
    assert.deepEqual(decision, { type: 'free', granted: [['Cache-Control', 'private']] })
    assert.equal(paymentOf(request), undefined)
  }
  assert.deepEqual(world.calls, [])
  assert.equal(responseOf(await world.gate.decide(ask('/a'))).status, 402)
  await admitted(await world.gate.decide(ask('/a', world.header))).settle(answer)
  assert.deepEqual(world.calls, ['verify', 'settle'])
})

test('the first hook of a list that decides is the last to be called', async () => {
  const called: number[] = []
  const hook = (index: number, result: unknown) => () => {
    called.push(index)
    return result as undefined
  }
  const results = [undefined, null, false, { abort: true, reason: 'blocked' }, { grantAccess: true }]
  const world = await hookedGate({ onProtectedRequest: results.map((result, index) => hook(index, result)) })
  const response = responseOf(await world.gate.decide(ask('/a')))
  assert.equal(response.status, 403)
  assert.deepEqual(await response.json(), { error: 'blocked' })
  assert.deepEqual(called, [0, 1, 2, 3])
})

test('a reason is limited in length', async () => {
  const long = 'x'.repeat(10_000)
  const world = await hookedGate({ onProtectedRequest: () => ({ abort: true, reason: long, message: long }) })
  const { error, message } = (await responseOf(await world.gate.decide(ask('/a'))).json()) as {
    error: string
    message: string
  }
  assert.deepEqual([error.length, message.length], [100, 500])
})

test('a request that matches no paid route, or has an ambiguous path, is not shown to hooks', async () => {
  let calls = 0
  const world = await hookedGate({
    onProtectedRequest: () => {
      calls++
      return { grantAccess: true }
    },
  })
  assert.deepEqual(await world.gate.decide(ask('/b')), { type: 'free', isUnlisted: true })
  assert.equal(responseOf(await world.gate.decide(ask('/a', undefined, { method: 'POST' }))).status, 405)
  assert.equal(calls, 0)
})

const junk: unknown[] = [
  true,
  1,
  'grantAccess',
  {},
  [],
  [{ grantAccess: true }],
  { grantAccess: 'true' },
  { grantAccess: 1 },
  { grantAccess: false },
  { grantAccess: true, abort: true, reason: 'both' },
  { abort: true },
  { abort: true, reason: 1 },
  { abort: 'yes', reason: 'no' },
  { skip: true, result: { isValid: true } },
  { skip: true, result: { success: true, transaction: 'T' } },
  { recovered: true, result: { isValid: true } },
  { skipHandler: true },
  () => ({ grantAccess: true }),
]
const failing: { readonly [name: string]: () => unknown } = {
  throws: () => {
    throw new Error('away')
  },
  rejects: () => Promise.reject(new Error('away')),
  hangs: () => new Promise(() => {}),
  ...Object.fromEntries(junk.map((value) => [`returns ${JSON.stringify(value) ?? 'a function'}`, () => value])),
}

for (const name of ['onProtectedRequest', 'onBeforeVerify', 'onAfterVerify', 'onBeforeSettle'] as const) {
  test(`an ${name} that throws, hangs or returns junk opens nothing`, async () => {
    for (const [how, hook] of Object.entries(failing)) {
      let isFailing = true
      const hooks = { [name]: () => (isFailing ? hook() : undefined) } as DecidingHooks
      const world = await hookedGate(hooks)
      if (name === 'onProtectedRequest') {
        assert.equal(responseOf(await world.gate.decide(ask('/a'))).status, 503, how)
      }
      const decision = await world.gate.decide(ask('/a', world.header))
      const result = decision.type === 'paid' ? await decision.admission.settle(answer) : decision
      assert.ok('response' in result, how)
      assert.equal(result.response.status, 503, how)
      assert.ok(result.response.headers.has('Retry-After'))
      assert.equal(world.calls.includes('settle'), false, how)
      assert.equal(world.errors.at(-1)?.code, 'hook_decision_failed', how)
      // Nothing was used up: the same payment opens the request when the hook works again.
      isFailing = false
      const again = await world.gate.decide(ask('/a', world.header))
      if (again.type === 'paid') assert.ok('headers' in (await again.admission.settle(answer)), how)
      else assert.equal(responseOf(again).status, 200, how)
      assert.equal(world.calls.filter((call) => call === 'settle').length, 1, how)
    }
  })
}

for (const name of ['onBeforeVerify', 'onAfterVerify', 'onBeforeSettle'] as const) {
  test(`an ${name} that refuses charges nothing and uses nothing up`, async () => {
    let isRefusing = true
    const canceled: CanceledContext[] = []
    const world = await hookedGate({
      [name]: () => (isRefusing ? { abort: true, reason: 'blocked', message: 'not today' } : undefined),
      onVerifiedPaymentCanceled: (context) => void canceled.push(context),
    } as DecidingHooks)
    const decision = await world.gate.decide(ask('/a', world.header))
    const result = decision.type === 'paid' ? await decision.admission.settle(answer) : decision
    assert.ok('response' in result)
    assert.equal(result.response.status, 402)
    const body = (await result.response.json()) as { error: string; message: string }
    assert.deepEqual([body.error, body.message], ['blocked', 'not today'])
    assert.equal(world.calls.includes('settle'), false)
    assert.deepEqual(
      canceled.map(({ reason }) => reason),
      name === 'onAfterVerify' ? ['after_verify_aborted'] : [],
    )
    isRefusing = false
    await admitted(await world.gate.decide(ask('/a', world.header))).settle(answer)
    assert.equal(world.calls.at(-1), 'settle')
  })
}

test('hooks cannot change a payment, and no hook turns a failure into a success', async () => {
  const ledger = newLedger()
  const amounts: string[] = []
  const facilitators = stubFacilitator(ledger, {
    verify: async (_, { amount }) => {
      amounts.push(amount)
      return { isValid: false, invalidReason: 'insufficient_funds' }
    },
  })
  const recovered = () => ({ recovered: true, result: { isValid: true } })
  const world = await hookedGate(
    {
      onBeforeVerify: ({ requirements, paymentPayload }) => {
        assert.throws(() => {
          ;(requirements as { amount: string }).amount = '1'
        })
        assert.throws(() => {
          ;(paymentPayload.accepted as { amount: string }).amount = '1'
        })
        return undefined
      },
      onAfterVerify: ({ result }) => {
        assert.throws(() => {
          ;(result as { isValid: boolean }).isValid = true
        })
        return undefined
      },
      onVerifyFailure: recovered,
      onSettleFailure: recovered,
    },
    { facilitators },
  )
  assert.equal(responseOf(await world.gate.decide(ask('/a', world.header))).status, 402)
  assert.deepEqual(amounts, ['10000'])
})

test('onSettleFailure that returns a success is reported, and nothing is served', async () => {
  const ledger = newLedger()
  const facilitators = stubFacilitator(ledger, {
    settle: async (_, { network }) => ({ success: false, errorReason: 'bad', transaction: '', network }),
  })
  const world = await hookedGate(
    { onSettleFailure: () => ({ recovered: true, result: { success: true } }) },
    { facilitators },
  )
  const result = await admitted(await world.gate.decide(ask('/a', world.header))).settle(answer)
  assert.ok('response' in result)
  assert.equal(result.response.status, 402)
  assert.equal(world.errors.at(-1)?.code, 'hook_decision_failed')
})

test('a hook that fails after the settlement loses no answer', async () => {
  const world = await hookedGate({
    onAfterSettle: [
      () => {
        throw new Error('away')
      },
      () => new Promise(() => {}),
    ],
  })
  const result = await admitted(await world.gate.decide(ask('/a', world.header))).settle(answer)
  assert.ok('headers' in result)
  assert.equal(world.errors.length, 2)
})

test('hooks do not run again for an answer that is sent again', async () => {
  const called: string[] = []
  const note = (name: string) => () => void called.push(name)
  const world = await hookedGate({ onBeforeVerify: note('verify'), onBeforeSettle: note('settle') })
  const admission = admitted(await world.gate.decide(ask('/a', world.header)))
  await admission.settle(answer)
  await admission.undelivered()
  assert.equal(await responseOf(await world.gate.decide(ask('/a', world.header))).text(), 'goods')
  assert.deepEqual(called, ['verify', 'settle'])
})

test('a payment that is on its way to the ledger cannot be refused by a hook', async () => {
  let isRefusing = false
  const ledger = newLedger()
  const stub = stubFacilitator(ledger)
  let isSlow = true
  const facilitators = stubFacilitator(ledger, {
    settle: async (payload, requirements) => {
      if (!isSlow) return stub.settle(payload, requirements)
      const { transaction } = await stub.settle(payload, requirements)
      ledger.transactions.set(transaction, { type: 'pending' } as never)
      return { success: false, errorReason: 'settlement_pending', transaction, network: requirements.network }
    },
  })
  const onBeforeSettle = () => (isRefusing ? ({ abort: true, reason: 'blocked' } as const) : undefined)
  const world = await stubGate({ facilitators, onBeforeSettle }, ledger)
  const { gate } = world
  const { header } = paymentFor(await priced(world), world.chain)
  const first = await admitted(await gate.decide(ask('/a', header))).settle(answer)
  assert.ok('response' in first && first.response.status === 503)
  isRefusing = true
  isSlow = false
  assert.equal(await responseOf(await gate.decide(ask('/a', header))).text(), 'goods')
})

test('hooks that are not functions, and times without sense, are refused at start', async () => {
  for (const options of [
    { onProtectedRequest: 'yes' },
    { onBeforeVerify: [() => undefined, 1] },
    { hookTimeoutMs: 0 },
    { hookTimeoutMs: Number.NaN },
    { hookTimeoutMs: 3_600_000 },
  ]) {
    await assert.rejects(stubGate(options as never), { code: 'invalid_option' }, JSON.stringify(options))
  }
})

test('a granted response is private, with the headers of CORS, on Node, Hono and fetch handlers', async (t) => {
  const { gate } = await stubGate({
    cors: true,
    onProtectedRequest: ({ adapter }) =>
      adapter.getHeader('X-API-Key') === 'known' ? { grantAccess: true } : undefined,
  })
  let calls = 0
  const headers = { 'X-API-Key': 'known', Origin: 'https://page.example' }
  const server = createServer(
    nodeGate(gate, (_, response) => {
      calls++
      response.setHeader('Cache-Control', 'public, max-age=60')
      response.end('goods')
    }),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`
  const app = new Hono()
  app.use(honoGate(gate) as never)
  app.get('/a', (context) => {
    calls++
    context.header('Cache-Control', 'public, max-age=60')
    return context.text('goods')
  })
  const web = webGate(gate, () => {
    calls++
    return new Response('goods', { headers: { 'Cache-Control': 'public, max-age=60' } })
  })
  const request = ask('/a', undefined, { headers })
  for (const response of [await fetch(url, { headers }), await app.request('/a', { headers }), await web(request)]) {
    assert.equal(response.status, 200)
    assert.equal(await response.text(), 'goods')
    assert.equal(response.headers.get('Cache-Control'), 'private, max-age=60')
    assert.equal(response.headers.get('Access-Control-Allow-Origin'), '*')
    assert.equal(response.headers.get('PAYMENT-RESPONSE'), null)
  }
  assert.equal((await fetch(url)).status, 402)
  assert.equal((await app.request('/a')).status, 402)
  assert.equal((await web(ask('/a'))).status, 402)
  assert.equal(calls, 3)
})

test('a gate passed twice by one request asks its hooks once', async () => {
  let calls = 0
  const { gate } = await stubGate({
    onProtectedRequest: () => {
      calls++
      return { grantAccess: true }
    },
  })
  const app = new Hono()
  app.use(honoGate(gate) as never)
  app.use(honoGate(gate) as never)
  app.get('/a', (context) => context.text('goods'))
  assert.equal(await (await app.request('/a')).text(), 'goods')
  assert.equal(calls, 1)
})

test('a POST that settles first asks hooks before it is settled', async () => {
  const phases: string[] = []
  const { gate, chain } = await stubGate({
    routes: { 'POST /a': { accepts: { ...price, paymentFlow: 'upfront' } } },
    onBeforeSettle: ({ phase }) => {
      phases.push(phase)
      return { abort: true, reason: 'closed' }
    },
  })
  const unpaid = responseOf(await gate.decide(ask('/a', undefined, { method: 'POST' })))
  const required = JSON.parse(Buffer.from(unpaid.headers.get('PAYMENT-REQUIRED')!, 'base64').toString())
  const { header } = paymentFor(required, chain)
  assert.equal(responseOf(await gate.decide(ask('/a', header, { method: 'POST' }))).status, 402)
  assert.deepEqual(phases, ['before-handler'])
})
