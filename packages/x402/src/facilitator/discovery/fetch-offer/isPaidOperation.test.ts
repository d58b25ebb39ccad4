import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPaidOperation } from './isPaidOperation.js'

const paid = { 'x-payment-info': { protocols: [{ x402: {} }] } }
const text = JSON.stringify({
  paths: { '/notes/{id}': { put: paid, delete: {}, patch: { 'x-payment-info': 7 } }, '/notes/all': { delete: paid } },
})

test('a request is paid if its operation has x-payment-info', () => {
  const requests = {
    'PUT /notes/5': true,
    'DELETE /notes/all': true,
    'DELETE /notes/5': false,
    'PATCH /notes/5': false,
  }
  const others = { 'PUT /notes/5/6': false, 'PUT /notes': false, 'POST /notes/5': false, 'PUT /other/5': false }
  for (const [request, expected] of Object.entries({ ...requests, ...others })) {
    const [method = '', path = ''] = request.split(' ')
    assert.equal(isPaidOperation(text, { method, path }), expected, request)
  }
})

test('junk lists nothing', () => {
  for (const junk of ['', '[]', '{', '{"paths":[]}', '{"paths":{"/a":7}}', '['.repeat(100_000)]) {
    assert.equal(isPaidOperation(junk, { method: 'PUT', path: '/a' }), false, junk.slice(0, 20))
  }
})
