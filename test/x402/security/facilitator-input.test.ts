/** Tests the HTTP input of the facilitator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { type Made, openMarket, possessions, sponsored } from './support/facilitator.test.helper.js'

const timeout = 60_000
const json = { 'content-type': 'application/json' }

function bodyOf({ payload: paymentPayload, requirements: paymentRequirements }: Made): string {
  return JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements })
}

test('M a page of another site cannot settle a payment', { timeout }, async (t) => {
  const market = await openMarket(t)
  const handler = createFacilitatorHandler({ facilitator: market.facilitator })
  const before = await possessions(market)
  const send = async (headers: { [name: string]: string }, body = bodyOf(sponsored(market))) =>
    (await handler(new Request('http://127.0.0.1:4022/settle', { method: 'POST', headers, body }))).status
  // Sent by a form or a plain fetch without a preflight.
  const simple = ['text/plain', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded', 'multipart/form-data']
  for (const type of simple) assert.equal(await send({ 'content-type': type }), 415, type)
  assert.equal(await send({ 'content-type': 'text/plain; application/json' }), 415)
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:4023' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    assert.equal(await send({ ...json, ...headers } as { [name: string]: string }), 403, JSON.stringify(headers))
  }
  assert.deepEqual(await possessions(market), before)
  // Sent by published sellers, in TypeScript and Python, and by ours.
  assert.equal(await send({ 'content-type': 'application/json' }), 200)
  assert.equal(await send({ 'content-type': 'application/json; charset=utf-8' }), 200)
})

test('M a member called __proto__ is found in any spelling', { timeout }, async (t) => {
  const market = await openMarket(t)
  const handler = createFacilitatorHandler({ facilitator: market.facilitator })
  const send = async (body: string) =>
    (await handler(new Request('http://f.example/verify', { method: 'POST', headers: json, body }))).status
  const good = bodyOf(sponsored(market))
  for (const name of [
    '__proto__',
    '\\u005f_proto__',
    '_\\u005Fproto__',
    '__\\u0070roto__',
    '__pr\\u006fto__',
    '__pro\\u0074o__',
    '__p\\u0072oto__',
  ]) {
    assert.equal(await send(good.replace('"extra":{', `"extra":{"${name}":{"feePayer":"me"},`)), 400, name)
    assert.equal(await send(good.replace('"extra":{', `"extra":{"list":[[{"${name}" : 1}]],`)), 400, `${name} deep`)
  }
  // As a value it does no harm.
  assert.equal(await send(good.replace('"extra":{', '"extra":{"name":"__proto__ and \\u005f",')), 200)
})

test('M a body is limited to the size that a payment needs', { timeout }, async (t) => {
  const market = await openMarket(t)
  const handler = createFacilitatorHandler({ facilitator: market.facilitator })
  const send = async (extra: object) => {
    const made = sponsored(market)
    const body = bodyOf({
      ...made,
      requirements: { ...made.requirements, extra: { ...made.requirements.extra, ...extra } },
    })
    return (await handler(new Request('http://f.example/verify', { method: 'POST', headers: json, body }))).status
  }
  assert.equal(await send({ text: 'x'.repeat(100_000) }), 200)
  assert.equal(await send({ text: 'x'.repeat(140_000) }), 413)
})

test('M a body of many members is parsed about as fast as with JSON.parse', { timeout }, async (t) => {
  const market = await openMarket(t)
  const handler = createFacilitatorHandler({ facilitator: market.facilitator, maxBodyBytes: 2_000_000 })
  const body = `{"paymentPayload":1,"x":[${Array.from({ length: 60_000 }, () => '{"a":1}').join()}]}`
  const parse = JSON.parse
  let revivers = 0
  t.mock.method(JSON, 'parse', (text: string, reviver?: never) => {
    revivers += Number(reviver !== undefined)
    return parse(text, reviver)
  })
  const response = await handler(new Request('http://f.example/verify', { method: 'POST', headers: json, body }))
  // Not measured, because a machine can be busy; a reviver made it slow.
  assert.deepEqual([response.status, revivers], [400, 0])
})

test('M forty concurrent pending settlements cause no process warning', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { settleTimeoutMs: 200 } })
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator: market.facilitator }) })
  t.after(() => server.stop())
  const { port } = await server.listen('127.0.0.1', 0)
  market.devnet.addFault({ type: 'hold', ms: 600_000, count: 100 })
  const bodies = Array.from({ length: 40 }, () => bodyOf(sponsored(market)))
  for (let time = 0; time < 2; time++) {
    const answers = bodies.map(async (body) => {
      const response = await fetch(`http://127.0.0.1:${port}/settle`, { method: 'POST', headers: json, body })
      return ((await response.json()) as { errorReason: string }).errorReason
    })
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(['settlement_pending']))
  }
  assert.deepEqual(warnings, [])
})
