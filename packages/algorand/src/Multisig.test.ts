import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import * as Address from './Address.js'
import * as Ed25519 from './Ed25519.js'
import { key32, numRuns } from './fuzz.test.helper.js'
import { DecodeError, Writer } from './Msgpack.js'
import * as Multisig from './Multisig.js'
import '../../../test/seed.mjs'

const pairs = [1, 2, 3].map((fill) => Ed25519.keyPairFromSeed(new Uint8Array(32).fill(fill)))
const [a, b, c] = pairs as [Ed25519.KeyPair, Ed25519.KeyPair, Ed25519.KeyPair]
const twoOfThree = { version: 1, threshold: 2, publicKeys: pairs.map((pair) => pair.publicKey) }
const message = Uint8Array.of(1, 2, 3)

function signedBy(...signers: Ed25519.KeyPair[]): Multisig.Signature {
  return signers.reduce(
    (signature, { publicKey, secretKey }) =>
      Multisig.addSignature(signature, publicKey, Ed25519.sign(message, secretKey)),
    Multisig.empty(twoOfThree),
  )
}

test('addresses match the published ones', () => {
  assert.equal(
    Address.encode(Multisig.address(twoOfThree)),
    'MN72UOZMBF2UWDIWE3YK4IFLD3OSIWNB63WQAJFBZEKJL3GI5TAH2T6D7A',
  )
  const publicKeys = [
    Address.decode('RARAQGGTYYIAKPP7M44M2ITTE2AXASJD5VIMPRQDU5VJTK3XAA62OLW7IM'),
    Address.decode('AY3EXNCEATTJ3KUPVEVDFUYMO6CT3R3S6QQSVIGTXKCFG26L4WGLJU5PF4'),
    new Uint8Array(32).fill(1),
  ]
  const address = Multisig.address({ version: 1, threshold: 2, publicKeys })
  assert.equal(Address.encode(address), '5XCQNLERSLGTEFHBFHUGNG6XKEVP3YTEB23GRF5DVSOKUIHTB2TZSOPKLE')
})

test('addresses equal those of algosdk', () => {
  fc.assert(
    fc.property(fc.array(key32, { minLength: 1, maxLength: 12 }), fc.nat(), (publicKeys, choice) => {
      const threshold = 1 + (choice % publicKeys.length)
      const addrs = publicKeys.map((key) => algosdk.encodeAddress(key))
      assert.equal(
        Address.encode(Multisig.address({ version: 1, threshold, publicKeys })),
        algosdk.multisigAddress({ version: 1, threshold, addrs }).toString(),
      )
    }),
    { numRuns },
  )
})

test('the version is checked before the threshold', () => {
  const { publicKeys } = twoOfThree
  assert.throws(() => Multisig.address({ version: 2, threshold: 0, publicKeys: [] }), { message: 'unknown version' })
  for (const threshold of [0, 4, -1, 1.5, 256]) {
    assert.throws(() => Multisig.address({ version: 1, threshold, publicKeys }), { message: 'Invalid threshold' })
  }
  assert.throws(() => Multisig.address({ version: 1, threshold: 1, publicKeys: [] }), { message: 'Invalid threshold' })
  assert.throws(() => Multisig.address({ version: 1, threshold: 1, publicKeys: [message] }), Multisig.MultisigError)
})

test('there is no limit on the number of keys', () => {
  const publicKeys = new Array<Uint8Array>(300).fill(a.publicKey)
  assert.equal(Multisig.address({ version: 1, threshold: 1, publicKeys }).length, 32)
})

test('verify returns true when enough members have signed', () => {
  assert.equal(Multisig.verify(Multisig.empty(twoOfThree), message), false)
  assert.equal(Multisig.verify(signedBy(a), message), false)
  assert.equal(Multisig.verify(signedBy(a, c), message), true)
  assert.equal(Multisig.verify(signedBy(c, b, a), message), true)
  assert.equal(Multisig.verify(signedBy(a, c), Uint8Array.of(1)), false)
})

test('verify returns false if one signature is wrong', () => {
  const wrong = Multisig.addSignature(signedBy(a, b), c.publicKey, new Uint8Array(64).fill(9))
  assert.equal(Multisig.verify(wrong, message), false)
})

test('verify returns false for impossible thresholds and versions', () => {
  const { subsig } = signedBy(a, b)
  assert.equal(Multisig.verify({ v: 2, thr: 2, subsig }, message), false)
  assert.equal(Multisig.verify({ v: 1, thr: 0, subsig: [] }, message), false)
  assert.equal(Multisig.verify({ v: 1, thr: 4, subsig }, message), false)
})

test('a key that occurs twice is signed in both slots', () => {
  const double = { ...twoOfThree, publicKeys: [a.publicKey, a.publicKey, b.publicKey] }
  const signature = Ed25519.sign(message, a.secretKey)
  const { subsig } = Multisig.addSignature(Multisig.empty(double), a.publicKey, signature)
  assert.deepEqual(subsig, [{ pk: a.publicKey, s: signature }, { pk: a.publicKey, s: signature }, { pk: b.publicKey }])
})

test('accepts the same signature again, rejects a different one and a key that is not a member', () => {
  assert.deepEqual(signedBy(a, a), signedBy(a))
  const other = new Uint8Array(64).fill(1)
  assert.throws(() => Multisig.addSignature(signedBy(a), a.publicKey, other), { message: 'Invalid duplicates' })
  assert.throws(() => Multisig.addSignature(signedBy(a), message, other), { message: 'Key does not exist' })
  assert.throws(() => Multisig.addSignature(signedBy(), a.publicKey, message), Multisig.MultisigError)
})

test('partial signatures merge in any order', () => {
  assert.deepEqual(Multisig.merge([signedBy(a), signedBy(b)]), signedBy(a, b))
  assert.deepEqual(Multisig.merge([signedBy(c), signedBy(a, b), signedBy(b)]), signedBy(a, b, c))
  assert.deepEqual(Multisig.preimage(signedBy(a)), twoOfThree)
})

test('rejects merging signatures of different multisigs', () => {
  const first = signedBy(a)
  const reordered = { ...first, subsig: first.subsig.toReversed() }
  const different = Multisig.addSignature(Multisig.empty(twoOfThree), a.publicKey, new Uint8Array(64).fill(1))
  assert.throws(() => Multisig.merge([first, reordered]), { message: 'Public key lists do not match' })
  assert.throws(() => Multisig.merge([first, { ...first, subsig: first.subsig.slice(1) }]), {
    message: 'Public key lists do not match',
  })
  assert.throws(() => Multisig.merge([first, different]), { message: 'Invalid duplicates' })
  assert.throws(() => Multisig.merge([first, { ...first, thr: 1 }]), Multisig.MultisigError)
  assert.throws(() => Multisig.merge([first, { ...first, v: 2 }]), Multisig.MultisigError)
  assert.throws(() => Multisig.merge([first]), Multisig.MultisigError)
})

test('the encoding omits missing signatures and is read back', () => {
  const signature = signedBy(b)
  const bytes = Multisig.encode(signature)
  const expected = new Writer().mapHeader(3).str('subsig').arrayHeader(3)
  expected.mapHeader(1).str('pk').bin(a.publicKey)
  expected.mapHeader(2).str('pk').bin(b.publicKey).str('s').bin(Ed25519.sign(message, b.secretKey))
  expected.mapHeader(1).str('pk').bin(c.publicKey)
  expected.str('thr').uint(2).str('v').uint(1)
  assert.deepEqual(bytes, expected.bytes())
  assert.deepEqual(Multisig.decode(bytes), signature)

  const zeroSigned = { ...signature, subsig: signature.subsig.map(({ pk }) => ({ pk, s: new Uint8Array(64) })) }
  assert.deepEqual(Multisig.encode(zeroSigned), Multisig.encode(Multisig.empty(twoOfThree)))
})

test('decoding rejects missing, unknown and duplicate members', () => {
  const wrong: ((writer: Writer) => void)[] = [
    (w) => w.nil(),
    (w) => w.mapHeader(0),
    (w) => w.mapHeader(2).str('thr').uint(1).str('v').uint(1),
    (w) => w.mapHeader(1).str('x').uint(1),
    (w) => w.mapHeader(1).str('v').uint(256),
    (w) =>
      w.mapHeader(4).str('subsig').arrayHeader(1).mapHeader(0).str('thr').uint(1).str('v').uint(1).str('v').uint(1),
    (w) => twice(w, 'pk', a.publicKey),
    (w) => twice(w, 's', new Uint8Array(64).fill(1)),
    (w) => w.mapHeader(1).str('subsig').arrayHeader(256).raw(new Uint8Array(256).fill(0x80)),
  ]
  for (const write of wrong) {
    const writer = new Writer()
    write(writer)
    assert.throws(() => Multisig.decode(writer.bytes()), DecodeError)
  }
})

function twice(writer: Writer, name: string, value: Uint8Array): Writer {
  writer.mapHeader(3).str('thr').uint(1).str('v').uint(1).str('subsig').arrayHeader(1)
  return writer.mapHeader(2).str(name).bin(value).str(name).bin(value)
}
