/** Sources that algod 5.1 was found to assemble differently. Messages and bytes are those of its `/v2/teal/compile`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bytes } from '@latchkey/algorand'
import { AssemblyError, assemble } from './assemble.js'

function refusal(...lines: string[]): string {
  try {
    const { program } = assemble(lines.join('\n'))
    return `assembled: ${Bytes.toHex(program)}`
  } catch (error) {
    if (error instanceof AssemblyError) return error.message
    throw error
  }
}

test('names of macros have letters, digits and signs of operators, and are not those of encodings', () => {
  const define = (name: string) => refusal('#pragma version 8', `#define ${name} int 1`, 'int 1')
  assert.equal(define('a.b'), '1 error: 2:8: . character not allowed in macro name\n')
  assert.equal(define('a$'), '1 error: 2:8: $ character not allowed in macro name\n')
  for (const name of ['b64', 'base64', 'b32', 'base32']) {
    assert.equal(define(name), `1 error: 2:8: Cannot use ${name} as macro name\n`)
  }
  for (const name of ['txn', 'extract', 'replace', 'gtxns']) {
    assert.equal(define(name), `1 error: 2:8: Macro names cannot be pseudo-ops: ${name}\n`)
  }
  assert.equal(define('\u00e9<=?_~'), 'assembled: 088101')
})

test('byte strings of more than 4,096 bytes are refused', () => {
  const literal = `0x${'00'.repeat(4097)}`
  const source = (statement: string) => refusal('#pragma version 8', `${statement} ${literal}`, 'pop', 'int 1')
  assert.equal(source('byte'), '1 error: 2:5: byte value is too big (4097 bytes, limit 4096)\n')
  assert.equal(source('pushbytes'), '1 error: 2:10: pushbytes value is too big (4097 bytes, limit 4096)\n')
  const inBlock = refusal('#pragma version 8', `bytecblock ${literal}`, 'int 1')
  assert.equal(inBlock, '1 error: 2:11: bytecblock arg 0 is too big (4097 bytes, limit 4096)\n')
})

test('nothing is known of the stack after type tracking was off', () => {
  const source = ['#pragma version 8', '#pragma typetrack false', 'int 1', '#pragma typetrack true', 'concat', 'len']
  assert.equal(refusal(...source), 'assembled: 0881015015')
})

test('a proto may follow the end of a subroutine that leaves values', () => {
  const source = [
    '#pragma version 8',
    'callsub f',
    'int 1',
    'int 2',
    'return',
    'proto 0 0',
    'f:',
    'proto 1 1',
    'retsub',
  ]
  assert.match(refusal(...source), /^assembled: /)
})

test('names in messages about types are those of the source', () => {
  const message = 'extract without immediates expects 3 stack arguments but stack height is 0'
  assert.equal(refusal('#pragma version 8', 'extract'), `1 error: 2: ${message}\n`)
  const array = refusal('#pragma version 8', 'int 1', 'gtxns ApplicationArgs 0', 'gtxns ApplicationArgs 0')
  assert.equal(array, '1 error: 4: gtxns ApplicationArgs 0 arg 0 wanted type uint64 got []byte\n')
})

test('the version and autosalt are read before their place is checked', () => {
  assert.equal(refusal('int 1', '#pragma version'), '1 error: 2:8: no version value\n')
  assert.equal(refusal('int 1', '#pragma version 8 9'), '1 error: 2:18: unexpected extra tokens: 9\n')
  assert.equal(
    refusal('int 1', '#pragma version 1'),
    '1 error: 2: #pragma version is only allowed before instructions\n',
  )
  assert.equal(
    refusal('x', '#pragma version 3'),
    '1: unknown opcode: x\n2:16: version mismatch: assembling v3 with v1 assembler\n',
  )
})

test('columns count bytes', () => {
  assert.equal(refusal('#pragma version 8', 'byte "\u00e9" 1'), '1 error: 2:10: byte with extraneous argument\n')
})

test('a waived salt is reported if the program is on the curve', () => {
  const warnings = Array.from({ length: 20 }, (_, number) => {
    return assemble(`#pragma version 13\n#pragma autosalt false\npushint ${number}`).warnings.map(({ text }) => text)
  }).flat()
  assert.ok(warnings.length > 0 && warnings.length < 20)
  assert.equal(warnings[0], '#pragma autosalt false leaves program hash on curve')
})
