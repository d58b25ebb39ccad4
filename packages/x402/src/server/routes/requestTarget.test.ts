import assert from 'node:assert/strict'
import test from 'node:test'
import { targetProblem } from './requestTarget.js'

const origin = 'http://shop.example'
const fixed = (target: string) => targetProblem(target, origin, { isPricedByFunction: false, allowsRepeated: false })
const byFunction = (target: string, allowsRepeated = false) =>
  targetProblem(target, origin, { isPricedByFunction: true, allowsRepeated })

test('names targets that the URL standard and handlers read differently, for fixed and dynamic prices', () => {
  const problems: { [target: string]: RegExp } = {
    '/a?x=1#&y=2': /fragment/,
    '/a#': /fragment/,
    '/a\\b': /backslash/,
    '/a?b=\\': /backslash/,
    'a/b': /start with a slash/,
    '//a/b': /two slashes/,
    '/a;b=1': /semicolon/,
    '/a%00': /control/,
    '/a%0Ab': /control/,
    '/a?b=%00': /control/,
    '/a?b=%': /UTF-8/,
    '/a%c3': /UTF-8/,
    '/a?b=%ED%A0%80': /UTF-8/,
    '/a/../b': /dot segments/,
    '/a/%2e%2e/b': /dot segments/,
    '/a\u00e9': /escapes/,
    '/a?b=\u00e9': /escapes/,
    '/a?b=<': /escapes/,
    '/a?b=c d': /escapes/,
    '/a\tb': /escapes/,
    'http://other.example/a': /host/,
    'https://shop.example/a': /host/,
    'http://user@shop.example/a': /host/,
    'http://shop.example:81/a': /host/,
  }
  for (const [target, expected] of Object.entries(problems)) {
    assert.match(fixed(target) ?? '', expected, target)
    assert.match(byFunction(target) ?? '', expected, target)
  }
})

test('finds no problem in an ordinary target', () => {
  const targets = [
    '/',
    '/a?',
    '/a/b.c~d-e_f',
    '/caf%C3%A9/a%20b?x=caf%c3%a9+%26%3D%25%0A',
    "/a?b=O'Brien&c={x|y}&d=^`",
    '/a?u=https://example.com/?b=c',
    'http://shop.example/a?b',
    'HTTP://SHOP.example:80/a',
  ]
  for (const target of targets) {
    assert.equal(fixed(target), undefined, target)
    assert.equal(byFunction(target), undefined, target)
  }
})

test('names spellings and parameters that parsers read differently if a function chooses the price', () => {
  const problems: { [target: string]: RegExp } = {
    '/%61': /escapes a letter/,
    '/a?%62=1': /escapes a letter/,
    '/a?b=%2D': /escapes a letter/,
    '/a%2Fb': /separator/,
    '/a%5cb': /separator/,
    '/a%25b': /separator/,
    '/a%3Fb': /separator/,
    '/a//b': /empty segment/,
    '/a?b=1;c=2': /semicolon/,
    '/a?b=1&b=2': /repeats/,
    '/a?b=1&B=2': /repeats/,
    '/a??b=1&?b=2': /repeats/,
    '/a?b[]=1': /brackets/,
    '/a?b%5B0%5D=1': /brackets/,
    '/a?b=c]=1': /brackets/,
    '/a?b=c%5D=1': /brackets/,
    '/a?b+=1': /space/,
    '/a?%20b=1': /space/,
    '/a?=1': /without a name/,
    '/a?constructor=1': /reserved/,
    [`/a?${Array.from({ length: 101 }, (_, index) => `p${index}`).join('&')}`]: /more than 100/,
  }
  for (const [target, expected] of Object.entries(problems)) {
    assert.match(byFunction(target) ?? '', expected, target)
    assert.equal(fixed(target), undefined, target)
  }
})

test('repeated parameters can be allowed, and nothing else with them', () => {
  assert.equal(byFunction('/a?b=1&b=2', true), undefined)
  assert.match(byFunction('/a?b[]=1&b[]=2', true) ?? '', /brackets/)
})
