import assert from 'node:assert/strict'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Address, Ed25519, KeyDerivation, Msgpack, Multisig } from '@latchkey/algorand'
import { type Code, KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { age, createFile, masterDerivationKey, masterKey, sql, unlock } from '../testing/WalletFixture.test.helper.js'
import * as Blob from './Blob.js'
import { RecentKeys } from './UnlockedWallet.js'
import { WalletFiles } from './WalletFile.js'

function start(t: TestContext) {
  const path = join(temporaryDirectory(t), 'one.db')
  const id = createFile(path)
  const files = new WalletFiles()
  const wallet = unlock(path, id, files)
  t.after(() => {
    wallet.lock()
    files.closeAll()
  })
  return { wallet, path, files, id }
}

const fails = (code: Code, work: () => unknown): void => {
  assert.throws(work, (error) => error instanceof KmdError && error.code === code, code)
}
const seed = (index: bigint): Uint8Array => KeyDerivation.seed(masterDerivationKey, index)
const derived = (index: bigint): Uint8Array => Ed25519.publicKey(seed(index))
const indices = (path: string): unknown[] =>
  sql(path, 'SELECT key_idx FROM keys ORDER BY key_idx').map((row) => (row as { key_idx: unknown }).key_idx)

test('keys are generated in sequence, starting at index one', (t) => {
  const { wallet, path } = start(t)
  assert.deepEqual(
    [wallet.generateKey(), wallet.generateKey()].map(Buffer.from),
    [derived(1n), derived(2n)].map(Buffer.from),
  )
  assert.deepEqual(indices(path), [1, 2])
})

test('an index whose key was imported is skipped, and the imported row is unchanged', (t) => {
  const { wallet, path } = start(t)
  for (const index of [1n, 2n, 4n]) wallet.importKey(seed(index))
  assert.deepEqual(wallet.generateKey(), derived(3n))
  assert.deepEqual(wallet.generateKey(), derived(5n))
  assert.deepEqual(indices(path), [null, null, null, 3, 5])
})

test('a deleted key is not generated again, but can be imported', (t) => {
  const { wallet } = start(t)
  wallet.deleteKey(wallet.generateKey())
  assert.deepEqual(wallet.generateKey(), derived(2n))
  assert.deepEqual(wallet.importKey(seed(1n)), derived(1n))
  fails('key_exists', () => wallet.importKey(seed(2n)))
})

test('the sequence ends before its index overflows', (t) => {
  const { wallet, path } = start(t)
  const last = Blob.seal('max_key_idx', new Msgpack.Writer().uint(2n ** 63n - 1n).bytes(), masterKey)
  sql(path, 'UPDATE metadata SET max_key_idx_encrypted = ?', last)
  fails('too_many_keys', () => wallet.generateKey())
  assert.deepEqual(wallet.addresses(), [])
})

test('an exported key is seed and public key, and signs like the wallet', (t) => {
  const { wallet } = start(t)
  const address = wallet.generateKey()
  const exported = wallet.exportKey(address)
  assert.deepEqual(exported, Buffer.concat([seed(1n), address]))
  const signature = wallet.sign(address, Buffer.from('message'))
  assert.equal(Ed25519.verify(signature, Buffer.from('message'), address), true)
})

test('an imported seed is wiped', (t) => {
  const { wallet } = start(t)
  const given = Buffer.alloc(32, 9)
  wallet.importKey(given)
  assert.deepEqual(given, Buffer.alloc(32))
})

test('a missing key or an invalid address is not found', (t) => {
  const { wallet } = start(t)
  for (const address of [Buffer.alloc(32), Buffer.alloc(0), Buffer.alloc(31), Buffer.alloc(33)]) {
    fails('key_not_found', () => wallet.exportKey(address))
    fails('key_not_found', () => wallet.sign(address, Buffer.alloc(1)))
  }
})

test('keys that were swapped in the file are rejected', (t) => {
  const { wallet, path } = start(t)
  const [one, two] = [wallet.generateKey(), wallet.generateKey()]
  sql(
    path,
    'UPDATE keys SET secret_key_encrypted = (SELECT secret_key_encrypted FROM keys WHERE address = ?) WHERE address = ?',
    one,
    two,
  )
  wallet.sign(one, Buffer.alloc(1))
  fails('key_mismatch', () => wallet.sign(two, Buffer.alloc(1)))
  fails('key_mismatch', () => wallet.exportKey(two))
})

const stored: [what: string, encoded: Uint8Array, code: Code][] = [
  ['a bare key without its header', Buffer.alloc(64, 0x20), 'damaged_blob'],
  ['a seed alone', new Msgpack.Writer().bin(new Uint8Array(32)).bytes(), 'key_mismatch'],
  ['nothing', new Uint8Array(0), 'damaged_blob'],
]
for (const [what, encoded, code] of stored) {
  test(`${what} in place of a key is rejected with ${code}`, (t) => {
    const { wallet, path } = start(t)
    const address = wallet.generateKey()
    sql(path, 'UPDATE keys SET secret_key_encrypted = ?', Blob.seal('secret_key', encoded, masterKey))
    fails(code, () => wallet.sign(address, Buffer.alloc(1)))
  })
}

test('a recent key is not read again while the file is unchanged, and not used after a change', async (t) => {
  const { wallet, path } = start(t)
  const address = wallet.generateKey()
  const then = new Date(Date.now() - 3_600_000)
  utimesSync(path, then, then)
  await setImmediate()
  wallet.sign(address, Buffer.alloc(1))
  // Damaged without changing size and time: only a cached key can sign now.
  sql(path, 'UPDATE keys SET secret_key_encrypted = zeroblob(length(secret_key_encrypted))')
  utimesSync(path, then, then)
  await setImmediate()
  wallet.sign(address, Buffer.alloc(1))
  age(path, 1800)
  await setImmediate()
  fails('damaged_blob', () => wallet.sign(address, Buffer.alloc(1)))
})

test('a deleted key no longer signs, even if used recently', (t) => {
  const { wallet, path } = start(t)
  const address = wallet.generateKey()
  age(path)
  wallet.sign(address, Buffer.alloc(1))
  wallet.deleteKey(address)
  fails('key_not_found', () => wallet.sign(address, Buffer.alloc(1)))
  age(path, 1800)
  fails('key_not_found', () => wallet.sign(address, Buffer.alloc(1)))
})

test('addresses are listed as text; the list is kept only while the file is unchanged', async (t) => {
  const { wallet, path } = start(t)
  const first = wallet.generateKey()
  age(path, 3600)
  const listed = wallet.addresses()
  assert.deepEqual(listed, [Address.encode(first)])
  assert.equal(wallet.addresses(), listed)
  const second = wallet.generateKey()
  const inOrder = [first, second].sort(Buffer.compare).map(Address.encode)
  assert.deepEqual(wallet.addresses(), inOrder)
  age(path, 1800)
  assert.deepEqual(wallet.addresses(), inOrder)
  sql(path, 'DELETE FROM keys WHERE address = ?', second)
  // The file is checked once per turn of the event loop.
  await setImmediate()
  assert.deepEqual(wallet.addresses(), [Address.encode(first)], 'another program deleted one')
})

test('the password is checked against the one used for unlocking', (t) => {
  const { wallet } = start(t)
  assert.equal(wallet.isPassword(Buffer.from('secret')), true)
  for (const other of ['', 'Secret', 'secret ', 'secre', '\0secret']) {
    assert.equal(wallet.isPassword(Buffer.from(other)), false, other)
  }
})

const members = [derived(1n), derived(2n), derived(1n)]
const preimage = { version: 1, threshold: 2, publicKeys: members }

test('a preimage is exported as imported', (t) => {
  const { wallet } = start(t)
  const address = wallet.importMultisig(preimage)
  assert.deepEqual(address, Multisig.address(preimage))
  assert.deepEqual(wallet.multisigAddresses(), [Address.encode(address)])
  assert.deepEqual(wallet.multisig(address).publicKeys.map(Buffer.from), members.map(Buffer.from))
  fails('key_exists', () => wallet.importMultisig(preimage))
  wallet.deleteMultisig(address)
  fails('multisig_not_found', () => wallet.multisig(address))
})

test('a preimage that was changed in the file is rejected', (t) => {
  const { wallet, path } = start(t)
  const address = wallet.importMultisig(preimage)
  sql(path, 'UPDATE msig_addrs SET threshold = 1')
  fails('key_mismatch', () => wallet.multisig(address))
  sql(path, 'UPDATE msig_addrs SET pks = ?', Uint8Array.of(0x91, 0xc4, 2, 1, 1))
  fails('damaged_blob', () => wallet.multisig(address))
  sql(path, 'UPDATE msig_addrs SET pks = ?', Uint8Array.of(0x05))
  fails('damaged_blob', () => wallet.multisig(address))
})

test('a locked wallet cannot be used, and can be locked twice', (t) => {
  const { wallet } = start(t)
  const address = wallet.generateKey()
  wallet.sign(address, Buffer.alloc(1))
  wallet.lock()
  wallet.lock()
  const uses = [
    () => wallet.isPassword(Buffer.from('secret')),
    () => wallet.masterDerivationKey(),
    () => wallet.name(),
    () => wallet.addresses(),
    () => wallet.generateKey(),
    () => wallet.importKey(Buffer.alloc(32, 9)),
    () => wallet.exportKey(address),
    () => wallet.deleteKey(address),
    () => wallet.sign(address, Buffer.alloc(1)),
    () => wallet.multisig(address),
    () => wallet.multisigAddresses(),
    () => wallet.importMultisig(preimage),
    () => wallet.deleteMultisig(address),
  ]
  for (const use of uses) fails('handle_unknown', use)
})

const pair = (number: number): Ed25519.KeyPair =>
  Ed25519.keyPairFromSeed(new Uint8Array(32).fill(number & 0xff).fill(number >> 8, 1))
const pairs = Array.from({ length: 260 }, (_, i) => pair(i))
const holds = (keys: RecentKeys, { publicKey, secretKey }: Ed25519.KeyPair, revision: number): boolean => {
  const found = keys.get(publicKey, revision)
  if (found !== undefined) assert.deepEqual(Buffer.from(found), Buffer.from(secretKey))
  return found !== undefined
}

test('a key is found by its address while the file has the same revision', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, 1)
  keys.set(pairs[1]!.secretKey, 1)
  assert.equal(holds(keys, pairs[0]!, 1), true)
  assert.equal(holds(keys, pairs[1]!, 1), true)
  assert.equal(holds(keys, pairs[2]!, 1), false)
  keys.free()
})

test('a changed or uncertain revision wipes all keys', () => {
  for (const revision of [2, undefined]) {
    const keys = new RecentKeys()
    keys.set(pairs[0]!.secretKey, 1)
    const kept = keys.get(pairs[0]!.publicKey, 1)!
    assert.equal(keys.get(pairs[0]!.publicKey, revision), undefined)
    assert.deepEqual(Buffer.from(kept), Buffer.alloc(64))
    assert.equal(holds(keys, pairs[0]!, 1), false, 'nor do they come back')
    keys.free()
  }
})

test('a key stored at a new revision wipes the keys of the old one', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, 1)
  keys.set(pairs[1]!.secretKey, 2)
  assert.equal(holds(keys, pairs[1]!, 2), true)
  assert.equal(holds(keys, pairs[0]!, 2), false)
  keys.free()
})

test('no key is stored while the revision is uncertain', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, undefined)
  assert.equal(keys.get(pairs[0]!.publicKey, 0), undefined)
  keys.free()
})

test('the last 256 keys are kept', () => {
  const keys = new RecentKeys()
  for (const { secretKey } of pairs) keys.set(secretKey, 1)
  assert.deepEqual(
    pairs.map((one) => holds(keys, one, 1)),
    [...new Array(4).fill(false), ...new Array(256).fill(true)],
  )
  keys.free()
})

test('the given key is copied: wiping it changes nothing', () => {
  const keys = new RecentKeys()
  const secretKey = Uint8Array.from(pairs[0]!.secretKey)
  keys.set(secretKey, 1)
  secretKey.fill(0)
  assert.equal(holds(keys, pairs[0]!, 1), true)
  keys.free()
})

test('free() removes every key, and can be called twice', () => {
  const keys = new RecentKeys()
  keys.set(pairs[0]!.secretKey, 1)
  keys.free()
  keys.free()
  assert.equal(keys.get(pairs[0]!.publicKey, 1), undefined)
})
