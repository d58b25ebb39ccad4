import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import { anyTransaction, mutated, numRuns, readerRuns, typedTransaction } from './fuzz.test.helper.js'
import { transaction as schema } from './internal/TransactionSchema.js'
import { write } from './loose.test.helper.js'
import { Writer } from './Msgpack.js'
import * as Transaction from './Transaction.js'
import '../../../test/seed.mjs'

test('encoding and id equal those of algosdk, for every type', () => {
  fc.assert(
    fc.property(typedTransaction, (transaction) => {
      const bytes = Transaction.encode(transaction)
      const theirs = algosdk.decodeUnsignedTransaction(bytes)
      assert.deepEqual(Buffer.from(bytes), Buffer.from(algosdk.encodeUnsignedTransaction(theirs)))
      assert.equal(Transaction.id(transaction), theirs.txID())
      assert.equal(Transaction.id(bytes), theirs.txID())
    }),
    { numRuns },
  )
})

test('recognises its own encoding as canonical and returns it without a copy', () => {
  fc.assert(
    fc.property(typedTransaction, fc.uint8Array({ maxLength: 3 }), (transaction, trailing) => {
      const bytes = Transaction.encode(transaction)
      const exact = Transaction.canonicalize(bytes)
      assert.equal(exact.bytes, bytes)
      assert.deepEqual(exact.sender, transaction.snd)
      const longer = Transaction.canonicalize(Buffer.concat([bytes, trailing]))
      assert.deepEqual(Buffer.from(longer.bytes), Buffer.from(bytes))
    }),
    { numRuns },
  )
})

test('decoding returns the encoded transaction without zero values', () => {
  fc.assert(
    fc.property(anyTransaction, (transaction) => {
      const bytes = Transaction.encode(transaction)
      const decoded = Transaction.decode(bytes)
      assert.deepEqual(Transaction.encode(decoded), bytes)
      assert.deepEqual(Transaction.decode(Transaction.encode(decoded)), decoded)
      sameOrRefused(bytes)
    }),
    { numRuns },
  )
})

test('any valid spelling of a transaction has the one canonical form', () => {
  fc.assert(
    fc.property(anyTransaction, fc.array(fc.nat(), { minLength: 1, maxLength: 60 }), (transaction, choices) => {
      const writer = new Writer()
      let next = 0
      write(schema, transaction, writer, (limit) => choices[next++ % choices.length]! % limit)
      assert.deepEqual(Transaction.canonicalize(writer.bytes()).bytes, Transaction.encode(transaction))
      sameOrRefused(writer.bytes())
    }),
    { numRuns },
  )
})

test('fields are left out of canonical bytes as out of the transaction', () => {
  const someNames = fc.subarray(
    schema.fields.map(({ name }) => name).filter((name) => name !== 'type' && name !== 'snd'),
  )
  const cases = fc.tuple(fc.oneof(anyTransaction, typedTransaction), someNames)
  fc.assert(
    fc.property(cases, ([transaction, names]) => {
      const rest = { ...transaction, ...Object.fromEntries(names.map((name) => [name, undefined])) }
      const without = Transaction.withoutFields(Transaction.encode(transaction), names as (keyof typeof transaction)[])
      assert.deepEqual(without, Transaction.encode(rest))
    }),
    { numRuns },
  )
})

test('damaged transactions are rejected with DecodeError or canonicalised the same on both paths', () => {
  const source = fc.oneof(anyTransaction, typedTransaction).map(Transaction.encode)
  fc.assert(fc.property(mutated(source), sameOrRefused), { numRuns: readerRuns })
})

test('random bytes are rejected with DecodeError or canonicalised the same on both paths', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), sameOrRefused), { numRuns: readerRuns })
})

function sameOrRefused(bytes: Uint8Array): void {
  const fast = outcome(() => Transaction.canonicalize(bytes))
  const full = outcome(() => {
    const transaction = Transaction.decode(bytes)
    return { bytes: Transaction.encode(transaction), sender: transaction.snd }
  })
  assert.equal(typeof fast, typeof full)
  if (typeof fast === 'string' || typeof full === 'string') return
  assert.deepEqual(Buffer.from(fast.bytes), Buffer.from(full.bytes))
  assert.deepEqual(Buffer.from(fast.sender), Buffer.from(full.sender))
  // The result is a fixed point and recognized as canonical.
  assert.equal(Transaction.canonicalize(full.bytes).bytes, full.bytes)
}

function outcome<T>(run: () => T): T | string {
  try {
    return run()
  } catch (error) {
    assert.ok(error instanceof Transaction.DecodeError, `unexpected ${error}`)
    return error.message
  }
}
