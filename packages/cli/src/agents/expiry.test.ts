import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readExpiry } from './expiry.js'

const nowMs = Date.parse('2026-06-15T12:00:00Z')

test('an expiry is a duration, a day until its end, a moment, or never', () => {
  const ends: [string, string | undefined][] = [
    ['12h', '2026-06-16T00:00:00.000Z'],
    ['30d', '2026-07-15T12:00:00.000Z'],
    ['8w', '2026-08-10T12:00:00.000Z'],
    ['2027-01-31', '2027-02-01T00:00:00.000Z'],
    ['2026-06-15', '2026-06-16T00:00:00.000Z'],
    ['2027-01-31T12:00Z', '2027-01-31T12:00:00.000Z'],
    ['2027-01-31T12:00:30+02:00', '2027-01-31T10:00:30.000Z'],
    ['never', undefined],
  ]
  for (const [text, end] of ends) {
    const atMs = readExpiry(text, nowMs)
    assert.equal(atMs === undefined ? undefined : new Date(atMs).toISOString(), end, text)
  }
})

test('an invalid or past time, or one more than ten years away, is refused', () => {
  const texts = [
    '',
    '0d',
    '5',
    '5m',
    '-1d',
    '99999w',
    '2027-02-30',
    '2026-06-14',
    '2020-01-01',
    '2027-01-31T12:00',
    'NEVER',
  ]
  for (const text of texts) {
    assert.throws(() => readExpiry(text, nowMs), { code: 'invalid_usage', message: /--expires/ }, text)
  }
})
