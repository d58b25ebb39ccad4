/**
 * Tests which payments are accepted: for this network, valid for a bounded time, without other effects, in any
 * encoding.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Ed25519, Group, Multisig, Submission, Transaction } from '@latchkey/algorand'
import {
  type Account,
  feePaymentOf,
  groupOf,
  made,
  newAccount,
  openMarket,
  possessions,
  price,
  settle,
  sign,
  sponsored,
  submit,
  type Tx,
  transferOf,
  verify,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

// Published: any length and any start. Ours: valid now, and for at most the configured number of rounds.
test('W9 payments that are valid for too long, or not yet, are rejected', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { maxValidityRounds: 300n } })
  market.devnet.mine(10)
  const refused = 'invalid_exact_avm_payload_validity'
  const window = (fv: bigint, lv: bigint) => sponsored(market, { fv, lv }, { fv, lv })
  assert.equal(await verify(market, window(10n, 311n)), refused, 'too long')
  assert.equal(await verify(market, window(5_000n, 5_100n)), refused, 'far in the future')
  assert.equal(await verify(market, window(1n, 9n)), refused, 'over')
  assert.equal(await verify(market, sponsored(market, { fv: 10n, lv: 311n }, { fv: 10n, lv: 100n })), refused)
  assert.equal(await settle(market, window(10n, 310n)), 'settled')
})

// Published: neither genesis nor group id is checked. Ours: both are, before a request to the node.
test('W10 a wrong genesis hash or group id is rejected without a request to the node', { timeout }, async (t) => {
  const market = await openMarket(t)
  const gh = new Uint8Array(32).fill(1)
  assert.equal(await verify(market, sponsored(market, { gh }, { gh })), 'invalid_exact_avm_network_mismatch')
  const [fee, payment] = [feePaymentOf(market), transferOf(market)]
  const loose = [Submission.transactionBytes(fee), sign(payment, market.buyer)]
  assert.equal(await verify(market, made(market, loose, 1, payment)), 'invalid_exact_avm_invalid_group_id')
  const [, member] = Group.assign([fee, payment]) as [Tx, Tx]
  const swapped = { ...feePaymentOf(market, { fee: 9_000n }), grp: member.grp }
  const other = [Submission.transactionBytes(swapped), sign(member, market.buyer)]
  assert.equal(await verify(market, made(market, other, 1, member)), 'invalid_exact_avm_invalid_group_id')
  assert.equal(market.proxy.count(), 0)
})

// Published: rekeying, closing and clawing back pass on the payer's side, a lease and any note on the sponsor's. Ours:
// all are rejected.
test('W11 a payment or fee that also rekeys, closes or claws back is rejected', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { publicKey } = newAccount()
  const of = (what: string): string => `invalid_exact_avm_payload_${what}_detected`
  assert.equal(await verify(market, sponsored(market, { rekey: publicKey })), of('rekey'))
  assert.equal(await verify(market, sponsored(market, { aclose: publicKey })), of('close_to'))
  assert.equal(await verify(market, sponsored(market, { asnd: publicKey })), of('clawback'))
  const fees: Partial<Tx>[] = [
    { rekey: publicKey },
    { close: publicKey },
    { amt: 1n },
    { rcv: publicKey },
    { lx: new Uint8Array(32).fill(1) },
    { note: new Uint8Array(1_024).fill(65) },
  ]
  for (const change of fees) {
    assert.equal(await settle(market, sponsored(market, {}, change)), 'invalid_exact_avm_invalid_fee_payer')
  }
  assert.equal(market.proxy.count(), 0)
})

// Published: a rekeyed payer is rejected, multisig is left to the simulation. Ours: both are accepted and checked.
test('W12 rekeyed and multisig accounts pay, with their own signatures only', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { devnet, buyer } = market
  const [key, impostor] = [newAccount(), newAccount()]
  devnet.fund(buyer.address, { microAlgos: 10_000n })
  const rekeying = { ...feePaymentOf(market), snd: buyer.publicKey, rcv: buyer.publicKey, rekey: key.publicKey }
  assert.equal((await submit(market, sign(rekeying, buyer))).status, 200)
  const paidBy = (by: Account) => groupOf(market, [{ txn: feePaymentOf(market) }, { txn: transferOf(market), by }], 1)
  assert.equal(await settle(market, paidBy(impostor)), 'invalid_exact_avm_simulation_failed')
  assert.equal(await settle(market, paidBy(buyer)), 'invalid_exact_avm_simulation_failed', 'the key it had')
  assert.equal(await settle(market, paidBy(key)), 'settled')

  const keys = [newAccount(), newAccount(), newAccount()]
  const multisig = { version: 1, threshold: 2, publicKeys: keys.map(({ publicKey }) => publicKey) }
  const snd = Multisig.address(multisig)
  devnet.fund(Address.encode(snd), { microDollars: 1_000_000n })
  const signedBy = (signers: readonly Account[]) => {
    const [fee, txn] = Group.assign([feePaymentOf(market), transferOf(market, { snd })]) as [Tx, Tx]
    const message = Transaction.bytesToSign(Submission.transactionBytes(txn))
    let msig = Multisig.empty(multisig)
    for (const one of signers) msig = Multisig.addSignature(msig, one.publicKey, Ed25519.sign(message, one.secretKey))
    return made(market, [Submission.transactionBytes(fee), Submission.encode({ txn, msig })], 1, txn)
  }
  assert.equal(await settle(market, signedBy(keys.slice(0, 1))), 'invalid_exact_avm_invalid_signature')
  assert.equal(await settle(market, signedBy(keys.slice(1))), 'settled')
  assert.equal((await possessions(market)).seller, 2n * price)
})

/** Returns the same map with a longer msgpack header, which decoders accept too. */
function atLength(signed: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(0xde, 0, signed[0]! & 0x0f), signed.subarray(1)])
}

// Published: the simulated bytes are re-encoded, the submitted ones are not. Ours: both are the canonical form.
test('W13 the submitted bytes are those that were simulated', { timeout }, async (t) => {
  const market = await openMarket(t)
  const [fee, txn] = Group.assign([feePaymentOf(market), transferOf(market)]) as [Tx, Tx]
  const signed = sign(txn, market.buyer)
  const odd = made(market, [Submission.transactionBytes(fee), atLength(signed)], 1, txn)
  assert.equal(await settle(market, odd), 'settled')
  const [simulated, sent] = ['simulate', 'submit'].map((what) => market.proxy.calls.find((call) => call.what === what)!)
  for (const { body } of [simulated!, sent!]) {
    for (const part of [signed, Submission.transactionBytes(fee)]) assert.ok(body.includes(Buffer.from(part)))
  }
  const trailing = made(market, [Buffer.concat([sign(transferOf(market), market.buyer), Buffer.of(0)])], 0, txn)
  assert.equal(await verify(market, trailing), 'invalid_exact_avm_invalid_transaction')
})

// Published: verifying sends the whole signed group to a public node, which could submit it. Ours: without our signature.
test('W14 a network attacker cannot submit what verify sends to a node', { timeout }, async (t) => {
  const market = await openMarket(t)
  const before = await possessions(market)
  const payment = sponsored(market)
  assert.equal(await verify(market, payment), 'valid')
  const { body } = market.proxy.calls[0]!
  const group = body.subarray(body.indexOf(Buffer.from('txns')) + 5)
  const [fee, transfer] = Submission.decodeAll(group, 2) as [Submission.Decoded, Submission.Decoded]
  assert.deepEqual([fee.signed.sig, transfer.signed.sig !== undefined], [undefined, true])
  const response = await submit(market, Submission.encode(fee.signed), Submission.encode(transfer.signed))
  assert.equal(response.status, 400)
  assert.deepEqual(await possessions(market), before)
})

// Published: base64 is read leniently, so caches keyed by the text miss. Ours: keyed by the transaction id.
test('W17 different encodings of one payment are settled once', { timeout }, async (t) => {
  const market = await openMarket(t)
  const [fee, txn] = Group.assign([feePaymentOf(market), transferOf(market)]) as [Tx, Tx]
  const bare = Submission.transactionBytes(fee)
  const signed = sign(txn, market.buyer)
  const text = Buffer.from(signed).toString('base64')
  const spellings = [text, text.replaceAll('=', ''), Buffer.from(atLength(signed)).toString('base64')]
  const settlements = spellings.map((spelling) => settle(market, made(market, [bare, spelling], 1, txn)))
  assert.deepEqual(await Promise.all(settlements), ['settled', 'settled', 'settled'])
  assert.deepEqual([market.proxy.count('submit'), (await possessions(market)).seller], [1, price])
})
