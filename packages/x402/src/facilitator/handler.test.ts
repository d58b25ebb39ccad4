import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { buyer, sponsored } from '../../../x402-wire/dist/payments.test.helper.js'
import type { FacilitatorOptions } from './FacilitatorOptions.js'
import { createFacilitatorHandler, type FacilitatorHandlerOptions } from './handler.js'
import { setUp } from './setup.test.helper.js'

type Options = { facilitator?: Partial<FacilitatorOptions>; handler?: Partial<FacilitatorHandlerOptions> }

async function open(t: TestContext, options: Options = {}) {
  const { facilitator, node } = await setUp(t, options.facilitator)
  const errors: unknown[] = []
  const handler = createFacilitatorHandler({
    facilitator,
    onError: (error) => errors.push(error),
    ...options.handler,
  })
  const send = async (method: string, path: string, body?: unknown, headers: { [name: string]: string } = {}) => {
    const text = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const all = { 'content-type': 'application/json', ...headers }
    const response = await handler(new Request(`http://facilitator.example${path}`, { method, headers: all, ...text }))
    const sent = await response.text()
    return {
      response,
      status: response.status,
      text: sent,
      json: () => JSON.parse(sent) as { [name: string]: unknown },
    }
  }
  return { facilitator, node, errors, handler, send }
}

const bodyOf = (made = sponsored()) => ({
  x402Version: 2,
  paymentPayload: made.payload,
  paymentRequirements: made.requirements,
})

function streamed(body: ReadableStream<Uint8Array>, headers: Record<string, string> = {}): Request {
  const all = { 'content-type': 'application/json', ...headers }
  const init = { method: 'POST', headers: all, body, duplex: 'half' } as RequestInit
  return new Request('http://facilitator.example/settle', init)
}

test('verify and settle respond with 200, even for refusals', async (t) => {
  const { send } = await open(t)
  const made = sponsored()
  const verified = await send('POST', '/verify', bodyOf(made))
  assert.deepEqual([verified.status, verified.json()], [200, { isValid: true, payer: buyer.address }])
  const settled = await send('POST', '/settle/', bodyOf(made))
  assert.deepEqual([settled.status, settled.json()['success'], settled.json()['transaction']], [200, true, made.id])
  const wrong = { ...bodyOf(made), paymentRequirements: { ...made.requirements, amount: '7' } }
  const refused = await send('POST', '/verify?x=1', wrong)
  assert.deepEqual([refused.status, refused.json()['invalidReason']], [200, 'invalid_exact_avm_amount_mismatch'])
  const unsettled = await send('POST', '/settle', wrong)
  assert.deepEqual([unsettled.status, unsettled.json()['errorReason']], [200, 'invalid_exact_avm_amount_mismatch'])
})

test('refuses an unsupported version with its own code', async (t) => {
  const { send } = await open(t)
  for (const x402Version of [1, 3, '2', null]) {
    const body = { ...bodyOf(), paymentPayload: { x402Version, payload: {} } }
    const { status, json } = await send('POST', '/verify', body)
    assert.deepEqual([status, json()['invalidReason']], [200, 'invalid_exact_avm_invalid_version'])
  }
})

for (const body of ['', '{', 'null', '5', '[]', '{}', '{"paymentPayload":{}}', '\u0000']) {
  test(`responds with 400 to the body ${JSON.stringify(body)}`, async (t) => {
    const { send, node } = await open(t)
    const { status, json } = await send('POST', '/settle', body)
    assert.equal(status, 400)
    assert.equal(typeof json()['error'], 'string')
    assert.deepEqual(node.requests, [])
  })
}

test('responds with 400 to a request without a body', async (t) => {
  const { send } = await open(t)
  assert.equal((await send('POST', '/verify')).status, 400)
})

test('responds with 400 to a body that does not match the schema', async (t) => {
  const { send } = await open(t)
  for (const change of [
    { paymentPayload: { x402Version: 2 } },
    { paymentRequirements: {} },
    { paymentRequirements: 5 },
  ]) {
    assert.equal((await send('POST', '/verify', { ...bodyOf(), ...change })).status, 400)
  }
})

test('responds with 400 to a member called __proto__', async (t) => {
  const { send } = await open(t)
  const text = JSON.stringify(bodyOf()).replace('"extra":{', '"extra":{"__proto__":{"feePayer":"me"},')
  assert.match(text, /__proto__/)
  assert.equal((await send('POST', '/verify', text)).status, 400)
})

test('responds with 404 to other paths, and with 405 and Allow to other methods', async (t) => {
  const { send } = await open(t)
  for (const path of ['/', '', '/verify/x', '//verify', '/__proto__', '/constructor', '/VERIFY']) {
    assert.equal((await send('POST', path, bodyOf())).status, 404, path)
  }
  for (const [method, path, allowed] of [
    ['GET', '/verify', 'POST'],
    ['POST', '/supported', 'GET'],
    ['constructor', '/settle', 'POST'],
  ] as const) {
    const { status, response } = await send(method, path)
    assert.deepEqual([status, response.headers.get('Allow')], [405, allowed])
  }
})

test('responds with 401 to a caller without a key before the body is read', async (t) => {
  const { handler, send } = await open(t, { facilitator: { policy: { apiKeys: ['key'] } } })
  let isRead = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull: () => {
        isRead = true
      },
    },
    { highWaterMark: 0 },
  )
  assert.deepEqual([(await handler(streamed(body))).status, isRead], [401, false])
  for (const headers of [{ authorization: 'Bearer key' }, { 'x-api-key': 'key' }] as { [name: string]: string }[]) {
    assert.equal((await send('POST', '/verify', bodyOf(), headers)).json()['isValid'], true)
  }
  assert.equal((await send('GET', '/supported')).status, 200)
})

test('responds with 413 to a body above the limit, announced or not', async (t) => {
  const { handler, send } = await open(t, { handler: { maxBodyBytes: 10_000 } })
  const long = 'x'.repeat(10_001)
  assert.equal((await send('POST', '/settle', long)).status, 413)
  assert.equal((await send('POST', '/settle', '{}', { 'content-length': '10001' })).status, 413)
  let isCancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(4_000)),
    cancel: () => {
      isCancelled = true
    },
  })
  assert.equal((await handler(streamed(endless))).status, 413)
  assert.equal(isCancelled, true)
  let sent = 0
  const longer = new ReadableStream<Uint8Array>({
    pull: (controller) => (sent++ < 1_000 ? controller.enqueue(new Uint8Array(4_000)) : controller.close()),
  })
  assert.equal((await handler(streamed(longer, { 'content-length': '5' }))).status, 413, 'more than it announced')
  assert.ok(sent < 10, `${sent} chunks were read`)
  assert.equal((await send('POST', '/verify', bodyOf())).status, 200)
})

test('responds with 408 to a body that does not arrive in time, and stops reading', async (t) => {
  const { handler } = await open(t, { handler: { bodyTimeoutMs: 20 } })
  for (const headers of [{}, { 'content-length': '5' }]) {
    let isCancelled = false
    const cancel = (): void => {
      isCancelled = true
    }
    assert.equal((await handler(streamed(new ReadableStream({ cancel }), headers))).status, 408)
    assert.equal(isCancelled, true)
  }
})

test('reads a body through the host if the host supports it, within the limits', async (t) => {
  const { handler } = await open(t, { handler: { bodyTimeoutMs: 20, maxBodyBytes: 10_000 } })
  const bytes = new TextEncoder().encode(JSON.stringify(bodyOf()))
  const failing = (status?: number) => () => Promise.reject(Object.assign(new Error('no'), { status }))
  const cases: [(limit: number) => Uint8Array | Promise<Uint8Array>, number][] = [
    [() => bytes, 200],
    [async () => bytes, 200],
    [() => new Promise<never>(() => {}), 408],
    [failing(413), 413],
    [failing(408), 408],
    [failing(503), 503],
    [failing(), 400],
    [failing(200), 400],
  ]
  for (const [read, expected] of cases) {
    let limits: number[] = []
    const readBody = (limit: number): Uint8Array | Promise<Uint8Array> => {
      limits = [limit]
      return read(limit)
    }
    assert.equal((await handler(streamed(new ReadableStream()), { readBody })).status, expected, read.toString())
    assert.deepEqual(limits, [10_000])
  }
})

test('responds with 400 to a body that fails, or with the status of the host that refused it', async (t) => {
  const { handler, errors } = await open(t)
  for (const [status, expected] of [
    [undefined, 400],
    [408, 408],
    [413, 413],
    [503, 503],
    [200, 400],
  ]) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.error(Object.assign(new Error('no'), { status })),
    })
    assert.equal((await handler(streamed(body))).status, expected)
  }
  assert.deepEqual(errors, [])
})

test('responds with 500 without details to an unexpected error', async (t) => {
  const { facilitator, send, errors } = await open(t)
  facilitator.settle = () => Promise.reject(new Error('/home/operator/secret'))
  const { status, text } = await send('POST', '/settle', bodyOf())
  assert.deepEqual([status, text.includes('secret'), errors.length], [500, false, 1])
})

test('health is 200, or 503 with the reason; metrics are in the Prometheus format', async (t) => {
  const { send } = await open(t)
  const healthy = (await send('GET', '/health')).json()
  assert.equal(healthy['status'], 'ok')
  const [network] = healthy['networks'] as { [name: string]: unknown }[]
  assert.deepEqual([network!['name'], typeof network!['lastRound']], ['TestNet', 'number'])
  assert.match(String(network!['feeBalance']), / ALGO$/)
  const unhealthy = await open(t)
  unhealthy.node.on('GET account', () => ({ status: 200, body: { amount: 0, 'min-balance': 100_000 } }))
  const { status, json } = await unhealthy.send('GET', '/health')
  assert.deepEqual([status, json()['status']], [503, 'unhealthy'])
  assert.match(String(json()['reason']), /the fee account/)
  const metrics = await send('GET', '/metrics')
  assert.match(metrics.response.headers.get('Content-Type')!, /^text\/plain/)
  assert.match(metrics.text, /# TYPE latchkey_facilitator_settle_total counter/)
  assert.match(metrics.text, /^latchkey_facilitator_healthy 1$/m)
})
