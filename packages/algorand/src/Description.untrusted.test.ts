/** Tests descriptions of untrusted content: they are safe to print and never lack the important warnings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/anyCharacter.mjs'
import * as Description from './Description.js'
import { bob, describe, firstLine } from './Description.test.helper.js'
import { anyTransaction, typedTransaction } from './fuzz.test.helper.js'
import * as Transaction from './Transaction.js'
import '../../../test/seed.mjs'

test('shows a note safely', async (t) => {
  const note = (text: string | Uint8Array): string =>
    describe({ rcv: bob, note: Buffer.from(text as string) }).lines.find((line) => line.startsWith('Note: '))!

  await t.test('text is shown as text', () => assert.equal(note('grüße, 你好 🙂'), 'Note: "grüße, 你好 🙂".'))
  await t.test('text cannot end its quotes', () => assert.equal(note('a". Fee "\\'), 'Note: "a\\". Fee \\"\\\\".'))
  await t.test('text stays on one line', () => assert.equal(note('a\r\nb\u2028c'), 'Note: "a\\u{d}\\nb\\u{2028}c".'))
  await t.test('text that moves the cursor, changes direction or hides is shown as bytes', () => {
    for (const text of ['\u001b[2J', '\u202eevil', 'a\u200bb', '\u009b', '\u3164', '\u0000']) {
      assert.equal(note(text), `Note: ${Buffer.from(text).toString('base64')} (base64).`)
    }
  })
  await t.test('bytes that are not text are shown in base64', () =>
    assert.equal(note(Uint8Array.of(0xff, 1)), 'Note: /wE= (base64).'),
  )
  await t.test('a long note is truncated', () => {
    assert.equal(note('x'.repeat(300)), `Note: "${'x'.repeat(200)}" and 100 more characters.`)
    assert.match(note(new Uint8Array(1024).fill(255)), /^Note: \/{96} and 952 more bytes \(base64\)\.$/)
  })
})

test('untrusted names of assets cannot break out of their quotes', () => {
  const text = firstLine({ type: 'acfg', apar: { t: 1n, an: 'a"\u202e\n', un: Uint8Array.of(0xff, 0x41) } })
  assert.equal(text, 'Creates an asset named "a\\"\\u{202e}\\n": 1 "\ufffdA" in total, 0 decimals.')
})

/** Control characters, bidi controls, line separators and lone surrogates: unsafe on a terminal. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u

test('every transaction that decodes is described in printable lines', () => {
  const assets = fc.dictionary(
    fc.nat({ max: 130 }).map(String),
    fc.record({ decimals: fc.integer(), unitName: fc.string({ unit: anyCharacter }) }),
  )
  const property = fc.property(fc.oneof(anyTransaction, typedTransaction), assets, (transaction, units) => {
    const decoded = Transaction.decode(Transaction.encode(transaction))
    const known = new Map(Object.entries(units).map(([id, asset]) => [BigInt(id), asset]))
    const { lines, warnings, finalWarnings } = Description.describe(decoded, { assets: known })
    assert.ok(lines.length >= 4)
    for (const line of [...lines, ...warnings, ...Description.describeGroup([decoded, decoded])]) {
      assert.doesNotMatch(line, unprintable)
      assert.ok(line.length < 5_000, line)
    }
    assert.deepEqual(warnings.slice(0, finalWarnings.length), finalWarnings)
  })
  fc.assert(property, { numRuns: 500 })
})

test('a rekey always comes with a warning', () => {
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((bytes) => bytes.some((byte) => byte !== 0))
  fc.assert(
    fc.property(typedTransaction, key, (transaction, rekey) => {
      const { finalWarnings } = Description.describe({ ...transaction, rekey })
      assert.match(finalWarnings[0]!, /^It (rekeys|gives) /)
    }),
    { numRuns: 200 },
  )
})
