/** Compares the disassembler with recorded behaviour of the reference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, recordedCases } from '../recorded.test.helper.js'
import { disassemble } from './disassemble.js'

type Case = { readonly id: string; readonly hex: string; readonly text?: string; readonly err?: string }

test('disassembles as the reference does', () => {
  const failed: string[] = []
  for (const { id, hex, text = '', err } of recordedCases<Case>('disassemble')) {
    const actual = disassemble(fromHex(hex))
    if (actual.text !== text || actual.error !== err) failed.push(id)
  }
  assert.deepEqual(failed, [])
})

test('a program without a version is a comment', () => {
  for (const hex of ['', '8e', 'ffffffffffffffffffff01']) {
    const { text, error } = disassemble(fromHex(hex))
    assert.deepEqual([text, error], ['// invalid version\n', undefined], hex)
  }
})

test('a list of byte strings without a length has the problem of an evaluation', () => {
  for (const hex of ['0426', '0882']) {
    assert.equal(disassemble(fromHex(hex)).error, 'could not decode length of bytes list at pc=2', hex)
  }
})
