/** A facilitator that settles what was used of an authorized maximum, on a devnet. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Bytes } from '@latchkey/algorand'
import { type PaymentPayload, type PaymentRequirements, UptoPayment, UptoProgram } from '@latchkey/x402-wire'
import { Buyer } from '../client/buyer/Buyer.js'
import {
  dollar,
  type Market,
  newAddress,
  newSigner,
  openMarket,
  requiring,
} from '../client/buyer/market.test.helper.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'
import type { FacilitatorOptions } from './FacilitatorOptions.js'

const timeout = 60_000

type Setup = Market & {
  facilitator: Facilitator
  /** The requirement with half a dollar as its maximum. */
  upto: PaymentRequirements
  authorize: (requirement?: PaymentRequirements) => Promise<PaymentPayload>
  /** Settles an amount. */
  settle: (payload: PaymentPayload, amount: string) => ReturnType<Facilitator['settle']>
  balanceOf: (address: string) => Promise<bigint>
}

async function open(t: TestContext, options: Partial<FacilitatorOptions> = {}): Promise<Setup> {
  const market = await openMarket(t)
  const { chain, sponsor, signer, requirement } = market
  const facilitator = new Facilitator({ chains: [chain], feePayer: sponsor, pollMs: 20, ...options })
  t.after(() => facilitator.stop())
  const upto: PaymentRequirements = { ...requirement, scheme: 'upto', amount: '500000' }
  const buyer = new Buyer({ signer, chains: chain, maxPerPayment: '$100' })
  return {
    ...market,
    facilitator,
    upto,
    authorize: async (one = upto) => (await buyer.pay(requiring(one))).payload,
    settle: (payload, amount) => facilitator.settle(payload, { ...upto, amount }),
    balanceOf: async (address) => (await chain.algod.holding(address, dollar))?.amount ?? 0n,
  }
}

test('lists the scheme only with a fee account', { timeout }, async (t) => {
  const { facilitator, chain, sponsor } = await open(t)
  const kinds = facilitator.supported().kinds.filter(({ scheme }) => scheme === 'upto')
  assert.deepEqual(
    kinds.map(({ network, extra }) => [network, extra]),
    chain.ids.map((id) => [id, { feePayer: sponsor.address }]),
  )
  const plain = new Facilitator({ chains: [chain] })
  t.after(() => plain.stop())
  assert.deepEqual([...new Set(plain.supported().kinds.map(({ scheme }) => scheme))], ['exact'])
})

test('verifies the maximum and settles the charge, once', { timeout }, async (t) => {
  const { facilitator, upto, authorize, settle, balanceOf, payTo, signer, chain } = await open(t)
  const payload = await authorize()
  assert.deepEqual(await facilitator.verify(payload, upto), { isValid: true, payer: signer.address })
  const before = await balanceOf(signer.address)
  const settled = await settle(payload, '13200')
  assert.deepEqual([settled.success, settled.amount, settled.payer], [true, '13200', signer.address])
  assert.equal(await balanceOf(payTo), 13_200n)
  assert.equal(await balanceOf(signer.address), before - 13_200n)
  const { state, transaction } = await chain.algod.transactionDetails(settled.transaction)
  assert.equal(state.type, 'confirmed')
  assert.ok(UptoPayment.isTransfer(UptoPayment.read(payload.payload).terms, transaction!))
  // The recorded amount is the result, regardless of the one that is named.
  for (const amount of ['13200', '500000', '0']) assert.deepEqual(await settle(payload, amount), settled)
  assert.equal((await facilitator.verify(payload, upto)).invalidReason, 'duplicate_settlement')
  assert.equal(await balanceOf(payTo), 13_200n)
})

test('concurrent settlements of different amounts have one result', { timeout }, async (t) => {
  const { authorize, settle, balanceOf, payTo } = await open(t)
  const payload = await authorize()
  const results = await Promise.all(['1', '2', '3', '400000'].map((amount) => settle(payload, amount)))
  assert.equal(new Set(results.map(({ amount }) => amount)).size, 1)
  assert.equal(await balanceOf(payTo), BigInt(results[0]!.amount!))
})

test('a charge of 0 by the claimant submits nothing, is final, and releases the maximum', { timeout }, async (t) => {
  const { facilitator, upto, authorize, balanceOf, payTo } = await open(t)
  const gate = { claimant: 'gate' }
  // Fifteen times half a dollar, out of five dollars.
  for (let time = 0; time < 15; time++) {
    const payload = await authorize()
    assert.equal((await facilitator.verify(payload, upto, gate)).isValid, true)
    const { success, transaction, amount } = await facilitator.settle(payload, { ...upto, amount: '0' }, gate)
    assert.deepEqual([success, transaction, amount], [true, '', '0'])
    assert.equal((await facilitator.settle(payload, upto, gate)).amount, '0')
  }
  assert.equal(await balanceOf(payTo), 0n)
  assert.match(facilitator.metrics.text(), /settle_total\{outcome="nothing_charged"\} 30/)
})

test('refuses an amount above the maximum, and what is not an amount', { timeout }, async (t) => {
  const { authorize, settle, balanceOf, payTo } = await open(t)
  const payload = await authorize()
  for (const amount of ['500001', '-1', '1.5', '', '1e3', '999999999999999999999']) {
    const { success, errorReason, transaction } = await settle(payload, amount)
    const expected = [false, 'invalid_upto_avm_settlement_exceeds_amount', '']
    assert.deepEqual([success, errorReason, transaction], expected, amount)
  }
  assert.equal(await balanceOf(payTo), 0n)
  assert.equal((await settle(payload, '500000')).amount, '500000', 'the whole maximum is allowed')
})

test('refuses every term that differs from the requirement', { timeout }, async (t) => {
  const { facilitator, upto, authorize } = await open(t)
  const payload = await authorize()
  const cases: [string, Partial<PaymentRequirements>][] = [
    ['invalid_upto_avm_network_mismatch', { network: 'algorand:other' }],
    ['invalid_upto_avm_asset_mismatch', { asset: '77' }],
    ['invalid_upto_avm_receiver_mismatch', { payTo: newAddress() }],
    ['invalid_upto_avm_facilitator_mismatch', { extra: { feePayer: newAddress() } }],
    ['invalid_upto_avm_facilitator_mismatch', { extra: {} }],
    ['invalid_upto_avm_scheme', { scheme: 'exact' }],
  ]
  for (const [code, change] of cases) {
    const requirements = { ...upto, ...change }
    assert.equal((await facilitator.verify(payload, requirements)).invalidReason, code)
    assert.equal((await facilitator.settle(payload, { ...requirements, amount: '1' })).errorReason, code)
  }
  const less = { ...upto, amount: '499999' }
  assert.equal((await facilitator.verify(payload, less)).invalidReason, 'invalid_upto_avm_amount_mismatch')
})

test('what differs from a verified authorization is refused', { timeout }, async (t) => {
  const { facilitator, upto, authorize, settle, balanceOf, payTo } = await open(t)
  const payload = await authorize()
  assert.equal((await facilitator.verify(payload, upto)).isValid, true)
  const less = { ...upto, amount: '499999' }
  assert.equal((await facilitator.verify(payload, less)).invalidReason, 'invalid_upto_avm_amount_mismatch')
  assert.equal((await settle(payload, '500001')).errorReason, 'invalid_upto_avm_settlement_exceeds_amount')
  const requirements: Partial<PaymentRequirements>[] = [{ asset: '77' }, { payTo: newAddress() }, { extra: {} }]
  for (const change of requirements) {
    const { success } = await facilitator.settle(payload, { ...upto, ...change, amount: '1' })
    assert.equal(success, false, JSON.stringify(change))
  }
  const zeros = (length: number): string => Bytes.toBase64(new Uint8Array(length))
  for (const change of [{ nonce: zeros(16) }, { signature: zeros(64) }, { signer: newAddress() }, { signer: '' }]) {
    const changed = { ...payload, payload: { ...payload.payload, ...change } }
    assert.equal((await settle(changed, '1')).success, false, JSON.stringify(change))
    assert.equal((await facilitator.verify(changed, upto)).isValid, false, JSON.stringify(change))
  }
  const other = { ...payload, accepted: { ...payload.accepted, network: 'algorand:other' as const } }
  assert.equal((await settle(other, '1')).success, false)
  assert.equal(await balanceOf(payTo), 0n)
  assert.equal((await settle(payload, '7')).amount, '7')
})

test('refuses another program, another last valid round, another signature', { timeout }, async (t) => {
  const { facilitator, upto, authorize, settle } = await open(t)
  const payload = await authorize()
  const inner = payload.payload as unknown as UptoPayment.UptoPayload
  const { terms, program } = UptoPayment.read(inner)
  const other = program.slice()
  other[program.length - 1] = 0x13
  const later = UptoProgram.build({ ...terms, lastValid: terms.lastValid - 1n })
  const signature = Bytes.toBase64(new Uint8Array(64))
  const cases: [string, object][] = [
    ['invalid_upto_avm_program', { program: Bytes.toBase64(other) }],
    ['invalid_upto_avm_lease', { program: Bytes.toBase64(later) }],
    ['invalid_upto_avm_lease', { nonce: Bytes.toBase64(new Uint8Array(16)) }],
    ['invalid_upto_avm_invalid_signature', { signature }],
    ['invalid_upto_avm_payload', { signature: 7 }],
  ]
  for (const [code, change] of cases) {
    const changed = { ...payload, payload: { ...inner, ...change } } as unknown as PaymentPayload
    assert.equal((await facilitator.verify(changed, upto)).invalidReason, code)
    assert.equal((await settle(changed, '1')).errorReason, code)
  }
})

test('refuses an authorization of another facilitator', { timeout }, async (t) => {
  const { chain, upto, authorize } = await open(t)
  const payload = await authorize()
  const other = new Facilitator({ chains: [chain], feePayer: newSigner() })
  t.after(() => other.stop())
  assert.equal((await other.verify(payload, upto)).invalidReason, 'invalid_upto_avm_facilitator_mismatch')
  const settled = await other.settle(payload, { ...upto, amount: '5' })
  assert.equal(settled.errorReason, 'invalid_upto_avm_facilitator_mismatch')
})

test('verifies no more than the balance covers, counting the maxima', { timeout }, async (t) => {
  const { facilitator, upto, authorize } = await open(t)
  const two = { ...upto, amount: '2000000' }
  const results = []
  for (let time = 0; time < 3; time++) results.push(await facilitator.verify(await authorize(two), two))
  assert.deepEqual(
    results.map(({ isValid, invalidReason }) => (isValid ? 'valid' : invalidReason)),
    ['valid', 'valid', 'payer_balance_reserved'],
  )
})

test('an authorization above the balance fails the simulation of the maximum', { timeout }, async (t) => {
  const { facilitator, upto, signer, chain, payTo } = await open(t)
  const much = { ...upto, amount: '6000000' }
  const unsigned = UptoPayment.buildAuthorization({
    payer: signer.address,
    payTo,
    assetId: dollar,
    maxAmount: 6_000_000n,
    facilitator: String(upto.extra['feePayer']),
    isPublicNetwork: false,
    maxTimeoutSeconds: 60,
    ...(await chain.parameters()),
  })
  const inner = await Signer.signAuthorization(signer, unsigned)
  const payload = { x402Version: 2, accepted: much, payload: inner } as unknown as PaymentPayload
  const { invalidReason, invalidMessage } = await facilitator.verify(payload, much)
  assert.equal(invalidReason, 'invalid_upto_avm_simulation_failed')
  assert.match(invalidMessage!, /has 5 .* needs 6/)
})

test('a buyer that uses the lease after the work is not charged, and nothing else settles', { timeout }, async (t) => {
  const options = { settleTimeoutMs: 1_000 }
  const { facilitator, upto, authorize, settle, balanceOf, payTo, signer, chain, devnet } = await open(t, options)
  devnet.fund(signer.address, { microAlgos: 1_000_000n })
  const payload = await authorize()
  assert.equal((await facilitator.verify(payload, upto)).isValid, true)
  const { terms } = UptoPayment.read(payload.payload)
  const own = Address.decode(signer.address)
  const { lastRound, genesisHash } = await chain.parameters()
  const voiding = await Signer.signTransaction(signer, {
    type: 'pay',
    snd: own,
    rcv: own,
    fee: 1_000n,
    fv: lastRound,
    lv: terms.lastValid,
    gh: genesisHash,
    lx: terms.lease,
  })
  assert.equal((await chain.algod.submit([voiding])).type, 'accepted')
  // Decided by the ledger, because the transaction with the lease could be one that is never confirmed.
  assert.equal((await settle(payload, '13200')).errorReason, 'settlement_pending')
  devnet.mine(1_010)
  let settled = await settle(payload, '1')
  while (settled.errorReason === 'settlement_pending') settled = await settle(payload, '1')
  assert.equal(settled.errorReason, 'invalid_upto_avm_settlement_failed')
  assert.equal(await balanceOf(payTo), 0n)
})

test('a payer that moves its money away and back in the block of the charge is charged after that', {
  timeout,
}, async (t) => {
  const parts = await open(t, { settleTimeoutMs: 20_000 })
  const { facilitator, upto, authorize, settle, balanceOf, payTo, signer, chain, devnet } = parts
  const other = newSigner()
  devnet.fund(other.address, { microAlgos: 1_000_000n })
  devnet.fund(signer.address, { microAlgos: 1_000_000n })
  devnet.optIn(other.address, dollar)
  const payload = await authorize()
  assert.equal((await facilitator.verify(payload, upto)).isValid, true)
  const { lastRound, genesisHash } = await chain.parameters()
  const all = await balanceOf(signer.address)
  const move = async (from: Signer.Signer, to: string): Promise<void> => {
    const [snd, arcv] = [Address.decode(from.address), Address.decode(to)]
    const rounds = { fv: lastRound, lv: lastRound + 1_000n, gh: genesisHash, fee: 1_000n }
    const signed = await Signer.signTransaction(from, { type: 'axfer', snd, arcv, xaid: dollar, aamt: all, ...rounds })
    assert.equal((await chain.algod.submit([signed])).type, 'accepted')
  }
  // The node holds a block back, and the charge is rejected because of a transaction that waits for it.
  devnet.addFault({ type: 'hold', ms: 600_000, count: 1 })
  await move(signer, other.address)
  const started = performance.now()
  assert.equal((await settle(payload, '13200')).errorReason, 'settlement_pending')
  assert.ok(performance.now() - started < 10_000, 'its seller is not kept waiting')
  await move(other, signer.address)
  let settled = await settle(payload, '13200')
  while (settled.errorReason === 'settlement_pending') settled = await settle(payload, '13200')
  assert.equal(settled.amount, '13200')
  assert.equal(await balanceOf(payTo), 13_200n)
})

test('at most 16 rejected charges of a payer are tried again at a time', { timeout }, async (t) => {
  const { facilitator, upto, authorize, chain, devnet, signer, balanceOf } = await open(t, { settleTimeoutMs: 5_000 })
  devnet.fund(signer.address, { microAlgos: 1_000_000n })
  const terms = { ...upto, amount: '1000' }
  const payloads = []
  for (let count = 0; count < 20; count++) payloads.push(await authorize(terms))
  for (const one of payloads) assert.equal((await facilitator.verify(one, terms)).isValid, true)
  const { lastRound, genesisHash } = await chain.parameters()
  const rounds = { fv: lastRound, lv: lastRound + 1_000n, gh: genesisHash, fee: 1_000n }
  const [snd, arcv] = [Address.decode(signer.address), Address.decode(upto.payTo)]
  const aamt = await balanceOf(signer.address)
  const spent = await Signer.signTransaction(signer, { type: 'axfer', snd, arcv, xaid: dollar, aamt, ...rounds })
  assert.equal((await chain.algod.submit([spent])).type, 'accepted')
  const results = await Promise.all(payloads.map((one) => facilitator.settle(one, { ...terms, amount: '7' })))
  const count = (code: string): number => results.filter(({ errorReason }) => errorReason === code).length
  assert.deepEqual([count('settlement_pending'), count('invalid_upto_avm_settlement_failed')], [16, 4])
})

test('a lower balance than the maximum still pays a charge that it covers', { timeout }, async (t) => {
  const { facilitator, upto, authorize, settle, signer, chain, devnet, payTo, balanceOf } = await open(t)
  devnet.fund(signer.address, { microAlgos: 1_000_000n })
  const payload = await authorize()
  assert.equal((await facilitator.verify(payload, upto)).isValid, true)
  const [own, other] = [Address.decode(signer.address), newAddress()]
  devnet.optIn(other, dollar)
  const { lastRound, genesisHash } = await chain.parameters()
  const spending = await Signer.signTransaction(signer, {
    type: 'axfer',
    snd: own,
    arcv: Address.decode(other),
    xaid: dollar,
    aamt: 4_900_000n,
    fee: 1_000n,
    fv: lastRound,
    lv: lastRound + 10n,
    gh: genesisHash,
  })
  assert.equal((await chain.algod.submit([spending])).type, 'accepted')
  assert.equal((await settle(payload, '13200')).amount, '13200')
  assert.equal(await balanceOf(payTo), 13_200n)
})

test('an authorization belongs to its first claimant', { timeout }, async (t) => {
  const { facilitator, upto, authorize } = await open(t)
  const payload = await authorize()
  assert.equal((await facilitator.verify(payload, upto, { claimant: 'gate one' })).isValid, true)
  const elsewhere = { claimant: 'gate two' }
  assert.equal((await facilitator.verify(payload, upto, elsewhere)).invalidReason, 'payment_already_claimed')
  for (const amount of ['0', '500000']) {
    const { errorReason } = await facilitator.settle(payload, { ...upto, amount }, elsewhere)
    assert.equal(errorReason, 'payment_already_claimed')
  }
  const { success } = await facilitator.settle(payload, { ...upto, amount: '5' }, { claimant: 'gate one' })
  assert.equal(success, true)
})

test('a rekeyed payer pays with the key that authorizes it, and not with its own', { timeout }, async (t) => {
  const { facilitator, upto, chain, devnet, payTo, balanceOf } = await open(t)
  const account = newSigner()
  const key = Signer.fromSeed(new Uint8Array(32).fill(7), { sender: account.address })
  devnet.fund(account.address, { microAlgos: 1_000_000n, assets: [{ assetId: dollar, amount: 1_000_000n }] })
  const { lastRound, genesisHash } = await chain.parameters()
  const own = Address.decode(account.address)
  const rekey = await Signer.signTransaction(account, {
    type: 'pay',
    snd: own,
    rcv: own,
    fee: 1_000n,
    fv: lastRound,
    lv: lastRound + 10n,
    gh: genesisHash,
    rekey: Address.decode(key.address),
  })
  assert.equal((await chain.algod.submit([rekey])).type, 'accepted')
  const { payload: old } = await new Buyer({ signer: account, chains: chain }).pay(requiring(upto))
  assert.equal((await facilitator.verify(old, upto)).invalidReason, 'invalid_upto_avm_simulation_failed')
  const { payload } = await new Buyer({ signer: key, chains: chain }).pay(requiring(upto))
  assert.equal((payload.payload as unknown as UptoPayment.UptoPayload).signer, key.address)
  assert.equal((await facilitator.settle(payload, { ...upto, amount: '7' })).amount, '7')
  assert.equal(await balanceOf(payTo), 7n)
})

test('a charge is settled after its fee account, which was emptied or rekeyed meanwhile, can pay', {
  timeout,
}, async (t) => {
  for (const how of ['emptied', 'rekeyed', 'emptied until it expires']) {
    const { facilitator, upto, authorize, settle, balanceOf, chain, devnet, sponsor, payTo } = await open(t, {
      settleTimeoutMs: 300,
    })
    const payload = await authorize()
    assert.equal((await facilitator.verify(payload, upto)).isValid, true)
    const { lastRound, genesisHash } = await chain.parameters()
    const own = Address.decode(sponsor.address)
    const key = Signer.fromSeed(new Uint8Array(32).fill(9), { sender: sponsor.address })
    const common = {
      type: 'pay',
      snd: own,
      fee: 1_000n,
      fv: lastRound,
      lv: lastRound + 1_000n,
      gh: genesisHash,
    } as const
    const change =
      how !== 'rekeyed'
        ? { ...common, rcv: Address.decode(payTo), amt: 9_899_000n }
        : { ...common, rcv: own, rekey: Address.decode(key.address) }
    assert.equal((await chain.algod.submit([await Signer.signTransaction(sponsor, change)])).type, 'accepted')
    assert.equal((await settle(payload, '7')).errorReason, 'settlement_pending', how)
    if (how === 'emptied') devnet.fund(sponsor.address, { microAlgos: 1_000_000n })
    else if (how !== 'rekeyed') devnet.mine(1_010)
    else {
      const back = await Signer.signTransaction(key, { ...common, rcv: own, rekey: own })
      assert.equal((await chain.algod.submit([back])).type, 'accepted')
    }
    let settled = await settle(payload, '7')
    while (settled.errorReason === 'settlement_pending') settled = await settle(payload, '7')
    if (how === 'emptied until it expires') {
      assert.equal(settled.errorReason, 'facilitator_fee_account_unfunded')
    } else {
      assert.equal(settled.amount, '7', how)
      assert.equal(await balanceOf(payTo), 7n)
    }
  }
})
