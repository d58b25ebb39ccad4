import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { wires } from '@latchkey/kmd-api'
import * as KeyResponse from './KeyResponse.js'
import * as Wire from './Wire.js'

const members = [
  { name: 'note', shape: { type: 'string' } },
  { name: 'private_key', shape: { type: 'key', name: 'PrivateKey' } },
  { name: 'zone', shape: { type: 'uint', format: 'int64' } },
] as const

test('a response with a key has the same bytes as one written as text', () => {
  const keys = [Buffer.alloc(0), Buffer.alloc(32), Buffer.of(0, 9, 10, 99, 100, 255), Buffer.of(1)]
  for (let i = 0; i < 100; i++) keys.push(randomBytes(i))
  for (const wire of wires) {
    for (const private_key of keys) {
      const output = { note: 'x', private_key, zone: 7 }
      assert.equal(KeyResponse.write(wire, members, output).toString(), Wire.write(wire, members, output))
    }
  }
})

test('only a key that is a direct member is secret', () => {
  assert.equal(KeyResponse.hasKey(members), true)
  const list = { name: 'pks', shape: { type: 'list', of: { type: 'key', name: 'PublicKey' } } } as const
  assert.equal(KeyResponse.hasKey([list]), false)
})
