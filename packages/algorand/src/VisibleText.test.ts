import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as VisibleText from './VisibleText.js'

const hidden = [
  ...['\x00', '\t', '\n', '\r', '\x1b', '\x7f', '\x85', '\x9b', '\u00ad', '\u034f', '\u061c', '\u115f', '\u1160'],
  ...['\u17b4', '\u180b', '\u180e', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u2028', '\u2029', '\u202e'],
  ...[
    '\u2060',
    '\u2066',
    '\u206f',
    '\u2800',
    '\u3164',
    '\u{1d159}',
    '\u{13441}',
    '\u{13442}',
    '\ud800',
    '\udfff',
    '\ue000',
    '\ufe00',
    '\ufe0f',
    '\ufeff',
  ],
  ...['\uffa0', '\ufff9', '\u{1d159}', '\u{1d173}', '\u{1bca0}', '\u{e0001}', '\u{e0041}', '\u{e0100}', '\u{e01ef}'],
  ...['\u{f0000}', '\u{10ffff}'],
]

test('invisible characters are replaced', () => {
  for (const character of hidden) {
    const name = character.codePointAt(0)!.toString(16)
    assert.equal(VisibleText.replaceHidden(`a${character}b`), 'a\ufffdb', name)
    assert.equal(VisibleText.replaceHiddenOnScreen(`a${character}b`, '?'), 'a?b', name)
  }
})

test('letters, marks, symbols and spaces of all scripts stay', () => {
  for (const text of ['Größe', '鍵', '🔑☕', 'e\u0301', 'Ελληνικά', 'हिन्दी', 'עברית', 'a b', '…“”', '\ufffd']) {
    assert.equal(VisibleText.replaceHidden(text), text)
    assert.equal(VisibleText.replaceHiddenOnScreen(text), text)
  }
})

test('on a screen, one variation selector stays after a character it applies to', () => {
  for (const text of ['☕\ufe0f', '1\ufe0f\u20e3', '葛\u{e0100}', '\u1820\u180b']) {
    assert.equal(VisibleText.replaceHiddenOnScreen(text), text)
    assert.notEqual(VisibleText.replaceHidden(text), text)
  }
  assert.equal(VisibleText.replaceHiddenOnScreen('☕\ufe0f\ufe0f\u{e0101}', '?'), '☕\ufe0f??')
  assert.equal(VisibleText.replaceHiddenOnScreen('a\ufe0f', '?'), 'a?')
  assert.equal(VisibleText.replaceHiddenOnScreen('☕\u{e0101}', '?'), '☕?')
})

test('a replacement is used verbatim, and may depend on the character', () => {
  assert.equal(VisibleText.replaceHidden('a\u200b', '$&'), 'a$&')
  assert.equal(
    VisibleText.replaceHidden('a\u200b', (character) => character.charCodeAt(0).toString(16)),
    'a200b',
  )
})
