import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase64 } from './JsonLexer.js'
import '../../../../test/seed.mjs'

const decode = (text: string): string | undefined => decodeBase64(Buffer.from(text, 'latin1'))?.toString('hex')

test('decodes what Buffer encodes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = Buffer.from(bytes).toString('base64')
      assert.equal(decode(text), Buffer.from(bytes).toString('hex'))
    }),
    { numRuns: 2000 },
  )
})

test('line breaks are allowed anywhere', () => {
  for (const text of ['YWJj\r\nZGVm', '\nYWJjZGVm\n', 'Y\nW\rJ\nj\rZ\nG\rV\nm', 'YWJjZGVm\r\n\r\n']) {
    assert.equal(decode(text), Buffer.from('abcdef').toString('hex'))
  }
  assert.equal(decode('YQ=\n='), '61')
  assert.equal(decode('\r\n'), '')
})

test('bits after the last byte are ignored', () => {
  assert.equal(decode('YR=='), '61')
  assert.equal(decode('YWK='), '6162')
})

const rejected: { [why: string]: string[] } = {
  'the URL-safe alphabet': ['-_-_', 'ab-d', 'ab_d'],
  'missing padding': ['YQ', 'YWI', 'YWJjZ'],
  'too much padding': ['YQ===', 'Y===', '====', '=', 'YWJj====', 'YWJjY==='],
  'padding in the middle': ['YQ==YQ==', 'Y=Q=', '=YQ=', 'YQ=a'],
  'other characters': ['YW J', ' YWJj', 'YWJj ', 'YW\tj', 'YW.j', 'YW\0j', 'YW\xffj', 'YW,j', 'YWJj\v\v\v\v'],
}
for (const [why, texts] of Object.entries(rejected)) {
  test(`rejects ${why}`, () => {
    for (const text of texts) assert.equal(decode(text), undefined, JSON.stringify(text))
  })
}

test('accepts the same texts as Go: the alphabet, padded to four', () => {
  const text = fc.string({ unit: fc.constantFrom('A', 'b', '9', '+', '/', '=', '-', ' ', '\n'), maxLength: 12 })
  fc.assert(
    fc.property(text, (sent) => {
      const clean = sent.replaceAll('\n', '')
      const isValid = /^(?:[Ab9+/]{4})*(?:[Ab9+/]{2}==|[Ab9+/]{3}=)?$/.test(clean)
      assert.equal(decode(sent), isValid ? Buffer.from(clean, 'base64').toString('hex') : undefined)
    }),
    { numRuns: 20_000 },
  )
})
