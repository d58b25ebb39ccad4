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

test('names of fields are not names of macros if any instruction of the version knows the field', () => {
  const message = (name: string) => `1 error: 2:8: Macro names cannot be field names: ${name}\n`
  assert.equal(refusal('#pragma version 8', '#define AppVersion int 1', 'int 1'), message('AppVersion'))
  assert.equal(refusal('#pragma version 1', '#define ApprovalProgram int 1', 'int 1'), message('ApprovalProgram'))
  assert.equal(refusal('#pragma version 1', '#define AssetBalance int 1', 'int 1'), 'assembled: 0120010122')
})

test('types of transactions have two names', () => {
  assert.equal(refusal('#pragma version 8', 'int AssetTransfer', 'int ApplicationCall'), 'assembled: 0881048106')
  const message = '1 error: 2:8: Named constants cannot be used as macro names: AssetFreeze\n'
  assert.equal(refusal('#pragma version 13', '#define AssetFreeze int 1', 'int 1'), message)
})

test('an invalid byte of a hexadecimal literal is shown as it is, if it can be', () => {
  const byte = (literal: string) => refusal('#pragma version 8', `byte ${literal}`)
  assert.equal(byte('0x01\\x'), "1 error: 2:5: byte encoding/hex: invalid byte: U+005C '\\'\n")
  assert.equal(byte("0x'"), "1 error: 2:5: byte encoding/hex: invalid byte: U+0027 '''\n")
  assert.equal(byte('0x\u0001'), '1 error: 2:5: byte encoding/hex: invalid byte: U+0001\n')
})

test('an encoded literal ends at its first closing parenthesis', () => {
  for (const literal of ['b64(AQ==)x', 'base32(AE)(AE)', 'b32(A)1)']) {
    const message = `1 error: 2:5: byte argument ${literal} must end at first closing parenthesis\n`
    assert.equal(refusal('#pragma version 8', `byte ${literal}`), message)
  }
  assert.equal(
    refusal('#pragma version 8', 'byte b64(AQ=='),
    '1 error: 2:5: byte argument b64(AQ== lacks closing parenthesis\n',
  )
})

test('base32 has as much padding as its digits need, and digits without bits for a byte are left out', () => {
  const byte = (text: string) => refusal('#pragma version 8', `byte b32 ${text}`)
  assert.equal(byte('AE======'), 'assembled: 08800101')
  assert.equal(byte('AEA====='), '1 error: 2:9: byte illegal base32 data at input byte 3\n')
  assert.equal(byte('AEA'), 'assembled: 088000')
})

test('a list of byte strings blames the name of an encoding', () => {
  assert.equal(
    refusal('#pragma version 8', 'pushbytess base32 x'),
    '1 error: 2:11: pushbytess illegal base32 data at input byte 0\n',
  )
})

test('every position that an immediate could have is named', () => {
  const message = '1 error: 2:10: gtxn with 3 immediates can only use "12" as immediate 1 or 3\n'
  assert.equal(refusal('#pragma version 6', 'gtxn 0o16 12 11'), message)
})

test('version 0 has the instructions and fields of version 1', () => {
  assert.equal(
    refusal('#pragma version 0', '#pragma typetrack false', 'gtxns Sender'),
    '1 error: 3: gtxns opcode with 1 immediate was introduced in v3\n',
  )
  assert.equal(refusal('#pragma version 0', 'txn'), '1 error: 2: txn expects 1 or 2 immediate arguments\n')
})

test('nothing is known of the stack after a wrong number of immediates that instructions differ in', () => {
  const lines = ['1 error: 2: extract expects 0 or 2 immediate arguments\n']
  assert.equal(refusal('#pragma version 8', 'extract 1'), lines[0])
  assert.equal(
    refusal('#pragma version 1', 'gtxns 1 2 3'),
    [
      '2: gtxns expects 1 or 2 immediate arguments',
      '2: gtxns opcode with 3 immediates was introduced in v3',
      '2: gtxns 1 2 3 expects 1 stack arguments but stack height is 0\n',
    ].join('\n'),
  )
})

test('a refused setting of a field is no instruction, so that the version may follow', () => {
  assert.equal(
    refusal('#pragma version 8', 'itxn_field CreatedAssetID', '#pragma version 3'),
    [
      '2: itxn_field CreatedAssetID expects 1 stack arguments but stack height is 0',
      '2:11: itxn_field "CreatedAssetID" is not allowed.',
      '3:16: version mismatch: assembling v3 with v8 assembler\n',
    ].join('\n'),
  )
})

test('types are unknown after errors in immediates', () => {
  const after = (...lines: string[]) =>
    refusal('#pragma version 13', ...lines)
      .split('\n')
      .slice(0, -1)
  assert.deepEqual(after('gtxn 8191 Sender', '!'), ['1 error: 2:5: gtxn t beyond 255: 8191'])
  assert.deepEqual(after('int 1', 'store x', 'load 0', 'len'), [
    '3:6: store unable to parse i "x" as integer',
    '5: len arg 0 wanted type []byte got 0',
  ])
  assert.deepEqual(after('byte "a"', 'int 1', 'frame_bury x', '!'), [
    '4:11: frame_bury unable to parse i "x" as int8',
    '5: ! arg 0 wanted type uint64 got [1]byte',
  ])
})

test('labels and method signatures are quoted as they are by nodes', () => {
  assert.equal(
    refusal('#pragma version 8', 'b a\u007f\u0085'),
    '1 error: 2:2: reference to undefined label "a\\x7f\\u0085"\n',
  )
  const warned = (text: string) => refusal('#pragma version 8', `method "${text}"`, 'x').split('\n')[1]
  const reason = (text: string, problem: string) =>
    assert.equal(warned(text), `2:7: invalid ARC-4 ABI method signature for method op: ${problem}`)
  reason('\\"s', 'No parenthesis in method signature: ""s"')
  reason('()void', 'Method signature has no name: "()void"')
  reason('f(', 'Unpaired parenthesis in method signature: "f("')
  reason('f(,bool)void', 'parsing error: tuple content should not start or end with comma')
  reason('f(bool,,bool)void', 'no consecutive commas')
  reason('f(uint9)void', 'Error parsing argument type at index 0: unsupported uint type bitSize: 9')
  reason('f(uintx)void', 'Error parsing argument type at index 0: ill formed uint type: "uintx"')
  reason('f(ufixed8x161)void', 'Error parsing argument type at index 0: unsupported ufixed type precision: 161')
  reason('f()bool[01]', 'Error parsing return type: static array ill formated: "bool[01]"')
  reason('f()bool[65536]', 'Error parsing return type: strconv.ParseUint: parsing "65536": value out of range')
  reason('f()x', 'Error parsing return type: cannot convert the string "x" to an ABI type')
})

test('digits that are too many hide what follows them', () => {
  const number = (text: string) => refusal('#pragma version 8', `pushints ${text}`).replace(/.*invalid|.*value/, '')
  for (const text of ['18446744073709551616x', '0x10000000000000000g', '18446744073709551616_']) {
    assert.equal(number(text), ' out of range\n', text)
  }
  for (const text of ['18446744073709551615x', '0xffffffffffffffffg', '0b', '0x_', '1__0', '0o8']) {
    assert.equal(number(text), ' syntax\n', text)
  }
  assert.equal(number('0x_1 0_7 1_0'), 'assembled: 08830301070a')
})

test('an address has 32 bytes and ends with their checksum', () => {
  const address = (text: string) => refusal('#pragma version 8', `addr ${text}`).replace(text, '')
  const failed = '1 error: 2:5: address  is malformed, checksum verification failed\n'
  assert.equal(address('A'.repeat(53)), failed)
  assert.equal(address('7777777777777777777777777777777777777777777777777774MSJUVUAA'), failed)
  assert.equal(address('A'.repeat(51)), '1 error: 2:5: decoded bad addr: \n')
  const other = '7777777777777777777777777777777777777777777777777774MSJUVX'
  assert.equal(address(other), '1 error: 2:5: address  is non-canonical\n')
})
