import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Msgpack } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import { type Code, KmdError } from '../errors.js'
import * as Blob from './Blob.js'

const key = Buffer.alloc(32, 7)
const otherKey = Buffer.alloc(32, 8)
const secret = Buffer.from('thirty-two bytes of a master key')
const copy = (plaintext: Uint8Array): Buffer => Buffer.from(plaintext)
const fails = (code: Code, work: () => unknown): void => {
  assert.throws(work, (error) => error instanceof KmdError && error.code === code, code)
}
const hex = (text: string): string => Buffer.from(text).toString('hex')
/** A box around any inner map, as a wallet file could contain it. */
function box(write: (writer: Msgpack.Writer) => unknown): Uint8Array {
  const inner = new Msgpack.Writer()
  write(inner)
  const ciphertext = new Uint8Array(inner.length + 16)
  sodium.crypto_secretbox_easy(ciphertext, inner.bytes(), new Uint8Array(24), key)
  return new Msgpack.Writer().mapHeader(1).str('ciphertext').bin(ciphertext).bytes()
}

test('a sealed value can be opened with the same key', () => {
  const sealed = Blob.seal('secret_key', secret, key)
  assert.deepEqual(Blob.open('secret_key', sealed, key, copy), secret)
  assert.deepEqual(Blob.open('max_key_idx', Blob.seal('max_key_idx', Uint8Array.of(0), key), key, copy), Buffer.of(0))
})

test('the outer map matches the reference, byte for byte', () => {
  const salt = Buffer.alloc(32, 0x5a)
  const sealed = Blob.sealWithPasswordKey('master_key', secret, key, salt, { n: 65536, r: 1, p: 32 })
  const { ciphertext, nonce } = Blob.decode(sealed)
  assert.equal(ciphertext.length, 87)
  assert.equal(
    Buffer.from(sealed).toString('hex'),
    [
      '87',
      `aa${hex('ciphertext')}c457${Buffer.from(ciphertext).toString('hex')}`,
      `a9${hex('do_scrypt')}c3`,
      `a5${hex('nonce')}c418${Buffer.from(nonce).toString('hex')}`,
      `a4${hex('salt')}c420${salt.toString('hex')}`,
      `a8${hex('scrypt_n')}ce00010000`,
      `a8${hex('scrypt_p')}20`,
      `a8${hex('scrypt_r')}01`,
    ].join(''),
  )
})

test('with the master key, salt and parameters are written as zeros', () => {
  const zeros = `a4${hex('salt')}c420${'00'.repeat(32)}a8${hex('scrypt_n')}00a8${hex('scrypt_p')}00a8${hex('scrypt_r')}00`
  const sealed = Buffer.from(Blob.seal('secret_key', secret, key)).toString('hex')
  assert.ok(sealed.endsWith(zeros))
  assert.ok(sealed.includes(`a9${hex('do_scrypt')}c2`))
})

test('the inner map names its content, and is a secretbox with its tag first', () => {
  const { ciphertext, nonce } = Blob.decode(Blob.seal('secret_key', secret, key))
  const message = Buffer.alloc(ciphertext.length - 16)
  assert.equal(sodium.crypto_secretbox_open_easy(message, ciphertext, nonce, key), true)
  const inner = `82a9${hex('plaintext')}c420${secret.toString('hex')}ae${hex('plaintext_type')}aa${hex('secret_key')}`
  assert.equal(message.toString('hex'), inner)
})

test('sealing twice gives different bytes', () => {
  const nonces = Array.from({ length: 20 }, () => Blob.decode(Blob.seal('secret_key', secret, key)).nonce.join())
  assert.equal(new Set(nonces).size, 20)
})

test('another key, or any changed byte of the box, is a wrong password', () => {
  const sealed = Blob.seal('secret_key', secret, key)
  fails('wrong_password', () => Blob.open('secret_key', sealed, otherKey, copy))
  const { ciphertext } = Blob.decode(sealed)
  for (let at = 0; at < ciphertext.length; at++) {
    const damaged = Buffer.from(sealed)
    damaged[damaged.indexOf(Buffer.from(ciphertext)) + at]! ^= 1
    fails('wrong_password', () => Blob.open('secret_key', damaged, key, copy))
  }
})

test('a value in place of another is rejected', () => {
  const sealed = Blob.seal('max_key_idx', Uint8Array.of(3), key)
  fails('wrong_plaintext_type', () => Blob.open('secret_key', sealed, key, copy))
  fails('wrong_plaintext_type', () =>
    Blob.open(
      'secret_key',
      box((w) => w.mapHeader(0)),
      key,
      copy,
    ),
  )
})

test('a box without room for its tag is a wrong password, and one that no wallet has is damaged', () => {
  const boxOf = (length: number): Uint8Array =>
    new Msgpack.Writer().mapHeader(1).str('ciphertext').bin(new Uint8Array(length)).bytes()
  fails('wrong_password', () => Blob.open('secret_key', boxOf(15), key, copy))
  fails('damaged_blob', () => Blob.open('secret_key', boxOf(4096), key, copy))
})

const outer = (name: string, write: (writer: Msgpack.Writer) => unknown): Uint8Array => {
  const writer = new Msgpack.Writer().mapHeader(1).str(name)
  write(writer)
  return writer.bytes()
}
const damaged: { [what: string]: Uint8Array } = {
  nothing: new Uint8Array(0),
  'no map': Uint8Array.of(0xc0),
  'an unknown member': outer('extra', (w) => w.uint(1)),
  'a nonce of another length': outer('nonce', (w) => w.bin(new Uint8Array(23))),
  'a salt of another length': outer('salt', (w) => w.bin(new Uint8Array(33))),
  'a text for a truth': outer('do_scrypt', (w) => w.str('yes')),
  'a parameter beyond 31 bits': outer('scrypt_n', (w) => w.uint(2 ** 31)),
  'a negative parameter': Buffer.concat([outer('scrypt_n', () => {}), Uint8Array.of(0xff)]),
}
for (const [what, bytes] of Object.entries(damaged)) {
  test(`${what} is a damaged value`, () => fails('damaged_blob', () => Blob.decode(bytes)))
}

test('an unknown inner member is also damage, regardless of the other members', () => {
  const inner = box((w) => w.mapHeader(2).str('plaintext_type').str('secret_key').str('extra').uint(1))
  fails('damaged_blob', () => Blob.open('secret_key', inner, key, copy))
})

test('a value truncated at any byte is damaged, or at least never opens', () => {
  const sealed = Blob.seal('secret_key', secret, key)
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => Blob.open('secret_key', sealed.subarray(0, length), key, copy), KmdError)
  }
})

test('members may come in any order, and trailing bytes are ignored', () => {
  const { ciphertext, nonce } = Blob.decode(Blob.seal('secret_key', secret, key))
  const writer = new Msgpack.Writer().mapHeader(2).str('nonce').bin(nonce).str('ciphertext').bin(ciphertext)
  const stored = Buffer.concat([writer.bytes(), Buffer.from('trailing')])
  assert.deepEqual(Blob.open('secret_key', stored, key, copy), secret)
})

test('the plaintext is wiped after use', () => {
  let kept = new Uint8Array()
  Blob.open('master_key', Blob.seal('master_key', secret, key), key, (plaintext) => {
    assert.deepEqual(copy(plaintext), secret)
    kept = plaintext as Uint8Array<ArrayBuffer>
  })
  assert.deepEqual(copy(kept), Buffer.alloc(secret.length))
})
