/** A payment belongs to one gate and resource at the facilitator. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createFacilitatorHandler, Facilitator, Signer } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { type Made, openMarket, possessions, price, sponsored } from './support/facilitator.test.helper.js'

const timeout = 60_000
const gates = ['gate-1', 'gate-2', 'gate-3', 'gate-4', 'gate-5', undefined]

async function post(facilitator: Facilitator, path: string, made: Made, claimant: unknown) {
  const handler = createFacilitatorHandler({ facilitator })
  const body = JSON.stringify({
    x402Version: 2,
    paymentPayload: made.payload,
    paymentRequirements: made.requirements,
    claimant,
  })
  const headers = { 'content-type': 'application/json' }
  const response = await handler(new Request(`http://facilitator.example${path}`, { method: 'POST', headers, body }))
  const result = (await response.json()) as { [name: string]: unknown }
  const { success, isValid, errorReason, invalidReason } = result
  if (response.status !== 200) return response.status
  return success === true || isValid === true ? 'yes' : (errorReason ?? invalidReason)
}

test('A7 one of five gates that settle one payment at once gets it, and the same gate gets it again', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const payment = sponsored(market)
  const results = await Promise.all(gates.map((gate) => post(market.facilitator, '/settle', payment, gate)))
  assert.equal(results.filter((result) => result === 'yes').length, 1)
  assert.equal(results.filter((result) => result === 'payment_already_claimed').length, gates.length - 1)
  const winner = gates[results.indexOf('yes')]
  const again = await Promise.all(gates.map((gate) => post(market.facilitator, '/settle', payment, gate)))
  assert.deepEqual(again, results)
  assert.equal(await post(market.facilitator, '/verify', payment, winner), 'duplicate_settlement')
  assert.equal((await possessions(market)).seller, price)
})

test('A7 a payment verified by one gate is not verified for another', { timeout }, async (t) => {
  const market = await openMarket(t)
  const payment = sponsored(market)
  const results = await Promise.all(gates.map((gate) => post(market.facilitator, '/verify', payment, gate)))
  assert.equal(results.filter((result) => result === 'yes').length, 1)
  const winner = gates[results.indexOf('yes')]
  for (const gate of gates) {
    const expected = gate === winner ? 'yes' : 'payment_already_claimed'
    assert.equal(await post(market.facilitator, '/verify', payment, gate), expected)
    if (gate !== winner) assert.equal(await post(market.facilitator, '/settle', payment, gate), expected)
  }
  assert.equal(await post(market.facilitator, '/settle', payment, winner), 'yes')
})

test('A7 the claimant of a settlement survives a restart, and so does having none', { timeout }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-security-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const market = await openMarket(t)
  const [named, nameless] = [sponsored(market), sponsored(market)]
  for (let time = 0; time < 2; time++) {
    const store = new SqliteSettlements(join(directory, 'settlements.db'))
    const feePayer = Signer.fromSeed(market.sponsor.seed)
    const facilitator = new Facilitator({ chains: [market.chain], feePayer, store, pollMs: 10 })
    assert.equal(await post(facilitator, '/settle', named, 'gate-1'), 'yes')
    assert.equal(await post(facilitator, '/settle', named, 'gate-2'), 'payment_already_claimed')
    assert.equal(await post(facilitator, '/settle', named, undefined), 'payment_already_claimed')
    assert.equal(await post(facilitator, '/settle', nameless, undefined), 'yes')
    assert.equal(await post(facilitator, '/settle', nameless, 'gate-1'), 'payment_already_claimed')
    await facilitator.stop()
  }
})

test('A7 a claimant that is not a short alphanumeric text is 400', { timeout }, async (t) => {
  const market = await openMarket(t)
  for (const claimant of ['', 'a b', 'x'.repeat(129), 5, null, {}, ['gate'], 'é']) {
    assert.equal(await post(market.facilitator, '/verify', sponsored(market), claimant), 400)
  }
})
