import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Line, type Typed } from './Line.js'

function typed(...pieces: string[]): { end: Typed | undefined; screen: string } {
  let screen = ''
  const line = new Line((text) => {
    screen += text
  })
  let end: Typed | undefined
  for (const piece of pieces) end ??= line.type(piece)
  return { end, screen }
}

const entered = (text: string, rest = ''): Typed => ({ end: 'entered', text, rest })
const interrupted: Typed = { end: 'interrupted', text: '', rest: '' }

test('a line ends with Enter; what follows is left for the next question', () => {
  assert.deepEqual(typed('secret\r').end, entered('secret'))
  assert.deepEqual(typed('sec', 'ret\n').end, entered('secret'))
  assert.deepEqual(typed('one\rtwo\rthree').end, entered('one', 'two\rthree'))
  assert.equal(typed('not yet').end, undefined)
})

test('Ctrl-C interrupts anywhere, Ctrl-D in an empty line', () => {
  assert.deepEqual(typed('\u0003').end, interrupted)
  assert.deepEqual(typed('half\u0003\r').end, interrupted)
  assert.deepEqual(typed('\u0004').end, interrupted)
  assert.deepEqual(typed('half\u0004\r').end, entered('half'))
  assert.deepEqual(typed('x\u007f\u0004').end, interrupted)
})

test('letters, the last word and the whole line can be taken back', () => {
  assert.deepEqual(typed('ab\u007fc\b\r').end, entered('a'))
  assert.deepEqual(typed('\u007f\u007fa\r').end, entered('a'))
  assert.deepEqual(typed('wrong\u0015right\r').end, entered('right'))
  assert.deepEqual(typed('one two  \u0017three\r').end, entered('one three'))
  assert.deepEqual(typed('one\u0017\u0017\r').end, entered(''))
})

test('a letter outside of ASCII is one letter, and leaves as many columns as it took', () => {
  assert.deepEqual(typed('gr\u00fc\u007f\r').end, entered('gr'))
  assert.deepEqual(typed('🔑\u007f\r').end, entered(''))
  assert.equal(typed('ü\u007f').screen, 'ü\b \b')
  assert.equal(typed('鍵\u007f').screen, '鍵\b \b\b \b')
  assert.equal(typed('e\u0301\u007f').screen, 'e\u0301')
})

test('arrows and function keys leave nothing, in whatever pieces they arrive', () => {
  for (const key of ['\u001b[A', '\u001b[1;5C', '\u001bOP', '\u001b[200~', '\u001b[3~', '\u001bx', '\u001b\u001b[A']) {
    assert.deepEqual(typed(`a${key}b\r`).end, entered('ab'), JSON.stringify(key))
    assert.deepEqual(typed('a', ...key, 'b\r').end, entered('ab'), JSON.stringify(key))
  }
})

test('after Escape, Enter and Ctrl-C are what they are', () => {
  assert.deepEqual(typed('a\u001b\r').end, entered('a'))
  assert.deepEqual(typed('a\u001b[\u0003').end, interrupted)
})

test('other control characters are no letters', () => {
  assert.deepEqual(typed('a\u0000\u0007\t\u009bb\r'), { end: entered('ab'), screen: 'ab' })
})

test('a line beyond the limit is refused, not cut', () => {
  assert.deepEqual(typed(`${'x'.repeat(4_096)}\r`).end, entered('x'.repeat(4_096)))
  assert.deepEqual(typed(`${'x'.repeat(4_097)}\r`).end, { end: 'overlong', text: '', rest: '' })
})

test('how the bytes are cut into pieces does not matter', () => {
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
