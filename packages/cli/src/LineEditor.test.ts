import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineEditor, type LineResult } from './LineEditor.js'
import '../../../test/seed.mjs'

function typed(...pieces: string[]): { end: LineResult | undefined; screen: string } {
  let screen = ''
  const line = new LineEditor((text) => {
    screen += text
  })
  let end: LineResult | undefined
  for (const piece of pieces) end ??= line.type(piece)
  return { end, screen }
}

const entered = (text: string, rest = ''): LineResult => ({ end: 'entered', text, rest })
const interrupted: LineResult = { end: 'interrupted', text: '', rest: '' }

test('Enter ends a line; the input after it is kept for the next prompt', () => {
  assert.deepEqual(typed('secret\r').end, entered('secret'))
  assert.deepEqual(typed('sec', 'ret\n').end, entered('secret'))
  assert.deepEqual(typed('one\rtwo\rthree').end, entered('one', 'two\rthree'))
  assert.equal(typed('not yet').end, undefined)
})

test('Ctrl-C interrupts anywhere, Ctrl-D only on an empty line', () => {
  assert.deepEqual(typed('\u0003').end, interrupted)
  assert.deepEqual(typed('half\u0003\r').end, interrupted)
  assert.deepEqual(typed('\u0004').end, interrupted)
  assert.deepEqual(typed('half\u0004\r').end, entered('half'))
  assert.deepEqual(typed('x\u007f\u0004').end, interrupted)
})

test('erases a character, a word or the whole line', () => {
  assert.deepEqual(typed('ab\u007fc\b\r').end, entered('a'))
  assert.deepEqual(typed('\u007f\u007fa\r').end, entered('a'))
  assert.deepEqual(typed('wrong\u0015right\r').end, entered('right'))
  assert.deepEqual(typed('one two  \u0017three\r').end, entered('one three'))
  assert.deepEqual(typed('one\u0017\u0017\r').end, entered(''))
})

test('erases a non-ASCII character as one, with all its columns', () => {
  assert.deepEqual(typed('gr\u00fc\u007f\r').end, entered('gr'))
  assert.deepEqual(typed('🔑\u007f\r').end, entered(''))
  assert.equal(typed('ü\u007f').screen, 'ü\b \b')
  assert.equal(typed('鍵\u007f').screen, '鍵\b \b\b \b')
  assert.equal(typed('e\u0301\u007f').screen, 'e\u0301')
})

test('ignores arrow and function keys, however they are chunked', () => {
  for (const key of ['\u001b[A', '\u001b[1;5C', '\u001bOP', '\u001b[200~', '\u001b[3~', '\u001bx', '\u001b\u001b[A']) {
    assert.deepEqual(typed(`a${key}b\r`).end, entered('ab'), JSON.stringify(key))
    assert.deepEqual(typed('a', ...key, 'b\r').end, entered('ab'), JSON.stringify(key))
  }
})

test('Enter and Ctrl-C work after Escape', () => {
  assert.deepEqual(typed('a\u001b\r').end, entered('a'))
  assert.deepEqual(typed('a\u001b[\u0003').end, interrupted)
})

test('ignores other control characters', () => {
  assert.deepEqual(typed('a\u0000\u0007\t\u009bb\r'), { end: entered('ab'), screen: 'ab' })
})

test('rejects a line beyond the limit instead of truncating it', () => {
  assert.deepEqual(typed(`${'x'.repeat(4_096)}\r`).end, entered('x'.repeat(4_096)))
  assert.deepEqual(typed(`${'x'.repeat(4_097)}\r`).end, { end: 'too-long', text: '', rest: '' })
})

test('gives the same result however the input is chunked', () => {
  const key = fc.constantFrom('a', ' ', 'ü', '\u007f', '\u0017', '\u0015', '\u001b', '[', 'O', '3', '~', '\u0003', '\r')
  fc.assert(
    fc.property(fc.array(key, { maxLength: 30 }), (keys) => {
      const whole = typed(keys.join(''))
      const apart = typed(...keys)
      assert.deepEqual(apart.end && { ...apart.end, rest: '' }, whole.end && { ...whole.end, rest: '' })
      assert.equal(apart.screen, whole.screen)
    }),
  )
})

test('echoes terminal control characters as a question mark, and keeps them in the line', () => {
  let echo = ''
  const line = new LineEditor((text) => {
    echo += text
  })
  const pasted = 'a\u202eb\u200b\u{e0041}'
  assert.equal(line.type(`${pasted}x\u007f\r`)?.text, pasted)
  assert.equal(echo, 'a?b??x\b \b')
})
