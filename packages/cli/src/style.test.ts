import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasColor, styled } from './style.js'

const terminal = { isTTY: true }
const pipe = {}

test('a terminal has colour, a pipe has none', () => {
  assert.equal(hasColor(terminal, {}), true)
  assert.equal(hasColor(pipe, {}), false)
  assert.equal(hasColor(terminal, { TERM: 'dumb' }), false)
})

test('NO_COLOR and FORCE_COLOR decide', () => {
  assert.equal(hasColor(terminal, { NO_COLOR: '1' }), false)
  assert.equal(hasColor(terminal, { NO_COLOR: '' }), true, 'blank counts as not set: no-color.org')
  assert.equal(hasColor(pipe, { FORCE_COLOR: '1' }), true)
  assert.equal(hasColor(terminal, { FORCE_COLOR: '0' }), false)
})

test('text cannot add escape sequences or lines', () => {
  const spans = ['a\x1b[31mb', ['green', 'c\nd\x9b2J']] as const
  assert.equal(styled(spans, pipe, {}), 'a?[31mbc?d?2J')
  assert.equal(styled(spans, terminal, {}), 'a?[31mb\x1b[32mc?d?2J\x1b[0m')
})
