import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import * as Ed25519 from './Ed25519.js'
import { key32, mutated, numRuns, typedTransaction } from './fuzz.test.helper.js'
import { Writer } from './Msgpack.js'
import * as Multisig from './Multisig.js'
import * as SignedTransaction from './SignedTransaction.js'
import * as Submission from './Submission.js'
import * as Transaction from './Transaction.js'
import '../../../test/seed.mjs'

const alice = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(1))
const bob = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(2))
const txn = { type: 'pay', snd: alice.publicKey, rcv: bob.publicKey, amt: 5n, fv: 1n, lv: 2n, gh: bob.publicKey }
const msig = Multisig.empty({ version: 1, threshold: 1, publicKeys: [alice.publicKey, bob.publicKey] })

test('signed transactions equal those of algosdk, with and without another signer', () => {
  fc.assert(
    fc.property(typedTransaction, key32, fc.boolean(), (transaction, seed, isSender) => {
      const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
      const { bytes, sender } = Transaction.canonicalize(
        Transaction.encode(isSender ? { ...transaction, snd: publicKey } : transaction),
      )
      const signature = Ed25519.sign(Transaction.bytesToSign(bytes), secretKey)
      const attached = SignedTransaction.attach(bytes, sender, signature, publicKey)

      const theirs = algosdk.decodeMsgpack(attached, algosdk.SignedTransaction)
      assert.deepEqual(Buffer.from(algosdk.encodeMsgpack(theirs)), Buffer.from(attached))
      assert.deepEqual(theirs.sgnr?.publicKey, isSender ? undefined : publicKey)
      assert.ok(Ed25519.verify(theirs.sig!, Transaction.bytesToSign(bytes), publicKey))

      const decoded = SignedTransaction.decode(attached)
      assert.deepEqual(SignedTransaction.encode(decoded), attached)
    }),
    { numRuns: Math.ceil(numRuns / 4) },
  )
})

test('signatures match those of algosdk', () => {
  const bytes = Transaction.encode(txn)
  const signature = Ed25519.sign(Transaction.bytesToSign(bytes), alice.secretKey)
  const attached = SignedTransaction.attach(bytes, alice.publicKey, signature, alice.publicKey)
  const theirs = algosdk.decodeUnsignedTransaction(bytes).signTxn(alice.secretKey)
  assert.deepEqual(Buffer.from(attached), Buffer.from(theirs))
})

test('every kind of authorisation round-trips', () => {
  const l = Uint8Array.of(1, 32, 1, 1, 34)
  const arg = [new Uint8Array(), Uint8Array.of(1)]
  const kinds: SignedTransaction.SignedTransaction[] = [
    { txn },
    { txn, sig: new Uint8Array(64).fill(1), sgnr: bob.publicKey },
    { txn, msig },
    { txn, lsig: { l } },
    { txn, lsig: { l, arg, sig: new Uint8Array(64).fill(2) } },
    { txn, lsig: { l, msig } },
    { txn, lsig: { l, lmsig: msig } },
  ]
  for (const signed of kinds) {
    const bytes = SignedTransaction.encode(signed)
    assert.deepEqual(SignedTransaction.decode(bytes), signed)
    const theirs = algosdk.decodeMsgpack(bytes, algosdk.SignedTransaction)
    assert.deepEqual(Buffer.from(algosdk.encodeMsgpack(theirs)), Buffer.from(bytes))
  }
})

test('concatenated transactions are read one by one', () => {
  const one = SignedTransaction.encode({ txn })
  const two = SignedTransaction.encode({ txn, sig: new Uint8Array(64).fill(1) })
  const both = Uint8Array.of(...one, ...two)
  const first = SignedTransaction.decodeFirst(both)
  assert.equal(first.end, one.length)
  const second = SignedTransaction.decodeFirst(both.subarray(first.end))
  assert.equal(second.end, two.length)
  assert.deepEqual(second.signed.sig, new Uint8Array(64).fill(1))
})

test('unknown members, a missing transaction and wrong lengths are rejected', () => {
  const bytes = Transaction.encode(txn)
  const wrong: ((writer: Writer) => void)[] = [
    (w) => w.nil(),
    (w) => w.raw(bytes),
    (w) => w.mapHeader(1).str('sig').bin(new Uint8Array(64)),
    (w) => w.mapHeader(1).str('txn').nil(),
    (w) => w.mapHeader(2).str('pqsig').mapHeader(0).str('txn').raw(bytes),
    (w) => w.mapHeader(2).str('sig').bin(new Uint8Array(63)).str('txn').raw(bytes),
    (w) => w.mapHeader(2).str('lsig').mapHeader(1).str('x').nil().str('txn').raw(bytes),
  ]
  for (const write of wrong) {
    const writer = new Writer()
    write(writer)
    assert.throws(() => SignedTransaction.decode(writer.bytes()), SignedTransaction.DecodeError)
  }
  assert.throws(() => SignedTransaction.attach(bytes, alice.publicKey, new Uint8Array(63), bob.publicKey), {
    code: 'invalid_key_length',
  })
  assert.throws(() => SignedTransaction.attach(bytes, alice.publicKey, new Uint8Array(64), new Uint8Array(31)), {
    code: 'invalid_key_length',
  })
})

test('damaged bytes are rejected with DecodeError or read', () => {
  const source = fc.constantFrom(
    SignedTransaction.encode({ txn, msig, sgnr: bob.publicKey }),
    SignedTransaction.encode({ txn, lsig: { l: Uint8Array.of(1), arg: [Uint8Array.of(1)], lmsig: msig } }),
  )
  fc.assert(
    fc.property(mutated(source), (bytes) => {
      try {
        const canonical = SignedTransaction.encode(SignedTransaction.decode(bytes))
        assert.deepEqual(SignedTransaction.encode(SignedTransaction.decode(canonical)), canonical)
      } catch (error) {
        assert.ok(error instanceof SignedTransaction.DecodeError, `unexpected ${error}`)
      }
    }),
    { numRuns },
  )
})

test('a duplicate key is refused, in the signed transaction and inside it', () => {
  const plain = Transaction.encode(txn)
  const signature = new Uint8Array(64).fill(9)
  const slot = (w: Writer): Writer => w.mapHeader(1).str('pk').bin(alice.publicKey)
  const wrong: ((w: Writer) => void)[] = [
    (w) => w.mapHeader(3).str('sig').bin(signature).str('txn').raw(plain).str('txn').raw(plain),
    (w) => w.mapHeader(3).str('sig').bin(signature).str('txn').raw(plain).str('sig').bin(signature),
    (w) =>
      slot(w.mapHeader(2).str('txn').raw(plain).str('msig').mapHeader(4).str('subsig').arrayHeader(1))
        .str('v')
        .uint(1)
        .str('v')
        .uint(1)
        .str('thr')
        .uint(1),
    (w) =>
      w.mapHeader(2).str('txn').raw(plain).str('lsig').mapHeader(2).str('l').bin(signature).str('l').bin(signature),
  ]
  for (const write of wrong) {
    const writer = new Writer()
    write(writer)
    for (const decode of [SignedTransaction.decode, Submission.decodeFirst]) {
      assert.throws(() => decode(writer.bytes()), { code: 'invalid_encoding', message: /occurs twice$/ })
    }
  }
})
