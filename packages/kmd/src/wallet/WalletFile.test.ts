import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, existsSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Address } from '@latchkey/algorand'
import { type Code, KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { age, createFile, hold, sql, wrapped } from '../testing/WalletFixture.test.helper.js'
import * as Sqlite from './Sqlite.js'
import { WalletFile } from './WalletFile.js'

function openFile(t: TestContext, id = 'the-id', name = 'the name'): { file: WalletFile; path: string } {
  const path = join(temporaryDirectory(t), 'one.db')
  createFile(path, { id, name })
  const file = new WalletFile(path)
  t.after(() => file.close())
  return { file, path }
}

const address = (number: number): Buffer => Buffer.alloc(32, number)
const fails = (code: Code, work: () => unknown): void => {
  assert.throws(work, (error) => error instanceof KmdError && error.code === code, code)
}

test('a new file has the tables of the reference, ids and names as blobs, and is private to its owner', (t) => {
  const { path } = openFile(t)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const tables = sql(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
  assert.deepEqual(
    tables.map((row) => (row as { name: string }).name),
    ['keys', 'metadata', 'msig_addrs'],
  )
  const types = sql(
    path,
    `SELECT typeof(driver_name) d, typeof(driver_version) v, typeof(wallet_id) i, typeof(wallet_name) n,
    typeof(mep_encrypted) e, driver_name, driver_version FROM metadata`,
  )
  assert.deepEqual(
    { ...(types[0] as object) },
    {
      ...{ d: 'text', v: 'integer', i: 'blob', n: 'blob', e: 'blob' },
      ...{ driver_name: 'sqlite', driver_version: 1 },
    },
  )
  assert.deepEqual({ ...(sql(path, 'PRAGMA journal_mode')[0] as object) }, { journal_mode: 'delete' })
})

test('create() never overwrites a file', (t) => {
  const { path } = openFile(t)
  assert.throws(() => createFile(path), { code: 'EEXIST' })
})

test('id and name are read as bytes, even if they were stored as text', (t) => {
  const { file, path } = openFile(t, 'ü', 'name\0\xff')
  assert.deepEqual(file.metadata(), { id: Buffer.from('ü'), name: Buffer.from('name\0\xff') })
  sql(path, "UPDATE metadata SET wallet_id = 'text-id', wallet_name = 'textual'")
  assert.deepEqual(file.metadata(), { id: Buffer.from('text-id'), name: Buffer.from('textual') })
  assert.equal(file.rename(Buffer.from('new'), wrapped), true)
  assert.deepEqual(file.metadata().name, Buffer.from('new'), 'and renamed all the same')
})

test('a wallet that another program has rewrapped in the meantime is not renamed or rewrapped', (t) => {
  const { file, path } = openFile(t)
  sql(path, 'UPDATE metadata SET mep_encrypted = ?', Uint8Array.of(7))
  assert.equal(file.rename(Buffer.from('new'), wrapped), false)
  assert.equal(file.rewrap(Uint8Array.of(9, 9), wrapped), false)
  assert.deepEqual(file.metadata().name, Buffer.from('the name'))
  assert.deepEqual(Buffer.from(file.encrypted().masterKey), Buffer.of(7))
})

test('a file of another driver or version, or without metadata, is not a wallet', (t) => {
  const { file, path } = openFile(t)
  sql(path, 'UPDATE metadata SET driver_version = 2')
  fails('wrong_driver_version', () => file.metadata())
  sql(path, "UPDATE metadata SET driver_name = 'other'")
  fails('wrong_driver_name', () => file.metadata())
  sql(path, 'DELETE FROM metadata')
  fails('database', () => file.metadata())
  fails('database', () => file.encrypted())
})

test('renaming and rewrapping change only that value', (t) => {
  const { file } = openFile(t)
  const before = file.encrypted()
  assert.equal(file.rewrap(Uint8Array.of(9, 9), wrapped), true)
  assert.deepEqual(Buffer.from(file.encrypted().masterKey), Buffer.of(9, 9))
  assert.deepEqual(file.encrypted().masterDerivationKey, before.masterDerivationKey)
  assert.deepEqual(file.encrypted().maxKeyIndex, before.maxKeyIndex)
  assert.deepEqual(file.metadata().name, Buffer.from('the name'))
})

test('keys are listed in byte order; a key is stored once, and can be deleted any number of times', (t) => {
  const { file, path } = openFile(t)
  for (const number of [200, 1, 100]) file.insertKey(address(number), Uint8Array.of(number))
  assert.deepEqual(
    file.keyAddresses.read()!.map((text) => Address.decode(text)[0]),
    [1, 100, 200],
  )
  fails('key_exists', () => file.insertKey(address(1), Uint8Array.of(9)))
  assert.deepEqual([...file.secretKey(address(1))!], [1])
  assert.equal(file.hasKey(address(1)), true)
  file.deleteKey(address(1))
  file.deleteKey(address(1))
  assert.equal(file.hasKey(address(1)), false)
  assert.equal(file.secretKey(address(1)), undefined)
  assert.equal((sql(path, 'SELECT key_idx FROM keys')[0] as { key_idx: unknown }).key_idx, null)
})

test('a generated key and the new maximum are stored together, or neither is', (t) => {
  const { file, path } = openFile(t)
  const before = file.encrypted().maxKeyIndex
  const key = { address: address(5), secretKey: Uint8Array.of(5), index: 2n ** 40n, maxKeyIndex: Uint8Array.of(77) }
  assert.throws(() =>
    file.generateKey(() => {
      throw new Error('half way')
    }),
  )
  file.insertKey(address(6), Uint8Array.of(6))
  assert.throws(() => file.generateKey(() => ({ ...key, address: address(6) })))
  assert.deepEqual(file.encrypted().maxKeyIndex, before)
  assert.deepEqual(
    file.generateKey(() => key),
    key.address,
  )
  assert.deepEqual([...file.encrypted().maxKeyIndex], [77])
  const row = sql(path, 'SELECT key_idx FROM keys WHERE address = ?', address(5))[0] as { key_idx: number }
  assert.equal(row.key_idx, 2 ** 40)
})

test('a change leaves an empty journal, other programs change the file meanwhile, and closing removes the journal', async (t) => {
  const path = join(temporaryDirectory(t), 'one.db')
  createFile(path)
  const file = new WalletFile(path)
  const journal = `${path}-journal`
  file.insertKey(address(1), Uint8Array.of(1))
  assert.equal(statSync(journal).size, 0)
  sql(path, 'DELETE FROM keys')
  assert.equal(existsSync(journal), false, 'another program removes it with its own change')
  await setImmediate()
  assert.equal(file.isCurrent(), true)
  assert.equal(file.hasKey(address(1)), false)
  file.insertKey(address(2), Uint8Array.of(2))
  assert.equal(statSync(journal).size, 0)
  file.close()
  assert.equal(existsSync(journal), false)
})

test('a file is unchanged for the id it was asked for, until anything about it differs', async (t) => {
  const path = join(temporaryDirectory(t), 'one.db')
  createFile(path)
  const file = new WalletFile(path)
  t.after(() => file.close())
  const { id } = file.metadata()
  assert.equal(file.isUnchanged(id), false, 'its id was not compared yet')
  assert.equal(file.holds(id), true)
  assert.equal(file.isUnchanged(id), true)
  assert.equal(file.isUnchanged(Buffer.from('another')), false)
  file.insertKey(address(1), Uint8Array.of(1))
  assert.equal(file.isUnchanged(id), true, "the object's own changes are known")
  const changes: Record<string, () => void> = {
    content: () => void sql(path, 'DELETE FROM keys'),
    permissions: () => chmodSync(path, 0o640),
    name: () => renameSync(path, `${path}.moved`),
  }
  for (const [name, change] of Object.entries(changes)) {
    age(path)
    await setImmediate()
    assert.equal(file.isCurrent(), true)
    await setImmediate()
    change()
    await setImmediate()
    assert.equal(file.isUnchanged(id), false, name)
    if (name !== 'name') assert.equal(file.isCurrent(), true)
    await setImmediate()
    assert.equal(file.isUnchanged(id), name !== 'name', `${name}, after the check`)
  }
})

test('preimages are stored like keys', (t) => {
  const { file } = openFile(t)
  const preimage = { version: 1, threshold: 2, publicKeys: Uint8Array.of(1, 2, 3) }
  file.insertPreimage(address(9), preimage)
  file.insertPreimage(address(3), preimage)
  fails('key_exists', () => file.insertPreimage(address(9), preimage))
  assert.deepEqual(
    file.multisigAddresses.read()!.map((text) => Address.decode(text)[0]),
    [3, 9],
  )
  const stored = file.preimage(address(9))!
  assert.deepEqual(
    { ...stored, publicKeys: [...stored.publicKeys] },
    { version: 1, threshold: 2, publicKeys: [1, 2, 3] },
  )
  file.deletePreimage(address(9))
  assert.equal(file.preimage(address(9)), undefined)
})

test('a replaced or missing file is not current', async (t) => {
  const { file, path } = openFile(t)
  assert.equal(file.isCurrent(), true)
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
  assert.equal(file.isCurrent(), true, 'it is looked at once in a turn')
  await setImmediate()
  assert.equal(file.isCurrent(), false)
  unlinkSync(path)
  assert.equal(file.isCurrent(), false)
  fails('database', () => new WalletFile(path))
})

test('a revision stays the same while the content does, and is uncertain right after a change', async (t) => {
  const { file, path } = openFile(t)
  // Changed just now, even if this process is delayed.
  age(path, -60)
  file.isCurrent()
  assert.equal(file.revision(), undefined)
  age(path, 3600)
  await setImmediate()
  file.isCurrent()
  const first = file.revision()
  assert.notEqual(first, undefined)
  await setImmediate()
  file.isCurrent()
  assert.equal(file.revision(), first)
  age(path, 1800)
  await setImmediate()
  file.isCurrent()
  assert.notEqual(file.revision(), first)
})

test('a change by the daemon is visible within the same turn', (t) => {
  const { file, path } = openFile(t)
  age(path, 3600)
  file.isCurrent()
  const before = file.revision()
  file.rename(Buffer.from('another'), wrapped)
  file.isCurrent()
  assert.notEqual(file.revision(), before)
})

test('a reopened file never has an earlier revision', (t) => {
  const { file, path } = openFile(t)
  age(path, 3600)
  file.isCurrent()
  const again = new WalletFile(path)
  t.after(() => again.close())
  assert.notEqual(again.revision(), file.revision())
})

test('a locked database is retried; a file that is not a database is an error', async (t) => {
  const { file, path } = openFile(t)
  const release = hold(path)
  assert.throws(() => file.metadata(), Sqlite.isLocked)
  const later = Sqlite.retryWhileLocked(() => file.metadata().name)
  setTimeout(release, 60)
  assert.deepEqual(await later, Buffer.from('the name'))
  const garbage = join(temporaryDirectory(t), 'garbage.db')
  writeFileSync(garbage, 'no database'.repeat(500))
  const failing = Sqlite.retryWhileLocked(() => new WalletFile(garbage).metadata())
  await assert.rejects(failing, { code: 'database' })
})
