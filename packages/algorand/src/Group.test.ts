import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import * as Ed25519 from './Ed25519.js'
import { numRuns, typedTransaction } from './fuzz.test.helper.js'
import * as Group from './Group.js'
import * as Transaction from './Transaction.js'
import '../../../test/seed.mjs'

const [a, b, c] = [1, 2, 3].map((fill) => Ed25519.publicKey(new Uint8Array(32).fill(fill))) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const header = { fv: 1n, lv: 1001n, gen: 'dockernet-v1', gh: new Uint8Array(32).fill(7) }
const pair = [
  { ...header, type: 'pay', snd: b, rcv: b, fee: 2000n },
  { ...header, type: 'axfer', snd: a, arcv: c, aamt: 1000n, xaid: 1001n },
]

test('a group has the published id and member ids', () => {
  assert.equal(Buffer.from(Group.id(pair)).toString('base64'), 'DOImOws1n80uDJT+VO5e8spxPOk1EPh4tISNj1dLdOk=')
  assert.deepEqual(Group.assign(pair).map(Transaction.id), [
    'KJ6WUHFUQR4BBEWS636JWCHTFNQ2OWD6ESKPT2IFNPKVTXDA5J3Q',
    'BJKQPF22UYIAE6OJUFGGC5SACKRWD36PZYMK3KOKJ5R4CDUSZG3A',
  ])
})

test('canonical bytes have the same id, with and without a group', () => {
  fc.assert(
    fc.property(fc.array(typedTransaction, { minLength: 1, maxLength: 16 }), (transactions) => {
      const grp = Group.id(transactions)
      assert.deepEqual(Group.idOfEncoded(transactions.map(Transaction.encode)), grp)
      assert.deepEqual(Group.idOfEncoded(Group.assign(transactions).map(Transaction.encode)), grp)
    }),
    { numRuns: Math.ceil(numRuns / 10) },
  )
})

test('bytes that are not canonical have no group id', () => {
  const [bytes] = pair.map(Transaction.encode) as [Uint8Array]
  for (const other of [Buffer.concat([bytes, Buffer.of(0)]), bytes.subarray(0, 20), new Uint8Array()]) {
    assert.throws(() => Group.idOfEncoded([other]), { name: 'DecodeError' })
  }
})

test('ids equal those of algosdk', () => {
  const ungrouped = typedTransaction.map((transaction) => ({ ...transaction, grp: undefined }))
  fc.assert(
    fc.property(fc.array(ungrouped, { minLength: 1, maxLength: 16 }), (transactions) => {
      const theirs = transactions.map((transaction) =>
        algosdk.decodeUnsignedTransaction(Transaction.encode(transaction)),
      )
      assert.deepEqual(Group.id(transactions), new Uint8Array(algosdk.computeGroupID(theirs)))
    }),
    { numRuns: Math.ceil(numRuns / 10) },
  )
})

test('ignores an id that the members already have', () => {
  assert.deepEqual(Group.id(Group.assign(pair)), Group.id(pair))
})

test('a group is complete only with all members in order', () => {
  const group = Group.assign(pair)
  assert.equal(Group.isComplete(group), true)
  assert.equal(Group.isComplete(pair), false)
  assert.equal(Group.isComplete(group.toReversed()), false)
  assert.equal(Group.isComplete(group.slice(1)), false)
  assert.equal(Group.isComplete([group[0]!, { ...group[1]!, aamt: 1n }]), false)
  assert.equal(Group.isComplete([]), false)
})

test('a group has 1 to 16 members', () => {
  assert.throws(() => Group.id([]), Group.GroupError)
  assert.throws(() => Group.assign(new Array(17).fill(pair[0])), Group.GroupError)
  assert.equal(Group.assign(new Array(16).fill(pair[0])).length, 16)
})
