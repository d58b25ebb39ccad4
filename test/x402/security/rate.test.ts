/** Strangers cannot use up the share of a seller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import {
  groupOf,
  type Made,
  newAccount,
  openMarket,
  settle,
  sponsored,
  transferOf,
  verify,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

test('A12 payments of nonexistent accounts do not count against the seller', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { requestsPerMinute: 10 } } })
  const junk = Array.from({ length: 50 }, () => {
    const stranger = newAccount()
    return groupOf(market, [{ txn: transferOf(market, { snd: stranger.publicKey, fee: 1_000n }), by: stranger }], 0)
  })
  for (const one of junk) assert.equal(await verify(market, one), 'invalid_exact_avm_simulation_failed')
  for (const one of junk) assert.equal(await settle(market, one), 'invalid_exact_avm_simulation_failed')
  assert.equal(await settle(market, sponsored(market)), 'settled')
})

test('A12 payments that are verified and never settled do not count against the seller', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { requestsPerMinute: 4 } } })
  const attacker = newAccount()
  market.devnet.fund(attacker.address, { microDollars: 1_000_000n })
  for (let time = 0; time < 20; time++) {
    assert.equal(await verify(market, sponsored({ ...market, buyer: attacker })), 'valid')
  }
  assert.equal(await settle(market, sponsored(market)), 'settled')
})

test('A12 one payer cannot use up the payments of a seller, nor forgeries those of a payer', {
  timeout,
}, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { requestsPerMinute: 4 } } })
  const [rich, forger] = [newAccount(), newAccount()]
  market.devnet.fund(rich.address, { microDollars: 1_000_000n })
  const results: string[] = []
  for (let time = 0; time < 4; time++) results.push(await settle(market, sponsored({ ...market, buyer: rich })))
  assert.deepEqual(results, ['settled', 'settled', 'facilitator_policy_refused', 'facilitator_policy_refused'])
  for (let time = 0; time < 10; time++) {
    const forged = groupOf(market, [{ txn: transferOf(market, { fee: 1_000n }), by: forger }], 0)
    assert.equal(await settle(market, forged), 'invalid_exact_avm_simulation_failed')
  }
  assert.equal(await settle(market, sponsored(market)), 'settled')
  assert.equal(await settle(market, sponsored(market)), 'settled')
  assert.equal(await settle(market, sponsored(market)), 'facilitator_policy_refused', 'the limit itself holds')
})

test("A12 requests are limited by the caller's address; a proxy on this machine is not a caller", {
  timeout,
}, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { callerRequestsPerMinute: 3 } } })
  const { facilitator } = market
  const plain = createFacilitatorHandler({ facilitator })
  const proxied = createFacilitatorHandler({
    facilitator,
    clientAddress: ({ headers }) => headers.get('x-real-ip') ?? undefined,
  })
  const ask = async (handler: typeof plain, remoteAddress: string, made: Made, realIp?: string) => {
    const { payload: paymentPayload, requirements: paymentRequirements } = made
    const headers: { [name: string]: string } = { 'content-type': 'application/json' }
    if (realIp !== undefined) headers['x-real-ip'] = realIp
    const body = JSON.stringify({ paymentPayload, paymentRequirements })
    const request = new Request('http://f.example/verify', { method: 'POST', headers, body })
    const result = (await (await handler(request, { remoteAddress })).json()) as { invalidReason?: string }
    return result.invalidReason ?? 'valid'
  }
  const junk = groupOf(market, [{ txn: transferOf(market), by: newAccount() }], 0)
  for (let time = 0; time < 3; time++) assert.match(await ask(plain, '9.9.9.9', junk), /^invalid_exact/)
  assert.equal(await ask(plain, '9.9.9.9', junk), 'facilitator_policy_refused')
  assert.equal(await ask(plain, '8.8.8.8', sponsored(market)), 'valid')
  for (let time = 0; time < 5; time++) assert.equal(await ask(plain, '127.0.0.1', sponsored(market)), 'valid')
  for (let time = 0; time < 3; time++) await ask(proxied, '127.0.0.1', junk, '7.7.7.7')
  assert.equal(await ask(proxied, '127.0.0.1', junk, '7.7.7.7'), 'facilitator_policy_refused')
  assert.equal(await ask(proxied, '127.0.0.1', sponsored(market), '6.6.6.6'), 'valid')
})

test('A12 a verified payment is settled even if its caller has no more requests', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { callerRequestsPerMinute: 1 } } })
  const caller = { address: '9.9.9.9' }
  const { payload, requirements } = sponsored(market)
  assert.equal((await market.facilitator.verify(payload, requirements, caller)).isValid, true)
  const other = sponsored(market)
  const refused = await market.facilitator.verify(other.payload, other.requirements, caller)
  assert.equal(refused.invalidReason, 'facilitator_policy_refused')
  assert.equal((await market.facilitator.settle(payload, requirements, caller)).success, true)
})

test('A12 for a caller without requests, /settle checks no signatures either', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { callerRequestsPerMinute: 3 } } })
  const caller = { address: '9.9.9.9' }
  const settleAs = async ({ payload, requirements }: Made): Promise<string> => {
    const { success, errorReason } = await market.facilitator.settle(payload, requirements, caller)
    return success ? 'settled' : errorReason!
  }
  const good = sponsored(market)
  assert.equal(await settleAs(good), 'settled')
  const junk = sponsored(market)
  const group = (junk.payload.payload as { paymentGroup: string[] }).paymentGroup
  group[1] = (sponsored(market).payload.payload as { paymentGroup: string[] }).paymentGroup[1]!
  for (let time = 0; time < 2; time++) assert.match(await settleAs(junk), /^invalid_exact/)
  for (let time = 0; time < 2; time++) assert.equal(await settleAs(junk), 'facilitator_policy_refused')
  assert.equal(await settleAs({ ...junk, payload: {} as Made['payload'] }), 'facilitator_policy_refused')
  assert.equal(await settleAs(sponsored(market)), 'facilitator_policy_refused')
  assert.equal(await settleAs(good), 'settled', 'a settlement that is recorded keeps its result')
})
