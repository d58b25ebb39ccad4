/** Literals next to constant blocks that the source declares itself, as a node assembles them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssemblyError, assemble } from './assemble.js'

const address = '7777777777777777777777777777777777777777777777777774MSJUVU'

function assembled(...lines: readonly string[]): string {
  try {
    return Buffer.from(assemble(lines.join('\n')).program).toString('base64')
  } catch (error) {
    if (error instanceof AssemblyError) return error.message
    throw error
  }
}

test('integers are pushed next to several blocks, and a later block may follow them', () => {
  assert.equal(assembled('#pragma version 5', 'intcblock 1 2', 'int 1', 'intcblock 3', 'int 3'), 'BSACAQKBASABA4ED')
  assert.equal(
    assembled('#pragma version 3', 'intcblock 1 2', 'intcblock 3', 'int 3', 'int pay'),
    '1 error: 5:4: unable to parse "pay" as integer\n',
  )
})

test('a byte literal is pushed with a warning from version 4 on, also in unreachable code', () => {
  assert.equal(
    assembled('#pragma version 5', 'bytecblock 0x01', 'byte base64 AA==', 'b end', 'byte 0x02', 'end:', 'foo'),
    '7: unknown opcode: foo\n' +
      '3:5: byte base64 used with explicit bytecblock. must pushbytes\n' +
      '5:5: byte 0x02 used with explicit bytecblock. must pushbytes\n',
  )
})

test('before version 4, a byte literal is one of the only block, and is pushed next to several', () => {
  assert.equal(assembled('#pragma version 3', 'bytecblock 0x01', 'byte 0x01'), 'AyYBAQEo')
  assert.equal(
    assembled('#pragma version 3', 'bytecblock 0x01', 'byte 0x02'),
    '1 error: 3:5: value 0x02 does not appear in existing bytecblock\n',
  )
  assert.equal(assembled('#pragma version 3', 'bytecblock 0x01', 'bytecblock 0x02', 'byte 0x01'), 'AyYBAQEmAQECgAEB')
  assert.equal(
    assembled('#pragma version 2', 'bytecblock 0x01', 'bytecblock 0x02', 'byte 0x02'),
    '1 error: 4:5: byte 0x02 used with manual bytecblocks. Use bytec.\n',
  )
})

test('addresses and methods must be in the last block', () => {
  assert.equal(
    assembled('#pragma version 5', 'bytecblock 0x01', 'method "a()void"', `addr ${address}`),
    `3:7: value 0x1e7aad1c does not appear in existing bytecblock\n4:5: value 0x${'ff'.repeat(32)} does not appear in existing bytecblock\n`,
  )
})

test('a block in unreachable code does not count', () => {
  assert.equal(assembled('#pragma version 5', 'b end', 'intcblock 5', 'end:', 'int 1', 'int 1'), 'BSABAUIAAyABBSIi')
  assert.equal(
    assembled('#pragma version 5', 'b end', 'bytecblock 0x01', 'byte 0x01', 'end:', 'foo'),
    '1 error: 6: unknown opcode: foo\n',
  )
})
