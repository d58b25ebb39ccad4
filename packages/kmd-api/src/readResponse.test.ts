import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditOperations, multisigOperations, nodeOperations } from './operations/index.js'
import { operations } from './operations.js'
import { readingOf } from './Reading.js'
import { readResponse } from './readResponse.js'
import type { Member } from './Schema.js'

class RejectedError extends Error {}

const read = (members: readonly Member[], json: object) =>
  readResponse(readingOf(members), json as { [name: string]: unknown }, (name) => {
    throw new RejectedError(name)
  })

test('both wires read the same, with names in camel case', () => {
  const { response } = multisigOperations.ExportMultisig
  const expected = { multisigVersion: 1, pks: [Uint8Array.of(1, 2)], threshold: 2 }
  assert.deepEqual(read(response, { multisig_version: 1, pks: ['AQI='], threshold: 2 }), expected)
  const documented = { error: false, message: '', multisig_version: 1, pks: [[1, 2]], threshold: 2 }
  assert.deepEqual(read(response, documented), expected)
})

test('members that the reference wire omits are blank, zero, false or empty', () => {
  const node = read(nodeOperations.GetNode.response, {})
  assert.deepEqual([node['isSet'], node['genesisId'], node['lastRound'], node['usdcAssetIds']], [false, '', 0, []])
})

test('a text that is never blank must be there', () => {
  const { response } = auditOperations.PrepareAnchor
  assert.throws(() => read(response, { number: 1, hash: 'h' }), { message: 'note' })
  assert.throws(() => read(response, { number: 1, hash: 'h', note: null }), { message: 'note' })
})

const kinds: { readonly [type: string]: { shape: Member['shape']; rejected: readonly unknown[] } } = {
  text: { shape: { type: 'text' }, rejected: [5, {}, [], true] },
  bool: { shape: { type: 'bool' }, rejected: [0, 'true', {}] },
  uint: { shape: { type: 'uint', format: 'int64' }, rejected: ['1', 1.5, 2 ** 53, {}] },
  integer: { shape: { type: 'integer' }, rejected: [1, '', '-1', '1n', '1'.repeat(41), null] },
  bytes: { shape: { type: 'base64' }, rejected: ['_', [256], [-1], [1.5], ['1'], 7, {}, null] },
  list: { shape: { type: 'list', of: { type: 'bool' } }, rejected: ['a', {}, ['a']] },
  object: { shape: { type: 'object', name: 'O', members: [] }, rejected: ['a', [], null, undefined] },
}

for (const [type, { shape, rejected }] of Object.entries(kinds)) {
  test(`rejects these values for the type ${type}, by the name of the member`, () => {
    for (const value of rejected)
      assert.throws(() => read([{ name: 'one', shape }], { one: value }), { message: 'one' })
  })
}

test('an integer beyond 2^53 is exact', () => {
  const members = [{ name: 'most', shape: { type: 'integer' } }] as const
  assert.deepEqual(read(members, { most: '18446744073709551615' }), { most: 2n ** 64n - 1n })
})

test('a value that cannot be converted is rejected', () => {
  const convert = (): never => {
    throw new RangeError('no')
  }
  const members = [{ name: 'one', shape: { type: 'object', name: 'O', members: [], convert } }] as const
  assert.throws(() => read(members, { one: {} }), { message: 'one' })
})

test('no two members of a response have the same name in camel case', () => {
  for (const { id, response } of operations) {
    const names = response.map(({ name }) => name.replaceAll('_', '').toLowerCase())
    assert.equal(new Set(names).size, names.length, id)
  }
})
