import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import { assemble } from '../assembler/assemble.js'
import { checkProgram } from './checkProgram.js'

const group: Transaction.Transaction[] = [{ type: 'pay', snd: new Uint8Array(32).fill(1) }]

function check(program: Uint8Array): string | undefined {
  return checkProgram(program, { mode: 'signature', group })
}

test('adds up the costs of programs before version 4', () => {
  const hashes = (count: number) => `byte 0x00; ${'keccak256; '.repeat(count)} btoi`
  assert.equal(check(assemble(`#pragma version 3\n${hashes(150)}`).program), undefined)
  assert.match(check(assemble(`#pragma version 3\n${hashes(160)}`).program)!, /static cost budget of 20000 exceeded$/)
  assert.equal(check(assemble(`#pragma version 4\n${hashes(160)}`).program), undefined)
})

test('permits branches to the end from version 2 on', () => {
  const branchToEnd = (version: number) => Uint8Array.of(version, 0x20, 1, 1, 0x22, 0x40, 0, 0)
  assert.equal(check(branchToEnd(1)), 'pc=  5 branch target 8 outside of program')
  assert.equal(check(branchToEnd(2)), undefined)
})

test('permits branches backwards from version 4 on', () => {
  const loop = (version: number) => Uint8Array.of(version, 0x42, 0xff, 0xfd)
  assert.equal(check(loop(3)), 'pc=  1 negative branch offset -3')
  assert.equal(check(loop(4)), undefined)
})

test('rejects branches into an instruction', () => {
  assert.equal(check(Uint8Array.of(4, 0x42, 0, 1, 0x81, 1)), 'pc=  6 branch target 5 is not an aligned instruction')
  assert.equal(
    check(Uint8Array.of(4, 0x81, 1, 0x42, 0xff, 0xfc)),
    'pc=  3 back branch target 2 is not an aligned instruction',
  )
})

test('rejects instructions of applications', () => {
  const program = assemble('#pragma version 10\nbyte 0x00; log; int 1').program
  assert.equal(check(program), 'pc=  4 log not allowed in current mode')
  assert.equal(checkProgram(program, { mode: 'application', group }), undefined)
})
