import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { warn } from './warn.js'

test('removes line breaks and control characters of others from a warning', async () => {
  const warned = once(process, 'warning')
  warn(new RangeError('the facilitator says a\u001b]52;c;QQ==\u0007\n(node:1) Warning: \u202eb'))
  const [{ name, message }] = (await warned) as [Error]
  assert.deepEqual([name, message], ['RangeError', 'the facilitator says a?]52;c;QQ==??(node:1) Warning: ?b'])
})

test('passes a printable error on unchanged', async () => {
  const error = new Error('plain')
  const warned = once(process, 'warning')
  warn(error)
  assert.equal((await warned)[0], error)
})
