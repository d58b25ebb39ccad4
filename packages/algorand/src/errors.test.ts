import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Address,
  Ed25519,
  errors,
  Group,
  Hash,
  KeyDerivation,
  LatchkeyError,
  Mnemonic,
  Msgpack,
  Multisig,
  Network,
  SignedReceipt,
} from './index.js'

test('every code has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(message.length > 0 && hint.length > 0, code)
  }
})

test('thrown errors have a registered code, a hint and the name of their class', () => {
  const short = new Uint8Array(1)
  const multisig = { version: 1, threshold: 1, publicKeys: [new Uint8Array(32)] }
  const throwing: (() => unknown)[] = [
    () => Address.decode('A'),
    () => Address.encode(short),
    () => Ed25519.publicKey(short),
    () => Group.id([]),
    () => Hash.toText(short),
    () => SignedReceipt.verify('receipt'),
    () => KeyDerivation.seed(short, 0),
    () => KeyDerivation.seed(new Uint8Array(32), -1),
    () => Mnemonic.decode('abandon'),
    () => Mnemonic.encode(short),
    () => new Msgpack.Reader(short).mapHeader(),
    () => new Msgpack.Writer(short).uint(256),
    () => new Msgpack.Writer().uint(-1),
    () => Multisig.address({ ...multisig, version: 2 }),
    () => Multisig.address({ ...multisig, threshold: 2 }),
    () => Multisig.address({ ...multisig, publicKeys: [short] }),
    () => Multisig.merge([]),
    () => Network.parse('algorand:'),
    () => Network.caip2(short),
  ]
  for (const run of throwing) {
    assert.throws(run, (error) => {
      assert.ok(error instanceof LatchkeyError, String(error))
      assert.ok(Object.hasOwn(errors, error.code), error.code)
      assert.equal(error.name, error.constructor.name)
      assert.ok(error.hint !== undefined && error.hint !== '')
      return true
    })
  }
})
