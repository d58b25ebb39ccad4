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
