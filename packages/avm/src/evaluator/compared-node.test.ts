/** Messages and verdicts of programs where a comparison with a running node has shown a difference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bytes, type Transaction } from '@latchkey/algorand'
import { assemble } from '../assembler/assemble.js'
import { checkProgram } from './checkProgram.js'
import { evaluateSignature } from './evaluateSignature.js'
import type { Ledger } from './Ledger.js'

const group: Transaction.Transaction[] = [{ type: 'pay', snd: new Uint8Array(32).fill(1), fv: 1n, lv: 1000n }]
const ledger: Ledger = {
  genesisHash: new Uint8Array(32),
  blockHeader: () => {
    throw new RangeError('no block is needed')
  },
}

/** The verdict or the error of a program. */
function verdictOf(program: Uint8Array): string {
  const problem = checkProgram(program, { mode: 'signature', group })
  if (problem !== undefined) return problem
  const { isAccepted, error } = evaluateSignature({ program, group, index: 0, ledger })
  return error?.message ?? (isAccepted ? 'accepted' : 'rejected')
}

const ofHex = (hex: string): string => verdictOf(Uint8Array.from(Buffer.from(hex, 'hex')))

test('names the byte of an unknown field, or what its type has for the first one', () => {
  for (const [hex, expected] of [
    ['0d3145', 'invalid txn field invalidTxnField'],
    ['0d3146', 'invalid txn field TxnField(70)'],
    ['0d3217', 'invalid global field invalidGlobalField'],
    ['0d3218', 'invalid global field GlobalField(24)'],
    ['0d80005e02', 'invalid base64_decode encoding invalidBase64Encoding'],
    ['0d80005e03', 'invalid base64_decode encoding Base64Encoding(3)'],
    // The type is wrong before the text is.
    ['0d800080005f03', 'invalid json_ref type invalidJSONRefType'],
    ['0d800080005f04', 'invalid json_ref type JSONRefType(4)'],
  ] as const) {
    assert.equal(ofHex(hex), expected)
  }
})

test('checks the sizes of a VRF proof and key before the standard', () => {
  const [proof, key] = [`8050${'00'.repeat(80)}`, `8020${'00'.repeat(32)}`]
  assert.equal(ofHex('0d800080008000d001'), 'vrf proof wrong size 0 != 80')
  assert.equal(ofHex(`0d8000${proof}${key}d001`), 'invalid VRF standard invalidVrfStandard')
  assert.equal(ofHex(`0d8000${proof}${key}d002`), 'invalid VRF standard VrfStandard(2)')
})

test('an instruction for one value of a transaction does not know lists, whatever the transaction', () => {
  for (const hex of ['0d311a', '0d33031a', '0d33001a', '0d8103381a']) {
    assert.equal(ofHex(hex), 'invalid txn field ApplicationArgs')
  }
  assert.equal(ofHex('0d313a'), 'invalid txn field Logs')
})

test('a curve of a later version has its cost, and fails', () => {
  const values = '8000'.repeat(5)
  assert.equal(ofHex(`06${values}0501`), 'invalid curve 1')
  assert.equal(ofHex(`06${values}0601`), 'invalid curve 1')
  assert.equal(ofHex(`06${values}0502`), 'pc= 11 ecdsa_verify reported non-positive cost')
  const recover = '0d8000810080008000'
  assert.equal(ofHex(`${recover}0701`), 'unsupported curve 1')
  assert.equal(ofHex(`${recover}0702`), 'invalid curve 2')
})

test('counts the results that a subroutine lacks', () => {
  const verdict = (body: string) =>
    verdictOf(assemble(`#pragma version 8\ncallsub a; int 1; return; a: ${body}; retsub`).program)
  assert.equal(verdict('proto 0 1'), 'retsub executed with no return values on stack. proto declared 1')
  assert.equal(verdict('proto 0 2; int 5'), 'retsub executed with 1 return values on stack. proto declared 2')
})

/** The verdict of reading the integer `a` of a JSON text whose characters are bytes. */
function jsonVerdict(text: string): string {
  const push = (value: string): Uint8Array => Uint8Array.from([0x80, value.length, ...Buffer.from(value, 'latin1')])
  return verdictOf(Bytes.concat([Uint8Array.of(7), push(text), push('a'), Uint8Array.of(0x5f, 1)]))
}

const invalid = 'error while parsing JSON text, invalid json text'

test('json_ref accepts what a node accepts in other members', () => {
  const accepted = ['+', '-', '+1', '.5', '1.', '01', '1.e0', '1e308', '1e-400', '0e999', `"\\'"`, '"\\/"', '"\\u00g0"']
  for (const value of accepted) assert.equal(jsonVerdict(`{"b":${value},"a":1}`), 'accepted', value)
  const refused = [
    '++',
    '.',
    '+.',
    '1e',
    '1e+',
    '1-2',
    '--1',
    'e1',
    '1e309',
    '-1e309',
    '"\\x"',
    '"\\u12"',
    '["\\x"]',
    '[1-2]',
  ]
  for (const value of refused) assert.equal(jsonVerdict(`{"b":${value},"a":1}`), invalid, value)
})

test('json_ref compares names as bytes', () => {
  const replacement = '\xef\xbf\xbd'
  const duplicate = `${invalid}, duplicate keys not allowed`
  for (const [one, other, expected] of [
    ['\xff', '\xfe', 'accepted'],
    ['\xff', replacement, 'accepted'],
    ['\\u00e9', '\xc3\xa9', duplicate],
    ["\\'", "'", duplicate],
    // A surrogate takes the next escape sequence along.
    ['\\ud83d\\ude00', replacement, duplicate],
    ['\\ud83d\\ude00', '\xf0\x9f\x98\x80', 'accepted'],
    ['\\ud83d\\u0041x', `${replacement}x`, duplicate],
    ['\\ud83dx', `${replacement}x`, duplicate],
    ['\\u00g0', '\\u00g1', duplicate],
  ] as const) {
    assert.equal(jsonVerdict(`{"${one}":1,"${other}":2,"a":1}`), expected, `${one} ${other}`)
  }
})

test('json_ref describes an invalid value in the words of Go', () => {
  for (const [value, expected] of [
    ['1.', "invalid character ' ' after decimal point in numeric literal"],
    ['-', "invalid character ' ' in numeric literal"],
    ['+1', "invalid character '+' looking for beginning of value"],
    ['01', "invalid character '1' after top-level value"],
    ['{"b":01}', "invalid character '1' after object key:value pair"],
    ['[01]', "invalid character '1' after array element"],
    ['"\x01"', "invalid character '\\x01' in string literal"],
    [`"\\'"`, "invalid character '\\'' in string escape code"],
    ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['{"b":{"c":-}}', "invalid character '}' in numeric literal"],
  ] as const) {
    assert.equal(jsonVerdict(`{"a":${value}}`), expected, value)
  }
  assert.equal(jsonVerdict('{"a":1e}'), invalid)
})
