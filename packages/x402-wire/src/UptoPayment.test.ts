import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Bytes, Ed25519, Program, Submission, UptoProgram } from '@latchkey/algorand'
import * as UptoPayment from './UptoPayment.js'

const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(1))
const other = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(2))
const payer = Address.encode(publicKey)
const payTo = Address.encode(new Uint8Array(32).fill(3))
const facilitator = Address.encode(new Uint8Array(32).fill(4))
const genesisHash = new Uint8Array(32).fill(5)

function authorize(change: Partial<UptoPayment.AuthorizationOrder> = {}) {
  const unsigned = UptoPayment.buildAuthorization({
    payer,
    payTo,
    assetId: 7n,
    maxAmount: 500n,
    facilitator,
    genesisHash,
    lastRound: 5_000n,
    isPublicNetwork: true,
    maxTimeoutSeconds: 60,
    ...change,
  })
  const signature = Ed25519.sign(UptoPayment.bytesToSign(unsigned), secretKey)
  return { unsigned, payload: UptoPayment.toPayload(unsigned, signature, payer) }
}

test('an authorization is read with its terms, and its id is its lease', () => {
  const { unsigned, payload } = authorize()
  const authorization = UptoPayment.read(payload)
  assert.deepEqual(authorization.terms, unsigned.terms)
  assert.equal(authorization.id, unsigned.id)
  assert.ok(UptoPayment.isId(authorization.id))
  assert.deepEqual(UptoPayment.leaseOfId(authorization.id), unsigned.terms.lease)
  assert.equal(
    unsigned.terms.lastValid,
    5_000n + 75n,
    'long enough for 60 seconds of work, and for sending and settling',
  )
  assert.notEqual(authorize().unsigned.id, unsigned.id, 'each has a nonce of its own')
})

test('an id that is not that of an authorization has no lease', () => {
  for (const id of ['', 'upto-', `upto-${'A'.repeat(51)}`, 'A'.repeat(52), `upto-${'a'.repeat(52)}`]) {
    assert.equal(UptoPayment.isId(id), false, id)
    assert.throws(() => UptoPayment.leaseOfId(id), { code: 'invalid_upto_payload' })
  }
})

test('every other payload is refused with its reason', () => {
  const { payload, unsigned } = authorize()
  const { terms, nonce } = unsigned
  const signed = (program: Uint8Array, secret = secretKey) => ({
    ...payload,
    program: Bytes.toBase64(program),
    signature: Bytes.toBase64(Ed25519.sign(Program.bytesToSign(program), secret)),
  })
  const otherProgram = UptoProgram.build(terms)
  otherProgram[4] = 1
  const damaged = Bytes.fromBase64(payload.signature)!
  damaged[3] = damaged[3]! ^ 1
  const cases: [string, unknown][] = [
    ['invalid_upto_payload', undefined],
    ['invalid_upto_payload', {}],
    ['invalid_upto_payload', { ...payload, program: 7 }],
    ['invalid_upto_payload', { ...payload, signer: 7 }],
    ['invalid_upto_payload', { ...payload, signer: 'x' }],
    ['invalid_upto_payload', { ...payload, nonce: '' }],
    ['invalid_upto_payload', { ...payload, signature: payload.signature.slice(4) }],
    ['invalid_upto_program', { ...payload, program: '' }],
    ['invalid_upto_program', { ...payload, program: 'A'.repeat(1_000_000) }],
    ['invalid_upto_program', signed(otherProgram)],
    ['invalid_upto_lease', signed(UptoProgram.build({ ...terms, lastValid: terms.lastValid + 1n }))],
    ['invalid_upto_lease', signed(UptoProgram.build({ ...terms, maxAmount: terms.maxAmount + 1n }))],
    ['invalid_upto_lease', { ...payload, nonce: Bytes.toBase64(new Uint8Array(16)) }],
    ['invalid_upto_signature', signed(UptoProgram.build(terms), other.secretKey)],
    ['invalid_upto_signature', { ...payload, signature: Bytes.toBase64(damaged) }],
    ['invalid_upto_signature', { ...payload, signer: Address.encode(other.publicKey) }],
    ['invalid_upto_program', authorize({ maxAmount: 0n }).payload],
    ['invalid_upto_program', authorize({ assetId: 0n }).payload],
    ['invalid_upto_program', authorize({ facilitator: payer }).payload],
    ['invalid_upto_program', authorize({ payTo: payer }).payload],
  ]
  for (const [code, one] of cases) assert.throws(() => UptoPayment.read(one), { name: 'UptoError', code })
  assert.equal(nonce.length, 16)
})

test('a term that differs from the requirement is named', () => {
  const authorization = UptoPayment.read(authorize().payload)
  const requirement = {
    scheme: 'upto',
    network: 'algorand:x' as const,
    asset: '7',
    amount: '500',
    payTo,
    maxTimeoutSeconds: 60,
    extra: { feePayer: facilitator },
  }
  assert.equal(UptoPayment.mismatch(authorization, requirement, genesisHash), undefined)
  const cases: [UptoPayment.Mismatch, object, Uint8Array?][] = [
    ['network', {}, new Uint8Array(32)],
    ['asset', { asset: '8' }],
    ['payTo', { payTo: facilitator }],
    ['facilitator', { extra: {} }],
    ['facilitator', { extra: { feePayer: payTo } }],
    ['amount', { amount: '499' }],
    ['amount', { amount: '0500' }],
  ]
  for (const [term, change, genesis = genesisHash] of cases) {
    assert.equal(UptoPayment.mismatch(authorization, { ...requirement, ...change }, genesis), term)
  }
})

test('a transfer is built for any amount up to the maximum, and for no other', () => {
  const authorization = UptoPayment.read(authorize().payload)
  const { terms } = authorization
  for (const amount of [0n, 1n, 499n, 500n]) {
    const { fee, transfer } = UptoPayment.buildTransfer(authorization, { amount, feeMicroAlgos: 2_000n })
    const { txn, lsig } = transfer.signed
    assert.ok(UptoPayment.isTransfer(terms, txn))
    assert.equal(txn.aamt ?? 0n, amount)
    assert.equal(txn.fee, undefined)
    assert.deepEqual(txn.grp, fee.signed.txn.grp)
    assert.deepEqual(lsig?.l, authorization.program)
    assert.equal(Submission.decodeFirst(transfer.bytes).id, transfer.id)
  }
  for (const amount of [501n, -1n]) {
    assert.throws(() => UptoPayment.buildTransfer(authorization, { amount, feeMicroAlgos: 2_000n }), {
      code: 'upto_amount_exceeds_maximum',
    })
  }
})

test('a transaction is the transfer of an authorization only if every term matches', () => {
  const authorization = UptoPayment.read(authorize().payload)
  const { transfer } = UptoPayment.buildTransfer(authorization, { amount: 5n, feeMicroAlgos: 2_000n })
  const { txn } = transfer.signed
  const changes = [
    { aamt: 501n },
    { arcv: publicKey },
    { xaid: 8n },
    { lx: new Uint8Array(32) },
    { snd: other.publicKey },
  ]
  for (const change of changes) assert.equal(UptoPayment.isTransfer(authorization.terms, { ...txn, ...change }), false)
})

test('a rekeyed payer names the key that signed', () => {
  const { unsigned } = authorize()
  const signer = Address.encode(other.publicKey)
  const signature = Ed25519.sign(UptoPayment.bytesToSign(unsigned), other.secretKey)
  const authorization = UptoPayment.read(UptoPayment.toPayload(unsigned, signature, signer))
  assert.equal(authorization.signer, signer)
  const { transfer } = UptoPayment.buildTransfer(authorization, { amount: 5n, feeMicroAlgos: 2_000n })
  assert.deepEqual(transfer.signed.sgnr, other.publicKey)
})

test('a key signs only complete terms of its own account', () => {
  const { unsigned } = authorize()
  UptoPayment.checkUnsigned(unsigned, payer)
  assert.throws(() => UptoPayment.checkUnsigned(unsigned, payTo), { code: 'invalid_upto_program' })
  const later = { ...unsigned, terms: { ...unsigned.terms, lastValid: unsigned.terms.lastValid + 36n } }
  assert.throws(() => UptoPayment.checkUnsigned(later, payer), { code: 'invalid_upto_lease' })
})
