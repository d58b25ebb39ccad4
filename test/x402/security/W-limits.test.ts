/** Tests limits on callers' input, and what their error responses reveal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler, Facilitator, MemorySettlements, Signer } from '@latchkey/x402/facilitator'
import {
  made,
  openMarket,
  requirementsOf,
  settle,
  sponsored,
  transferOf,
  verify,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

// Published: "Unexpected error: ..." with the internal text; a fractional index and an empty amount cause it. Ours: a
// code for every error, and details go only to the operator.
test('W20 callers get error codes, and internal details go to `onError` only', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { payload } = sponsored(market)
  const { paymentGroup } = payload.payload as { paymentGroup: string[] }
  for (const paymentIndex of [0.5, Number.NaN, '1', null, -1, 2]) {
    const odd = { ...payload, payload: { paymentGroup, paymentIndex } } as typeof payload
    const { invalidReason } = await market.facilitator.verify(odd, requirementsOf(market))
    assert.match(invalidReason!, /^invalid_exact_avm_pay(load|ment_index)$/)
  }
  const empty = await market.facilitator.verify(payload, requirementsOf(market, { amount: '' }))
  assert.equal(empty.invalidReason, 'invalid_payment_requirements')

  market.proxy.instead = () => ({ status: 500, body: 'panic: /var/lib/algorand/secret', isForwarded: false })
  const { payload: fresh, requirements } = sponsored(market)
  const unanswered = await market.facilitator.verify(fresh, requirements)
  assert.equal(unanswered.invalidReason, 'facilitator_node_unavailable')
  market.proxy.instead = undefined

  const store = new MemorySettlements()
  store.claim = () => {
    throw new Error('SQLITE_FULL: /home/operator/facilitator.db')
  }
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const reported: unknown[] = []
  const failing = new Facilitator({ chains: [market.chain], feePayer, store, onError: (error) => reported.push(error) })
  t.after(() => failing.stop())
  const failed = await failing.settle(fresh, requirements)
  assert.equal(failed.errorReason, 'unexpected_settle_error')
  assert.doesNotMatch(JSON.stringify([unanswered, failed]), /secret|operator|SQLITE|127\.0\.0\.1/)
  assert.match(String(reported[0]), /SQLITE_FULL/)
  assert.equal(market.proxy.count('submit'), 0, 'a payment that cannot be recorded is not sent')
})

// Published: sixteen texts of any length are decoded, some three times, before anything is checked. Ours: lengths are
// checked first.
test('W21 oversized input is rejected before it is decoded', { timeout }, async (t) => {
  const market = await openMarket(t)
  const heap = made(market, Array(16).fill('A'.repeat(4 * 1024 * 1024)), 0, transferOf(market))
  assert.equal(await verify(market, heap), 'invalid_exact_avm_invalid_transaction')
  assert.equal(await settle(market, heap), 'invalid_exact_avm_invalid_transaction')
  const crowd = made(market, Array(100_000).fill('A'), 0, transferOf(market))
  assert.equal(await verify(market, crowd), 'invalid_exact_avm_group_size_exceeded')
  assert.equal(market.proxy.count(), 0)

  const handler = createFacilitatorHandler({ facilitator: market.facilitator })
  const server = new Server({ fetch: handler, limits: { bodyBytes: 1024 * 1024 } })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  const body = JSON.stringify({ paymentPayload: heap.payload, paymentRequirements: heap.requirements })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${port}/settle`, { method: 'POST', headers, body }).catch(
    () => undefined,
  )
  assert.ok(response === undefined || response.status === 413)
})
