import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as NextToken from './NextToken.js'

test('a token is read back', () => {
  const position = { round: 2n ** 40n + 3n, intra: 4_000_000_000 }
  assert.deepEqual(NextToken.readTransaction(NextToken.ofTransaction(position)), position)
  assert.equal(NextToken.readRound(NextToken.ofRound(7n)), 7n)
})

test('has the form of an indexer', () => {
  assert.equal(NextToken.ofTransaction({ round: 1n, intra: 0 }), 'AQAAAAAAAAAAAAAA')
  assert.equal(NextToken.ofRound(1n), 'AQAAAAAAAAA=')
})

test('anything else is rejected with a reason', () => {
  const cases: [token: string, reason: string][] = [
    ['x', 'decode err: illegal base64 data at input byte 0'],
    ['AAAA!', 'decode err: illegal base64 data at input byte 4'],
    ['AAAA', 'bad next token b: 000000'],
  ]
  for (const [token, reason] of cases) {
    assert.equal(NextToken.readTransaction(token), undefined)
    assert.equal(NextToken.readRound(token), undefined)
    assert.equal(NextToken.reason(token), reason)
  }
})
