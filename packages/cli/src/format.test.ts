import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columns, printable, printableJson, quoted, shellWord } from './format.js'

test('replaces characters that move the cursor, end the line or change its direction', () => {
  assert.equal(printable('a\u001b[2Jb\nc\u009bd\u202ee\u2028f\ud800'), 'a?[2Jb?c?d?e?f?')
  assert.equal(printable('Größe 鍵 🔑'), 'Größe 鍵 🔑')
})

test('escapes in JSON what is not printable, without a change of the value', () => {
  const value = { text: 'a\u001b\u009b\u202e\u2028\u{e0001}b Größe 🔑' }
  const json = printableJson(value)
  assert.equal(json, printable(json))
  assert.deepEqual(JSON.parse(json), value)
})

test('quotes a name unless it is plain', () => {
  assert.equal(quoted('savings-2.old'), 'savings-2.old')
  assert.equal(quoted('my "own" \u0007'), '"my \\"own\\" ?"')
  assert.equal(quoted(''), '""')
})

test('quotes a word for a shell', () => {
  assert.equal(shellWord('/var/lib/kmd-v0.5'), '/var/lib/kmd-v0.5')
  assert.equal(shellWord("it's $HOME"), `'it'\\''s $HOME'`)
  assert.equal(shellWord('-rf'), '-rf')
})

test('pads every column but the last', () => {
  const rows = [
    ['a', 'bb', ''],
    ['longer', 'b', 'c'],
  ]
  assert.equal(columns(rows), 'a       bb\nlonger  b   c\n')
  assert.equal(columns([]), '')
})
