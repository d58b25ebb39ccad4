import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { BodyError, type RawRequest, type RawResponse, Server } from '@latchkey/http'
import { buyer, sponsored } from '../exact/payments.test.helper.js'
import type { FacilitatorOptions } from './Facilitator.js'
import * as App from './handler.js'
import { codes } from './PaymentError.js'
import { setUp } from './setup.test.helper.js'

async function open(t: TestContext, options: Partial<FacilitatorOptions> = {}) {
  const { facilitator, node } = await setUp(t, options)
  const errors: unknown[] = []
  const handle = App.create({ facilitator, onError: (error) => errors.push(error) })
  const ask = async (method: string, target: string, body: unknown = '', headers: { [name: string]: string } = {}) => {
    const request: RawRequest = {
      method,
      target,
      header: (name) => headers[name],
      body: () => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    }
    const { status, headers: sent, body: text } = (await handle(request)) as RawResponse
    return {
      status,
      headers: sent,
      text: String(text),
      json: () => JSON.parse(String(text)) as { [name: string]: unknown },
    }
  }
  return { facilitator, node, errors, handle, ask }
}

const asked = (made = sponsored()) => ({
  x402Version: 2,
  paymentPayload: made.payload,
  paymentRequirements: made.requirements,
})

test('verifying and settling are 200, whatever comes of it', async (t) => {
  const { ask } = await open(t)
  const made = sponsored()
  const verified = await ask('POST', '/verify', asked(made))
  assert.deepEqual([verified.status, verified.json()], [200, { isValid: true, payer: buyer.address }])
  const settled = await ask('POST', '/settle/', asked(made))
  assert.deepEqual([settled.status, settled.json()['success'], settled.json()['transaction']], [200, true, made.id])
  const wrong = { ...asked(made), paymentRequirements: { ...made.requirements, amount: '7' } }
  const refused = await ask('POST', '/verify?x=1', wrong)
  assert.deepEqual([refused.status, refused.json()['invalidReason']], [200, codes.amount])
  const unsettled = await ask('POST', '/settle', wrong)
  assert.deepEqual([unsettled.status, unsettled.json()['errorReason']], [200, codes.amount])
})

test('a version that is not spoken here is refused by its code', async (t) => {
  const { ask } = await open(t)
  for (const x402Version of [1, 3, '2', null]) {
    const body = { ...asked(), paymentPayload: { x402Version, payload: {} } }
    const { status, json } = await ask('POST', '/verify', body)
    assert.deepEqual([status, json()['invalidReason']], [200, codes.version])
  }
})

for (const body of ['', '{', 'null', '5', '[]', '{}', '{"paymentPayload":{}}', '\u0000']) {
  test(`${JSON.stringify(body)} is 400`, async (t) => {
    const { ask, node } = await open(t)
    const { status, json } = await ask('POST', '/settle', body)
    assert.equal(status, 400)
    assert.equal(typeof json()['error'], 'string')
    assert.deepEqual(node.requests, [])
  })
}

test('what has not the form of the protocol is 400', async (t) => {
  const { ask } = await open(t)
  for (const change of [
    { paymentPayload: { x402Version: 2 } },
    { paymentRequirements: {} },
    { paymentRequirements: 5 },
  ]) {
    assert.equal((await ask('POST', '/verify', { ...asked(), ...change })).status, 400)
  }
})

test('a name that changes what objects inherit is refused', async (t) => {
  const { handle } = await open(t)
  const text = JSON.stringify(asked()).replace('"extra":{', '"extra":{"__proto__":{"feePayer":"me"},')
  assert.match(text, /__proto__/)
  const body = () => Buffer.from(text)
  const answer = (await handle({ method: 'POST', target: '/verify', header: () => undefined, body })) as RawResponse
  assert.equal(answer.status, 400)
})

test('other paths are 404, other methods 405 and told which', async (t) => {
  const { ask } = await open(t)
  for (const path of ['/', '', '/verify/x', '//verify', '/__proto__', '/constructor', '/VERIFY']) {
    assert.equal((await ask('POST', path, asked())).status, 404, path)
  }
  for (const [method, path, allowed] of [
    ['GET', '/verify', 'POST'],
    ['POST', '/supported', 'GET'],
    ['constructor', '/settle', 'POST'],
  ]) {
    const { status, headers } = await ask(method!, path!)
    assert.deepEqual([status, headers.at(-2), headers.at(-1)], [405, 'Allow', allowed])
  }
})

test('strangers are 401 before their body is read', async (t) => {
  const { handle, ask } = await open(t, { policy: { apiKeys: ['key'] } })
  let isRead = false
  const body = (): Buffer => {
    isRead = true
    return Buffer.alloc(0)
  }
  const answer = (await handle({ method: 'POST', target: '/settle', header: () => undefined, body })) as RawResponse
  assert.deepEqual([answer.status, isRead], [401, false])
  for (const headers of [{ authorization: 'Bearer key' }, { 'x-api-key': 'key' }] as { [name: string]: string }[]) {
    assert.equal((await ask('POST', '/verify', asked(), headers)).json()['isValid'], true)
  }
  assert.equal((await ask('GET', '/supported')).status, 200)
})

test('a body that is too large, broken or slow has a status of its own', async (t) => {
  const { handle } = await open(t)
  for (const [reason, status] of [
    ['body_too_large', 413],
    ['body_malformed', 400],
    ['body_timeout', 408],
  ] as const) {
    const body = () => Promise.reject(new BodyError(reason, 'no'))
    const answer = (await handle({ method: 'POST', target: '/settle', header: () => undefined, body })) as RawResponse
    assert.equal(answer.status, status)
  }
})

test('a fault of ours is 500 and says nothing', async (t) => {
  const { handle, errors } = await open(t)
  const body = () => Promise.reject(new Error('/home/operator/secret'))
  const answer = (await handle({ method: 'POST', target: '/settle', header: () => undefined, body })) as RawResponse
  assert.deepEqual([answer.status, String(answer.body).includes('secret'), errors.length], [500, false, 1])
})

test('health is 200 or 503 with the reason; metrics are text', async (t) => {
  const { ask } = await open(t)
  assert.deepEqual((await ask('GET', '/health')).json(), { status: 'ok' })
  const ill = await open(t)
  ill.node.on('GET account', () => ({ status: 200, body: { amount: 0, 'min-balance': 100_000 } }))
  const { status, json } = await ill.ask('GET', '/health')
  assert.deepEqual([status, json()['status']], [503, 'unhealthy'])
  assert.match(String(json()['reason']), /the fee account/)
  const metrics = await ask('GET', '/metrics')
  assert.deepEqual(metrics.headers, ['Content-Type', 'text/plain'])
  assert.match(metrics.text, /# TYPE latchkey_facilitator_settle_total counter/)
})

test('over a socket, a body above the limit is 413', async (t) => {
  const { facilitator } = await setUp(t)
  const server = new Server({ handle: App.create({ facilitator }), limits: { bodyBytes: 10_000 } })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  const send = (body: string) => fetch(`http://127.0.0.1:${port}/verify`, { method: 'POST', body })
  assert.equal((await send('x'.repeat(10_001))).status, 413)
  assert.equal((await send(JSON.stringify(asked()))).status, 200)
})
