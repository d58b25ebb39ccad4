import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyValue, mutated, numRuns, readerRuns, typedTransaction } from './fuzz.test.helper.js'
import { submitted as schema } from './internal/SignatureSchema.js'
import { write } from './loose.test.helper.js'
import { Writer } from './Msgpack.js'
import * as SignedTransaction from './SignedTransaction.js'
import * as Submission from './Submission.js'
import * as Transaction from './Transaction.js'
import '../../../test/seed.mjs'

const zero = Submission.fromJson({})

const anySubmitted = (anyValue(schema) as fc.Arbitrary<Partial<Submission.Submitted>>).map(
  (members): Submission.Submitted => ({ ...zero, ...members }),
)
const submittedBytes = fc.oneof(
  anySubmitted.map(Submission.encode),
  typedTransaction.map((txn) => Submission.encode({ txn, sig: new Uint8Array(64).fill(1) })),
)

test('encoded submissions are decoded, and encoded the same again', () => {
  fc.assert(
    fc.property(anySubmitted, (signed) => {
      const bytes = Submission.encode(signed)
      const { signed: decoded, end } = Submission.decodeFirst(bytes)
      assert.equal(end, bytes.length)
      assert.deepEqual(Submission.encode(decoded), bytes)
    }),
    { numRuns },
  )
})

test('any valid spelling decodes to the same transaction', () => {
  fc.assert(
    fc.property(anySubmitted, fc.array(fc.nat(), { minLength: 1, maxLength: 60 }), (signed, choices) => {
      const writer = new Writer()
      let next = 0
      write(schema, signed, writer, (limit) => choices[next++ % choices.length]! % limit)
      const { signed: decoded, bytes, transactionBytes } = Submission.decodeFirst(writer.bytes())
      assert.deepEqual(Submission.encode(decoded), Submission.encode(signed))
      assert.deepEqual(bytes, Submission.encode(decoded))
      assert.deepEqual(transactionBytes, Submission.transactionBytes(decoded.txn))
    }),
    { numRuns },
  )
})

test('reads everything that a signer reads, with the same result', () => {
  fc.assert(
    fc.property(mutated(submittedBytes), (bytes) => {
      const strict = orUndefined(() => SignedTransaction.decodeFirst(bytes))
      if (strict !== undefined) assert.deepEqual(Submission.decodeFirst(bytes), strict)
    }),
    { numRuns },
  )
})

test('the JSON form converts back to the same transaction', () => {
  fc.assert(
    fc.property(submittedBytes, (bytes) => {
      const { signed } = Submission.decodeFirst(bytes)
      fc.pre(isTextUtf8(signed))
      const json = Submission.toJson(signed)
      const read = Submission.fromJson(json)
      assert.deepEqual(read, signed)
      assert.deepEqual(Submission.encode(read), bytes)
      assert.deepEqual(Submission.toJson(read), json)
    }),
    { numRuns },
  )
})

test('damaged JSON is rejected with DecodeError or read', () => {
  const text = submittedBytes.map((bytes) => {
    const json = Submission.toJson(Submission.decodeFirst(bytes).signed)
    return new Uint8Array(Buffer.from(JSON.stringify(json, (_, v) => (typeof v === 'bigint' ? Number(v) : v))))
  })
  fc.assert(
    fc.property(fc.oneof(mutated(text).map(parsed), fc.jsonValue()), (value) => {
      const read = orUndefined(() => Submission.fromJson(value))
      if (read !== undefined) assert.deepEqual(Submission.decodeFirst(Submission.encode(read)).signed, read)
    }),
    { numRuns },
  )
})

test('damaged submissions are rejected with DecodeError or read', () => {
  const source = fc.array(submittedBytes, { minLength: 1, maxLength: 3 }).map((parts) => Buffer.concat(parts))
  fc.assert(fc.property(mutated(source), readOrRefused), { numRuns: Math.ceil(readerRuns / 5) })
})

test('random bytes are rejected with DecodeError or read', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), readOrRefused), { numRuns: readerRuns })
})

function readOrRefused(bytes: Uint8Array): void {
  const all = orUndefined(() => Submission.decodeAll(bytes, 16))
  for (const { signed, bytes: recognized, transactionBytes, id } of all ?? []) {
    const canonical = Submission.encode(signed)
    assert.deepEqual(recognized, canonical)
    if (all!.length === 1 && Submission.isCanonical(bytes)) assert.deepEqual(bytes, canonical)
    assert.deepEqual(transactionBytes, Submission.transactionBytes(signed.txn))
    assert.equal(id, Transaction.id(transactionBytes))
    assert.deepEqual(Submission.decodeFirst(canonical).signed, signed)
    Submission.toJson(signed)
  }
}

function orUndefined<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    assert.ok(error instanceof Submission.DecodeError, `unexpected ${error}`)
    return undefined
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

/** Text that is not UTF-8 cannot be restored from JSON. */
function isTextUtf8(signed: Submission.Submitted): boolean {
  const { un, an, au } = signed.txn.apar ?? {}
  return ![un, an, au].some((text) => text instanceof Uint8Array)
}
