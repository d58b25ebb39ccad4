/** Tests the account that pays fees for buyers: who may use it, for what, and up to which amount. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address } from '@latchkey/algorand'
import { Kmd } from '@latchkey/kmd-client'
import { createFacilitatorHandler, Facilitator, fromKmd, Signer } from '@latchkey/x402/facilitator'
import { startDaemon } from '../../support/daemon.test.helper.js'
import {
  feePaymentOf,
  groupOf,
  newAccount,
  openMarket,
  possessions,
  requirementsOf,
  settle,
  sign,
  sponsored,
  submit,
  transferOf,
  verify,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

// Published: the limit applies to each fee payment separately, so fifteen of them cost 1.2 Algos. Ours: one fee
// payment.
test('W1 a payment costs the sponsor one bounded fee', { timeout }, async (t) => {
  const market = await openMarket(t)
  const before = await possessions(market)
  const fees = Array.from({ length: 15 }, () => ({ txn: feePaymentOf(market, { fee: 80_000n }) }))
  const drain = groupOf(market, [...fees, { txn: transferOf(market), by: market.buyer }], 15)
  assert.equal(await settle(market, drain), 'invalid_exact_avm_invalid_fee_payer')
  assert.equal(await settle(market, sponsored(market, {}, { fee: 10_001n })), 'invalid_exact_avm_fee_too_high')
  assert.deepEqual([await possessions(market), market.proxy.count()], [before, 0])
  assert.equal(await settle(market, sponsored(market)), 'settled')
  assert.equal((await possessions(market)).sponsor, before.sponsor - 2_000n)
})

// Published: up to fourteen other signed transactions are accepted. Ours: only the payment and our fee.
test('W2 a group with other transactions than payment and fee is rejected', { timeout }, async (t) => {
  const market = await openMarket(t)
  const stranger = newAccount()
  market.devnet.fund(stranger.address, { microAlgos: 1_000_000n })
  const free = { snd: stranger.publicKey, rcv: stranger.publicKey, type: 'pay', amt: 1n } as const
  const rest = { aamt: undefined, xaid: undefined, arcv: undefined }
  for (const stowaway of [
    { txn: transferOf(market, { ...free, ...rest }), by: stranger },
    { txn: transferOf(market), by: market.buyer },
  ]) {
    const fee = { txn: feePaymentOf(market, { fee: 3_000n }) }
    const ride = groupOf(market, [fee, { txn: transferOf(market), by: market.buyer }, stowaway], 1)
    assert.equal(await verify(market, ride), 'invalid_exact_avm_payload_unexpected_transaction')
  }
  assert.equal(market.proxy.count(), 0)
})

// Published: requirements are trusted, from every caller. Ours: sellers, assets, keys, rate and daily fees can be limited.
test('W3 the policy limits payees, API keys, requests per minute and fees per day', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { chain, seller, sponsor } = market
  const policy = { payTo: [seller.address], assets: ['31566704'], apiKeys: ['key'], feeMicroAlgosPerDay: 2_000n }
  const feePayer = Signer.fromSeed(sponsor.seed)
  const facilitator = new Facilitator({ chains: [chain], feePayer, policy: { ...policy, requestsPerMinute: 4 } })
  t.after(() => facilitator.stop())
  const caller = { apiKey: 'key' }
  const attacker = newAccount()
  market.devnet.optIn(attacker.address, 31566704n)

  const toMyself = sponsored(market, { arcv: attacker.publicKey })
  const refused = await facilitator.settle(
    toMyself.payload,
    requirementsOf(market, { payTo: attacker.address }),
    caller,
  )
  assert.equal(refused.errorReason, 'facilitator_policy_refused')
  for (const amount of ['0', '', '-1', '00']) {
    const nothing = sponsored(market, { aamt: 0n })
    const { errorReason } = await facilitator.settle(nothing.payload, requirementsOf(market, { amount }), caller)
    assert.equal(errorReason, 'invalid_payment_requirements')
  }
  const [first, second] = [sponsored(market), sponsored(market)]
  assert.equal(
    (await facilitator.verify(first.payload, first.requirements)).invalidReason,
    'facilitator_policy_refused',
  )
  assert.equal((await facilitator.settle(first.payload, first.requirements, caller)).success, true)
  const spent = await facilitator.settle(second.payload, second.requirements, caller)
  assert.match(spent.errorMessage!, /daily limit for fees .*is reached/)
  market.devnet.fund(market.buyer.address, { microAlgos: 100_000n })
  const own = () => groupOf(market, [{ txn: transferOf(market, { fee: 1_000n }), by: market.buyer }], 0)
  const next = own()
  assert.equal((await facilitator.settle(next.payload, next.requirements, caller)).success, true)
  const last = own()
  const { invalidMessage } = await facilitator.verify(last.payload, last.requirements, caller)
  assert.match(invalidMessage!, /more than 2 payments per minute/)
})

// Published: an empty sponsor is reported as the payer's failed simulation. Ours: it has its own code, and /health.
test('W16 an empty fee account has its own error code and makes /health respond with 503', { timeout }, async (t) => {
  const market = await openMarket(t, { sponsorMicroAlgos: 101_000n })
  assert.equal(await verify(market, sponsored(market)), 'facilitator_fee_account_unfunded')
  assert.equal(await settle(market, sponsored(market)), 'facilitator_fee_account_unfunded')
  const handler = createFacilitatorHandler({ facilitator: market.facilitator })
  const response = await handler(new Request('http://facilitator.example/health'))
  assert.equal(response.status, 503)
  assert.match(await response.text(), new RegExp(`the fee account ${market.sponsor.address} has 0.001 ALGO`))
  const own = groupOf(market, [{ txn: transferOf(market, { fee: 1_000n }), by: market.buyer }], 0)
  market.devnet.fund(market.buyer.address, { microAlgos: 1_000n })
  assert.equal(await settle(market, own), 'settled', 'a buyer that pays its own fee is not affected')
})

// Published: a random one of several addresses each time, which servers then do not recognise. Ours: always the same
// address.
test('W18 the fee payer stays the same, also after a restart', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const again = new Facilitator({ chains: [market.chain], feePayer: Signer.fromSeed(market.sponsor.seed) })
  t.after(() => again.stop())
  for (let time = 0; time < 50; time++) assert.deepEqual(market.facilitator.supported(), again.supported())
  assert.deepEqual(again.supported().kinds[0]!.extra, { feePayer: market.sponsor.address })
})

// Published: one hot key, in the environment. Ours: the key can stay in the key daemon, with the account rekeyed to it.
test('W23 the fee payer’s key can stay in the key daemon', { timeout }, async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.stop())
  const connect = { address: daemon.address, token: daemon.token }
  const kmd = await Kmd.connect(connect)
  await kmd.wallets.create({ name: 'fees', password: 'secret' })
  const address = await (await kmd.unlock({ name: 'fees', password: 'secret' })).generateKey()
  const market = await openMarket(t)
  const cold = fromKmd({ kmd: connect, wallet: 'fees', password: 'secret', address, sender: market.sponsor.address })
  assert.equal(JSON.stringify(cold).includes('secret'), false)
  const rekeying = feePaymentOf(market, { rekey: Address.decode(address) })
  assert.equal((await submit(market, sign(rekeying, market.sponsor))).status, 200)
  const facilitator = new Facilitator({ chains: [market.chain], feePayer: cold })
  t.after(() => facilitator.stop())
  const { payload, requirements } = sponsored(market)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.equal(await settle(market, sponsored(market)), 'facilitator_key_unavailable', 'the old key no longer signs')
})
