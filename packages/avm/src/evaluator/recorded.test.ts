/** Compares the check and the evaluator with recorded behaviour of the reference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { recordedCases } from '../recorded.test.helper.js'
import { type Case, differing, outcomeOf } from './recorded.test.helper.js'

test('checks and evaluates logic signatures as the reference does', () => {
  const failed: string[] = []
  for (const recorded of recordedCases<Case>('lsig')) {
    if (differing.has(recorded.id)) continue
    if (!isDeepStrictEqual(outcomeOf(recorded), recorded)) failed.push(recorded.id)
  }
  assert.deepEqual(failed, [])
})
