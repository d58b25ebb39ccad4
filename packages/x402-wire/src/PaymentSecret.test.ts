import assert from 'node:assert/strict'
import test from 'node:test'
import { Bytes } from '@latchkey/algorand'
import * as PaymentHeaders from './PaymentHeaders.js'
import * as PaymentSecret from './PaymentSecret.js'
import type { PaymentPayload } from './parsePayment.js'

const plain = { x402Version: 2, accepted: {}, payload: {} } as unknown as PaymentPayload
const declared: PaymentPayload = { ...plain, extensions: { other: { info: 1 }, ...PaymentSecret.declaration() } }

function infoOf(payload: PaymentPayload): { [name: string]: unknown } {
  return (payload.extensions![PaymentSecret.key] as { info: { [name: string]: unknown } }).info
}

function withInfo(info: unknown): PaymentPayload {
  return { ...plain, extensions: { [PaymentSecret.key]: { info } } }
}

test('a buyer adds the hash, and the secret with each repeat', () => {
  const { secret, hash } = PaymentSecret.create()
  assert.equal(secret.length, 32)
  const first = PaymentSecret.add(declared, hash)
  assert.deepEqual(infoOf(first), { algorithm: 'sha-256', hash })
  assert.deepEqual(PaymentSecret.read(first), { hash, isProven: false })
  const repeat = PaymentSecret.reveal(first, secret)
  assert.deepEqual(PaymentSecret.read(repeat), { hash, isProven: true })
  // The seller's declaration is echoed, and other extensions stay.
  assert.deepEqual(repeat.extensions!['other'], { info: 1 })
  assert.equal(infoOf(repeat)['algorithm'], 'sha-256')
  assert.deepEqual(infoOf(declared), { algorithm: 'sha-256' }, 'the original is not changed')
})

test('uses the hash of the published algorithm', () => {
  assert.equal(PaymentSecret.hashOf(Bytes.fromUtf8('abc')), 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
})

test('adds nothing if the seller declared nothing', () => {
  const { secret, hash } = PaymentSecret.create()
  const others = [undefined, {}, { [PaymentSecret.key]: { info: { algorithm: 'md5' } } }, { [PaymentSecret.key]: null }]
  for (const extensions of others) {
    const payload = { ...plain, extensions } as PaymentPayload
    assert.equal(PaymentSecret.add(payload, hash), payload)
    assert.equal(PaymentSecret.reveal(payload, secret), payload)
  }
  assert.equal(PaymentSecret.isDeclared(PaymentSecret.declaration()), true)
})

test('older buyers, who echo the declaration or leave it out, prove nothing', () => {
  for (const payload of [plain, declared, { ...plain, extensions: null as never }]) {
    assert.deepEqual(PaymentSecret.read(payload), { hash: undefined, isProven: false })
  }
})

test('removes the secret for the facilitator, but not the hash', () => {
  const { secret, hash } = PaymentSecret.create()
  const repeat = PaymentSecret.reveal(declared, secret)
  const stripped = PaymentSecret.strip(repeat)
  assert.deepEqual(infoOf(stripped), { algorithm: 'sha-256', hash })
  assert.ok(!PaymentHeaders.encode(stripped).includes(Bytes.toBase64Url(secret)))
  assert.equal(infoOf(repeat)['secret'], Bytes.toBase64Url(secret), 'the original is not changed')
  for (const payload of [plain, declared, PaymentSecret.add(declared, hash)]) {
    assert.equal(PaymentSecret.strip(payload), payload)
  }
})

test('rejects malformed or mismatched secrets', () => {
  const { secret, hash } = PaymentSecret.create()
  const text = Bytes.toBase64Url(secret)
  const algorithm = 'sha-256'
  const bad: [unknown, RegExp][] = [
    [undefined, /no info/],
    ['x', /no info/],
    [[], /no info/],
    [{ algorithm, hash: 5 }, /the hash/],
    [{ algorithm, hash: 'x'.repeat(100_000) }, /the hash/],
    [{ algorithm, hash: `${hash}=` }, /the hash/],
    [{ algorithm, hash: null }, /the hash/],
    [{ algorithm, secret: text }, /the hash/],
    [{ algorithm, hash, secret: '' }, /the secret/],
    [{ algorithm, hash, secret: null }, /the secret/],
    [{ algorithm, hash, secret: hash }, /does not match its hash/],
    [{ algorithm: 'md5', hash }, /the algorithm/],
    [{ hash, secret: text }, /the algorithm/],
  ]
  for (const [info, message] of bad) assert.match(String(PaymentSecret.read(withInfo(info))), message)
})
