import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Suggestion from './Suggestion.js'

const networks = ['mainnet', 'testnet', 'betanet']

test('the nearest candidate is suggested', () => {
  assert.equal(Suggestion.closest('tesnet', networks), 'testnet')
  assert.equal(Suggestion.closest('tetsnet', networks), 'testnet')
  assert.equal(Suggestion.closest('mainet', networks), 'mainnet')
  assert.equal(Suggestion.closest('bet', ['best', 'bit']), 'best')
  assert.equal(Suggestion.didYouMean('tesnet', networks), 'did you mean testnet?')
})

test('nothing is suggested when no candidate is near', () => {
  assert.equal(Suggestion.closest('ethereum', networks), undefined)
  assert.equal(Suggestion.closest('', networks), undefined)
  assert.equal(Suggestion.closest('testnet', []), undefined)
  assert.equal(Suggestion.didYouMean('ethereum', networks), undefined)
})

test('the distance counts insertions, deletions, changes and swaps of neighbours', () => {
  assert.equal(Suggestion.distance('', ''), 0)
  assert.equal(Suggestion.distance('key', ''), 3)
  assert.equal(Suggestion.distance('key', 'keys'), 1)
  assert.equal(Suggestion.distance('key', 'kay'), 1)
  assert.equal(Suggestion.distance('key', 'kye'), 1)
  assert.equal(Suggestion.distance('kitten', 'sitting'), 3)
})
