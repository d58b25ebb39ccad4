import assert from 'node:assert/strict'
import { test } from 'node:test'
import { define, ownersAlone } from './Description.js'
import { ascii } from './members.js'
import { descriptions, operations } from './operations.js'

const complete = {
  method: 'POST',
  path: '/latchkey/v1/example',
  about: 'An example.',
  request: [{ name: 'name', kind: ascii, about: 'A name' }],
  response: [],
  responseName: 'ExampleResponse',
} as const

test('an operation without its columns does not compile', () => {
  const access = { console: 'refused', agent: ownersAlone } as const
  assert.equal(define({ ...complete, access, audit: 'none' }).path, complete.path)
  // @ts-expect-error: access and audit are missing
  define(complete)
  // @ts-expect-error: access is missing
  define({ ...complete, audit: 'none' })
  // @ts-expect-error: audit is missing
  define({ ...complete, access })
  // @ts-expect-error: the rule for agents is missing
  define({ ...complete, access: { console: 'allowed' }, audit: 'none' })
  // @ts-expect-error: the rule for the console is missing
  define({ ...complete, access: { agent: ownersAlone }, audit: 'none' })
  // @ts-expect-error: a recorded operation names an event of the log
  define({ ...complete, access, audit: { event: 'unheard_of', required: 'all' } })
  // @ts-expect-error: an error code is one of the registry
  define({ ...complete, access, audit: 'none', errors: ['unheard_of'] })
})

test('every id, route and response name is used once', () => {
  assert.equal(operations.length, Object.keys(descriptions).length)
  for (const names of [
    operations.map(({ method, path }) => `${method} ${path}`),
    operations.map(({ responseName }) => responseName),
  ]) {
    assert.equal(new Set(names).size, names.length)
  }
})

test('operations of our own are on paths that the Go daemon does not have', () => {
  for (const { path } of operations) assert.match(path, /^\/(versions$|v1\/|latchkey\/v1\/)/)
})
