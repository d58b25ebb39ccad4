import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Closers } from './Closers.js'

test('resources are closed in the reverse order of opening', async () => {
  const closed: string[] = []
  const closers = new Closers()
  for (const name of ['lock', 'file', 'handle']) closers.add(() => closed.push(name))
  await closers.close()
  assert.deepEqual(closed, ['handle', 'file', 'lock'])
})

test('a failure does not stop the others, and the first failure is thrown', async () => {
  const closed: string[] = []
  const closers = new Closers()
  closers.add(() => closed.push('lock'))
  closers.add(() => Promise.reject(new Error('second')))
  closers.add(() => {
    throw new Error('first')
  })
  await assert.rejects(closers.close(), { message: 'first' })
  assert.deepEqual(closed, ['lock'])
})
