import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Address, Group, Multisig, Submission } from '@latchkey/algorand'
import * as fc from 'fast-check'
import { FakeNode } from '../../../../algod/dist/FakeNode.test.helper.js'
import {
  alone,
  buyer,
  feePayment,
  keyOf,
  type Made,
  make,
  multisigOf,
  reordered,
  requirementsFor,
  sign,
  signature,
  signMultisig,
  sponsor,
  sponsored,
  stranger,
  type Tx,
  transfer,
  usdc,
  wrap,
} from '../../../../x402-wire/dist/payments.test.helper.js'
import type { Chain } from '../../chain/Chain.js'
import { PaymentError, paymentErrors } from '../PaymentError.js'
import { openChain, setUp } from '../setup.test.helper.js'
import { type VerifiedPayment, VerifiedPayments, verificationKey, verifyPayment } from './verifyPayment.js'
import '../../../../../test/seed.mjs'
import type { PaymentPayload, PaymentRequirements } from '@latchkey/x402-wire'

let chain: Chain
before(async () => {
  chain = await openChain(new FakeNode())
})

const zero = new Uint8Array(32)

function judge({ payload, requirements }: Pick<Made, 'payload' | 'requirements'>) {
  return verifyPayment(payload, requirements, {
    chains: [chain],
    feePayers: new Set([sponsor.address]),
    maxFeeMicroAlgosPerTransaction: 5_000n,
    maxValidityRounds: 1_000n,
  })
}

function codeOf(made: Pick<Made, 'payload' | 'requirements'>): string {
  try {
    judge(made)
    return 'valid'
  } catch (error) {
    if (error instanceof PaymentError) return error.code
    throw error
  }
}

const requiring = (made: Made, change: Parameters<typeof requirementsFor>[0]): Made => ({
  ...made,
  requirements: requirementsFor(change),
})

/** A group of these transactions, each signed by its key or left unsigned. */
function groupOf(members: readonly [Tx, typeof buyer?][], paymentIndex: number): Made {
  const txns = Group.assign(members.map(([txn]) => txn))
  const bytes = txns.map((txn, index) => {
    const key = members[index]![1]
    return key === undefined ? Submission.transactionBytes(txn) : sign(txn, key)
  })
  return make(bytes, paymentIndex, txns[paymentIndex]!)
}

test('accepts a sponsored payment, and returns its details', () => {
  const made = sponsored()
  const { group, ...facts } = judge(made)
  assert.equal(group.transactionId, made.id)
  assert.deepEqual([facts.payer, facts.payTo], [buyer.address, made.requirements.payTo])
  assert.deepEqual([facts.amount, facts.assetId, facts.feeIndex, facts.feeMicroAlgos], [1000n, usdc, 0, 2000n])
  assert.deepEqual([facts.firstValid, facts.lastValid], [100n, 200n])
})

test('accepts a payment with its own fee, and one in ALGO', () => {
  assert.equal(codeOf(alone()), 'valid')
  const algos = { type: 'pay', aamt: undefined, xaid: undefined, arcv: undefined, amt: 1000n, rcv: keyOf(2).publicKey }
  assert.equal(codeOf(requiring(alone(algos), { asset: '0' })), 'valid')
})

const refusals: readonly [string, string, () => Pick<Made, 'payload' | 'requirements'>][] = [
  ['no payload', 'invalid_exact_avm_payload', () => ({ ...alone(), payload: null as never })],
  ['no requirements', 'invalid_exact_avm_payload', () => ({ ...alone(), requirements: null as never })],
  [
    'version 1',
    'invalid_exact_avm_invalid_version',
    () => ({ ...alone(), payload: { ...alone().payload, x402Version: 1 } }),
  ],
  ['another scheme', 'invalid_exact_avm_scheme', () => requiring(alone(), { scheme: 'upto' })],
  [
    'nothing accepted',
    'invalid_exact_avm_scheme',
    () => ({ ...alone(), payload: { x402Version: 2, payload: {} } as never }),
  ],
  [
    'another network',
    'invalid_exact_avm_network_mismatch',
    () => requiring(alone(), { network: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k' }),
  ],
  ['a network that is none', 'invalid_exact_avm_network_mismatch', () => requiring(alone(), { network: 5 as never })],
  ['no group', 'invalid_exact_avm_payload', () => ({ ...alone(), payload: wrap({ paymentIndex: 0 }) })],
  ['no payload in the payload', 'invalid_exact_avm_payload', () => ({ ...alone(), payload: wrap(null) })],
  [
    'numbers for texts',
    'invalid_exact_avm_payload',
    () => ({ ...alone(), payload: wrap({ paymentGroup: [1], paymentIndex: 0 }) }),
  ],
  [
    'half an index',
    'invalid_exact_avm_payload',
    () => ({ ...alone(), payload: wrap({ paymentGroup: ['AA'], paymentIndex: 0.5 }) }),
  ],
  ['17 members', 'invalid_exact_avm_group_size_exceeded', () => make(Array(17).fill('AA'), 0, transfer())],
  ['an empty group', 'invalid_exact_avm_payment_index', () => make([], 0, transfer())],
  ['an index beyond', 'invalid_exact_avm_payment_index', () => make([sign(transfer())], 1, transfer())],
  ['not base64', 'invalid_exact_avm_invalid_transaction', () => make(['*'], 0, transfer())],
  ['not msgpack', 'invalid_exact_avm_invalid_transaction', () => make(['/////w=='], 0, transfer())],
  [
    'bytes after it',
    'invalid_exact_avm_invalid_transaction',
    () => make([Buffer.concat([sign(transfer()), Buffer.of(1)])], 0, transfer()),
  ],
  [
    'unsigned, and not ours',
    'invalid_exact_avm_unsigned_non_facilitator',
    () => make([Submission.transactionBytes(transfer())], 0, transfer()),
  ],
  [
    'two without a group id',
    'invalid_exact_avm_invalid_group_id',
    () => make([Submission.transactionBytes(feePayment()), sign(transfer())], 1, transfer()),
  ],
  ['a group id of other transactions', 'invalid_exact_avm_invalid_group_id', () => alone({ grp: zero.map(() => 1) })],
  ['of another genesis', 'invalid_exact_avm_network_mismatch', () => alone({ gh: zero.map(() => 1) })],
  ['without genesis', 'invalid_exact_avm_network_mismatch', () => alone({ gh: undefined })],
  [
    'from the facilitator',
    'invalid_exact_avm_facilitator_transferring',
    () => groupOf([[transfer({ snd: sponsor.publicKey })]], 0),
  ],
  ['of the Algo for an asset', 'invalid_exact_avm_not_asset_transfer', () => alone({ type: 'pay' })],
  ['an amount below', 'invalid_exact_avm_amount_mismatch', () => alone({ aamt: 999n })],
  ['an amount above', 'invalid_exact_avm_amount_mismatch', () => alone({ aamt: 1001n })],
  ['to another account', 'invalid_exact_avm_receiver_mismatch', () => alone({ arcv: stranger.publicKey })],
  ['another asset', 'invalid_exact_avm_asset_mismatch', () => alone({ xaid: 5n })],
  ['nothing required', 'invalid_payment_requirements', () => requiring(alone({ aamt: 0n }), { amount: '0' })],
  ['no amount required', 'invalid_payment_requirements', () => requiring(alone({ aamt: 0n }), { amount: '' })],
  ['a fraction required', 'invalid_payment_requirements', () => requiring(alone(), { amount: '1000.0' })],
  ['an asset by name', 'invalid_payment_requirements', () => requiring(alone(), { asset: 'USDC' })],
  ['payTo that is none', 'invalid_payment_requirements', () => requiring(alone(), { payTo: 'seller' })],
  ['rekeying', 'invalid_exact_avm_payload_rekey_detected', () => alone({ rekey: stranger.publicKey })],
  ['closing the holding', 'invalid_exact_avm_payload_close_to_detected', () => alone({ aclose: stranger.publicKey })],
  ['clawing back', 'invalid_exact_avm_payload_clawback_detected', () => alone({ asnd: stranger.publicKey })],
  [
    'a signature over something else',
    'invalid_exact_avm_invalid_signature',
    () => {
      const txn = transfer()
      return make([Submission.encode({ txn, sig: signature(transfer(), buyer) })], 0, txn)
    },
  ],
  [
    'a signature of another key',
    'invalid_exact_avm_invalid_signature',
    () => {
      const txn = transfer()
      return make([Submission.encode({ txn, sig: signature(txn, stranger) })], 0, txn)
    },
  ],
  [
    'a program for a signature',
    'invalid_exact_avm_invalid_signature',
    () => {
      const txn = transfer()
      return make([Submission.encode({ txn, lsig: { l: Uint8Array.of(6, 0x81, 1) } } as never)], 0, txn)
    },
  ],
  [
    'two kinds of signature',
    'invalid_exact_avm_invalid_signature',
    () => {
      const txn = transfer()
      const msig = Multisig.empty(multisigOf([buyer, stranger]))
      return make([Submission.encode({ txn, sig: signature(txn, buyer), msig })], 0, txn)
    },
  ],
  [
    'a stranger in the group',
    'invalid_exact_avm_payload_unexpected_transaction',
    () => groupOf([[feePayment()], [transfer(), buyer], [transfer({ snd: stranger.publicKey }), stranger]], 1),
  ],
  [
    'a second transfer by the buyer',
    'invalid_exact_avm_payload_unexpected_transaction',
    () => groupOf([[feePayment()], [transfer(), buyer], [transfer(), buyer]], 1),
  ],
  [
    'two payments of fees',
    'invalid_exact_avm_invalid_fee_payer',
    () => groupOf([[feePayment()], [feePayment({ fee: 1n })], [transfer(), buyer]], 2),
  ],
  [
    'fees of another type',
    'invalid_exact_avm_invalid_fee_payer',
    () => sponsored({}, { type: 'axfer', rcv: undefined, arcv: sponsor.publicKey }),
  ],
  ['fees with an amount', 'invalid_exact_avm_invalid_fee_payer', () => sponsored({}, { amt: 1n })],
  ['fees to another account', 'invalid_exact_avm_invalid_fee_payer', () => sponsored({}, { rcv: stranger.publicKey })],
  ['fees that close', 'invalid_exact_avm_invalid_fee_payer', () => sponsored({}, { close: stranger.publicKey })],
  ['fees that rekey', 'invalid_exact_avm_invalid_fee_payer', () => sponsored({}, { rekey: stranger.publicKey })],
  ['fees with a lease', 'invalid_exact_avm_invalid_fee_payer', () => sponsored({}, { lx: zero.map(() => 1) })],
  [
    'fees with an essay',
    'invalid_exact_avm_invalid_fee_payer',
    () => sponsored({}, { note: new Uint8Array(129).fill(1) }),
  ],
  [
    'fees signed already',
    'invalid_exact_avm_invalid_fee_payer',
    () =>
      groupOf(
        [
          [feePayment(), sponsor],
          [transfer(), buyer],
        ],
        1,
      ),
  ],
  ['fees above the limit', 'invalid_exact_avm_fee_too_high', () => sponsored({}, { fee: 10_001n })],
  ['valid for too long', 'invalid_exact_avm_payload_validity', () => alone({ lv: 1_101n })],
  ['valid for less than nothing', 'invalid_exact_avm_payload_validity', () => alone({ lv: 99n })],
]

for (const [what, code, makeIt] of refusals) {
  test(`${what}: ${code}`, () => assert.equal(codeOf(makeIt()), code))
}

test('reports a wrong version before a wrong network, as in the public scheme', () => {
  const { payload } = alone()
  const requirements = requirementsFor({ network: 'algorand:x' })
  assert.equal(codeOf({ payload: { ...payload, x402Version: 1 }, requirements }), 'invalid_exact_avm_invalid_version')
})

test('accepts fees up to the limit', () => {
  assert.equal(judge(sponsored({}, { fee: 10_000n })).feeMicroAlgos, 10_000n)
})

test('treats both forms of the network id as the same network', () => {
  const older = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
  assert.equal(codeOf(requiring(alone(), { network: older })), 'valid')
})

test('a rekeyed payer signs with its authorizer', () => {
  const txn = transfer()
  assert.equal(codeOf(make([sign(txn, stranger)], 0, txn)), 'valid')
})

test('a multisig payer needs enough signatures, from its own members', () => {
  const keys = [buyer, stranger, keyOf(9)]
  const snd = Multisig.address(multisigOf(keys))
  const txn = transfer({ snd })
  assert.equal(judge(make([signMultisig(txn, keys, keys.slice(0, 2))], 0, txn)).payer, Address.encode(snd))
  assert.equal(codeOf(make([signMultisig(txn, keys, keys.slice(0, 1))], 0, txn)), 'invalid_exact_avm_invalid_signature')
  const foreign = transfer()
  assert.equal(codeOf(make([signMultisig(foreign, keys, keys)], 0, foreign)), 'invalid_exact_avm_invalid_signature')
})

test('every encoding of a payment gives the same canonical bytes', () => {
  const txn = transfer({ fee: 1000n })
  const bytes = sign(txn)
  const text = Buffer.from(bytes).toString('base64')
  // The last character before the padding has unused bits.
  const last = text.indexOf('=') < 0 ? text.length : text.indexOf('=')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const loose = text.slice(0, last - 1) + alphabet[alphabet.indexOf(text[last - 1]!) + (last < text.length ? 1 : 0)]
  const long = Buffer.concat([Buffer.of(0xde, 0, 2), bytes.subarray(1)])
  const spellings = [text, text.replaceAll('=', ''), loose, reordered(bytes), long]
  const read = spellings.map((one) => judge(make([one], 0, txn)).group)
  for (const { transactionId, members } of read) {
    assert.equal(transactionId, read[0]!.transactionId)
    assert.deepEqual(Buffer.from(members[0]!.bytes), Buffer.from(bytes))
  }
})

test('accepts any payload or refuses it with a code', () => {
  const known = new Set<string>([...Object.keys(paymentErrors), 'valid'])
  const good = sponsored()
  const member = fc.oneof(
    fc.string(),
    fc.base64String({ maxLength: 400 }),
    fc.constantFrom(...(good.payload.payload['paymentGroup'] as string[])),
  )
  const inner = fc.oneof(
    fc.anything(),
    fc.record({ paymentGroup: fc.array(member, { maxLength: 18 }), paymentIndex: fc.integer({ min: -1, max: 18 }) }),
  )
  const changed = fc.record({ amount: fc.string(), asset: fc.string(), payTo: fc.string() }, { requiredKeys: [] })
  fc.assert(
    fc.property(inner, changed, (payload, change) =>
      known.has(codeOf({ payload: wrap(payload), requirements: requirementsFor(change) })),
    ),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (payload, requirements) =>
      known.has(codeOf({ payload: payload as never, requirements: requirements as never })),
    ),
    { numRuns: 500 },
  )
})

test('a payment with one changed byte is refused, or is the same payment', () => {
  const txn = transfer({ fee: 1000n })
  const bytes = sign(txn)
  const { id } = make([bytes], 0, txn)
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Uint8Array.from(bytes)
    damaged[at]! ^= 1
    const made = make([damaged], 0, txn)
    if (codeOf(made) === 'valid') assert.equal(judge(made).group.transactionId, id, `byte ${at}`)
  }
})

const payment = {} as VerifiedPayment

test('finds a payment only by exactly the checked values', () => {
  const verified = new VerifiedPayments()
  const { payload, requirements } = sponsored()
  verified.add(verificationKey(payload, requirements), payment)
  const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))
  assert.equal(verified.get(verificationKey(copy(payload), copy(requirements))), payment)
  const { paymentGroup, paymentIndex } = payload.payload as { paymentGroup: string[]; paymentIndex: number }
  const [fee, transfer] = paymentGroup as [string, string]
  const flipped = `${transfer.slice(0, 40)}${transfer[40] === 'A' ? 'B' : 'A'}${transfer.slice(41)}`
  const payloads = [
    { paymentGroup: [fee, flipped], paymentIndex },
    { paymentGroup: [transfer, fee], paymentIndex },
    { paymentGroup: [fee, transfer], paymentIndex: 0 },
    { paymentGroup: [fee + transfer], paymentIndex },
    { paymentGroup: [fee, transfer, ''], paymentIndex },
    { paymentGroup: [fee, 5], paymentIndex },
    { paymentGroup: 'x', paymentIndex },
    {},
  ].map((changed) => ({ ...payload, payload: changed }) as unknown as PaymentPayload)
  const accepted = { ...payload.accepted, network: 'algorand:other' as const }
  payloads.push({ ...payload, accepted }, { ...payload, x402Version: 1 }, undefined as never, null as never)
  for (const other of payloads) assert.equal(verified.get(verificationKey(other, requirements)), undefined)
  for (const change of [
    { amount: '1001' },
    { payTo: 'X' },
    { asset: '1' },
    { network: 'algorand:x' },
    { scheme: 'x' },
  ]) {
    const other = requirementsFor(change as Partial<PaymentRequirements>)
    assert.equal(verified.get(verificationKey(payload, other)), undefined)
  }
  for (const other of [undefined, null, {}]) {
    assert.equal(verified.get(verificationKey(payload, other as never)), undefined)
  }
})

test('checks a payment with another signature again, even after the first was verified', async (t) => {
  const { facilitator, node } = await setUp(t)
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  const { paymentGroup } = payload.payload as { paymentGroup: string[] }
  const bytes = Buffer.from(paymentGroup[1]!, 'base64')
  const at = bytes.indexOf(Buffer.from('sig')) + 10
  bytes[at] = bytes[at]! ^ 1
  const forged = {
    ...payload,
    payload: { ...payload.payload, paymentGroup: [paymentGroup[0], bytes.toString('base64')] },
  }
  const refused = await facilitator.settle(forged as PaymentPayload, requirements)
  assert.equal(refused.errorReason, 'invalid_exact_avm_invalid_signature')
  const cheaper = await facilitator.settle(payload, { ...requirements, amount: '999' })
  assert.equal(cheaper.errorReason, 'invalid_exact_avm_amount_mismatch')
  assert.equal(node.submitted.length, 0)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})
