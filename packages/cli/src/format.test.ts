import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { columns, printable, printableJson, printableLines, quoted, shellWord } from './format.js'

test('replaces characters that move the cursor, end the line or change its direction', () => {
  assert.equal(printable('a\u001b[2Jb\nc\u009bd\u202ee\u2028f\ud800'), 'a?[2Jb?c?d?e?f?')
  assert.equal(printable('Größe 鍵 🔑 ☕\ufe0f'), 'Größe 鍵 🔑 ☕\ufe0f')
  assert.equal(printable('savings\u200b\u3164\u00ad'), 'savings???')
  assert.equal(printable('savings\ufe01\u{e0100}☕\ufe0f\u{e0101}\u2800'), 'savings??☕\ufe0f??')
})

test('keeps the line breaks of several lines, and no other control characters', () => {
  assert.equal(printableLines('a\r\nb\tc\u001b'), 'a?\nb?c?')
  assert.equal(printableLines('b\tc\u001b', '\t'), 'b\tc?')
})

test('escapes unprintable characters in JSON without changing the value', () => {
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

const isBashMissing = spawnSync('bash', ['--version']).error !== undefined && process.env['CI'] !== 'true'

test('quotes a word with control characters so that the shell gets it unchanged and the terminal sees none of them', {
  skip: isBashMissing && 'bash is not installed',
}, () => {
  for (const word of ["a\u001b]52;c;QQ==\u0007'\\7", 'b\u009b2J\u202e7\n', '\u{e0041}1']) {
    const written = shellWord(word)
    assert.equal(written, printable(written))
    assert.equal(execFileSync('bash', ['-c', `printf %s ${written}`], { encoding: 'utf8' }), word)
  }
})

test('pads every column but the last', () => {
  const rows = [
    ['a', 'bb', ''],
    ['longer', 'b', 'c'],
  ]
  assert.equal(columns(rows), 'a       bb\nlonger  b   c\n')
  assert.equal(columns([]), '')
})
