/** Tests that the result of a submitted payment is determined, reported correctly, and the same for all callers. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Submission } from '@latchkey/algorand'
import { Facilitator, Signer } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import {
  openMarket,
  possessions,
  price,
  settle,
  sign,
  sponsored,
  submit,
  transferOf,
  verify,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

// Published: two concurrent settlements both pass verification, and the nodes decide the rest. Ours: claimed
// by id before it is sent, in a store that replicas share; every caller gets the result of the one submission.
test('W4 concurrent settlements of one payment on two replicas move the money once', { timeout }, async (t) => {
  const market = await openMarket(t)
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-security-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const replicas = [1, 2].map(() => {
    const store = new SqliteSettlements(join(directory, 'settlements.db'))
    const feePayer = Signer.fromSeed(market.sponsor.seed)
    return new Facilitator({ chains: [market.chain], feePayer, store, pollMs: 10 })
  })
  t.after(() => Promise.all(replicas.map((one) => one.stop())))
  const before = await possessions(market)
  const { payload, requirements, id } = sponsored(market)
  const settlements = Array.from({ length: 20 }, (_, index) => replicas[index % 2]!.settle(payload, requirements))
  for (const { success, transaction } of await Promise.all(settlements))
    assert.deepEqual([success, transaction], [true, id])
  const after = { sponsor: before.sponsor - 2_000n, seller: before.seller + price }
  assert.deepEqual(await possessions(market), after)
  assert.ok(market.proxy.count('submit') <= 2, 'at most once by each replica, of the same bytes')
  const [one, other] = market.proxy.calls.filter(({ what }) => what === 'submit')
  if (other !== undefined) assert.deepEqual(one!.body, other.body)
})

// Published: a slow confirmation is a final failure, although the money may move. Ours: pending, with the id.
test('W5 an unconfirmed payment is pending, and a repeated request returns its result', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { settleTimeoutMs: 100 } })
  market.devnet.addFault({ type: 'hold', ms: 60_000, count: 1 })
  const { payload, requirements, id } = sponsored(market)
  const first = await market.facilitator.settle(payload, requirements)
  assert.deepEqual([first.success, first.errorReason, first.transaction], [false, 'settlement_pending', id])
  market.devnet.mine()
  let then = await market.facilitator.settle(payload, requirements)
  while (then.errorReason === 'settlement_pending') then = await market.facilitator.settle(payload, requirements)
  assert.deepEqual([then.success, then.transaction], [true, id])
  assert.deepEqual([(await possessions(market)).seller, market.proxy.count('submit')], [price, 1])
})

// Published: sent again after 5xx, "already in ledger" is a failure while the payment stands. Ours: it is looked up.
test('W6 a payment in the ledger is settled even if the response of the node is lost', { timeout }, async (t) => {
  const market = await openMarket(t)
  let isFirst = true
  market.proxy.instead = (what) => {
    if (what !== 'submit' || !isFirst) return undefined
    isFirst = false
    return { status: 502, body: 'bad gateway', isForwarded: true }
  }
  assert.equal(await settle(market, sponsored(market)), 'settled')
  market.devnet.addFault({ type: 'drop', count: 1 })
  assert.equal(await settle(market, sponsored(market)), 'settled')
  market.devnet.addFault({ type: 'fail', status: 500, message: 'no', count: 2 })
  assert.equal(await settle(market, sponsored(market)), 'settled')
  assert.equal((await possessions(market)).seller, 3n * price)
})

// Published: a lookup that finds nothing is repeated without a pause, ten times in 60 ms. Ours: with growing pauses.
test('W7 lookups of an unknown payment are repeated with growing pauses', {
  timeout,
}, async (t) => {
  const market = await openMarket(t, { facilitator: { pollMs: 50 } })
  market.devnet.addFault({ type: 'lose', count: 5 })
  assert.equal(await settle(market, sponsored(market)), 'settled')
  const lookups = market.proxy.count('pending')
  assert.ok(lookups <= 7, `${lookups} lookups`)
  assert.equal((await possessions(market)).seller, price)
})

// Published: the goods are made between verifying and settling, and the money can be spent in between. Ours: the same
// in the protocol's default order; logic signatures are rejected, the failure is reported immediately, and sellers of
// expensive goods can settle first (`upfront`).
test('W15 a payment without funds after verification fails permanently and costs the sponsor nothing', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const { buyer, devnet } = market
  const before = await possessions(market)
  const payment = sponsored(market)
  assert.equal(await verify(market, payment), 'valid')
  devnet.fund(buyer.address, { microAlgos: 10_000n })
  const away = transferOf(market, {
    aamt: 999_999n,
    fee: 1_000n,
    arcv: buyer.publicKey,
    aclose: market.seller.publicKey,
  })
  assert.equal((await submit(market, sign(away, buyer))).status, 200)
  assert.equal(await settle(market, payment), 'invalid_exact_avm_settlement_failed')
  devnet.fund(buyer.address, { microDollars: 1_000_000n })
  assert.equal(await settle(market, payment), 'invalid_exact_avm_settlement_failed', 'the same result each time')
  assert.equal((await possessions(market)).sponsor, before.sponsor)

  const txn = transferOf(market)
  const program = Submission.encode({ txn, lsig: { l: Uint8Array.of(6, 0x81, 1) } } as Submission.Submitted)
  const { payload, requirements } = payment
  const conditional = {
    ...payload,
    payload: { paymentGroup: [Buffer.from(program).toString('base64')], paymentIndex: 0 },
  }
  const { invalidReason } = await market.facilitator.verify(conditional as typeof payload, requirements)
  assert.equal(invalidReason, 'invalid_exact_avm_invalid_signature')
})

// Published: two simulations, two signatures and at least three more calls for each paid request. Ours: a verified
// payment is not simulated again.
test('W22 a payment takes one simulation, one submission and one lookup', { timeout }, async (t) => {
  const market = await openMarket(t)
  const payment = sponsored(market)
  assert.equal(await verify(market, payment), 'valid')
  assert.equal(await settle(market, payment), 'settled')
  assert.deepEqual(
    market.proxy.calls.map(({ what }) => what),
    ['simulate', 'submit', 'pending'],
  )
  await settle(market, payment)
  await verify(market, payment)
  assert.equal(market.proxy.count(), 3, 'none for repeated requests')
})
