import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLike } from './isLike.js'

test('matches like ILIKE', () => {
  const cases: [text: string, pattern: string, matches: boolean][] = [
    ['Token', 'token', true],
    ['Token', 'tok', false],
    ['Token', '%OK%', true],
    ['Token', 't%n', true],
    ['Token', 't_ken', true],
    ['Token', 't_en', false],
    ['a%b', '%\\%%', true],
    ['ab', '%\\%%', false],
    ['a\\b', 'a\\\\b', true],
    ['', '%%', true],
    ['', '_', false],
    ['mississippi', '%iss%ip%i', true],
    ['mississippi', '%iss%ix%', false],
    ['Ünïcödé', '%ÜNÏ%', true],
  ]
  for (const [text, pattern, matches] of cases) assert.equal(isLike(text, pattern), matches, `${text} ${pattern}`)
})

test('is quick for a pattern that is crafted to be slow', () => {
  assert.equal(isLike('a'.repeat(32), `${'%a'.repeat(2_000)}%b`), false)
})
