import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/anyCharacter.mjs'
import * as RequestBody from './RequestBody.js'
import '../../../test/seed.mjs'

const encode = (...args: Parameters<typeof RequestBody.encode>): Buffer => Buffer.from(RequestBody.encode(...args))

test('members and passwords are encoded as one object', () => {
  const secrets = { wallet_password: Buffer.from('p'), new_wallet_password: Buffer.from('n') }
  const body = encode({ wallet_id: '1', absent: undefined, pks: ['a'], thr: 2 }, secrets)
  assert.equal(body.toString(), '{"wallet_id":"1","pks":["a"],"thr":2,"wallet_password":"p","new_wallet_password":"n"}')
})

test('a blank or absent password is omitted', () => {
  assert.equal(encode({ a: 1 }, { wallet_password: Buffer.alloc(0), other: undefined }).toString(), '{"a":1}')
  assert.equal(encode({}).toString(), '{}')
  assert.equal(encode({}, { p: Buffer.from('x') }).toString(), '{"p":"x"}')
})

test('every text survives encoding', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (name, password) => {
      const body = encode({ wallet_name: name }, { wallet_password: Buffer.from(password) })
      const read = JSON.parse(body.toString()) as { [member: string]: string }
      assert.equal(read['wallet_name'], name)
      assert.equal(read['wallet_password'] ?? '', password)
    }),
  )
})

test('control characters, quotes and backslashes are escaped', () => {
  const body = encode({}, { wallet_password: Buffer.from('a"b\\c\n\x1f\x7f') })
  assert.equal(body.toString(), '{"wallet_password":"a\\"b\\\\c\\u000a\\u001f\x7f"}')
})

test('the password is not changed', () => {
  const password = Buffer.from('a"b')
  encode({}, { wallet_password: password })
  assert.equal(password.toString(), 'a"b')
})
