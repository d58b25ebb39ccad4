import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { warn } from './warn.js'

test('a warning has no lines and no control characters of others', async () => {
  const warned = once(process, 'warning')
  warn(new RangeError('the facilitator says a\u001b]52;c;QQ==\u0007\n(node:1) Warning: \u202eb'))
  const [{ name, message }] = (await warned) as [Error]
  assert.deepEqual([name, message], ['RangeError', 'the facilitator says a?]52;c;QQ==??(node:1) Warning: ?b'])
})

test('an error that can be shown is passed on as it is', async () => {
  const error = new Error('plain')
  const warned = once(process, 'warning')
  warn(error)
  assert.equal((await warned)[0], error)
})
