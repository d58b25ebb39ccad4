import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../errors.js'
import { readPolicy } from './policy.js'

const name = 'FACILITATOR_API_KEYS'

function withKeys<T>(value: string | undefined, work: () => T): T {
  const before = process.env[name]
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
  try {
    return work()
  } finally {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  }
}

test('a variable that is set but contains no API key does not start an open facilitator', () => {
  for (const value of ['', ' ', ' , ', ',', '\n,\n']) {
    withKeys(value, () => assert.throws(() => readPolicy({}), UsageError, JSON.stringify(value)))
  }
  assert.deepEqual(
    withKeys('one, two,', () => readPolicy({}).apiKeys),
    ['one', 'two'],
  )
  assert.equal(
    withKeys(undefined, () => readPolicy({}).apiKeys),
    undefined,
  )
})
