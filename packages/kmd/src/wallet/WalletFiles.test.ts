import assert from 'node:assert/strict'
import { copyFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { createFile } from '../testing/WalletFixture.test.helper.js'
import { WalletFiles } from './WalletFile.js'

function start(t: TestContext, limit?: number) {
  const directory = temporaryDirectory(t)
  const paths = ['a', 'b', 'c'].map((name) => join(directory, `${name}.db`)) as [string, string, string]
  const ids = paths.map((path) => createFile(path)) as [Buffer, Buffer, Buffer]
  const files = new WalletFiles(limit === undefined ? {} : { limit })
  t.after(() => files.closeAll())
  return { files, paths, ids }
}

const isDatabaseError = (error: unknown): boolean => error instanceof KmdError && error.code === 'database'

test('a file stays open while it is in use', (t) => {
  const { files, paths } = start(t)
  const [a, b] = paths
  assert.equal(files.get(a), files.get(a))
  assert.notEqual(files.get(a), files.get(b))
})

test('beyond the limit, the least recently used file is closed', (t) => {
  const { files, paths } = start(t, 2)
  const [a, b, c] = paths
  const openA = files.get(a)
  const openB = files.get(b)
  files.get(a)
  files.get(c)
  assert.equal(files.get(a), openA)
  assert.throws(() => openB.metadata(), 'it is closed')
  assert.notEqual(files.get(b), openB)
  files.get(b).metadata()
})

test('a replaced file is reopened', (t) => {
  const { files, paths, ids } = start(t)
  const [a, b] = paths
  const before = files.get(a)
  copyFileSync(b, `${a}.new`)
  renameSync(`${a}.new`, a)
  assert.notEqual(files.get(a), before)
  assert.deepEqual(files.get(a).metadata().id, ids[1])
})

test('a missing file is an error until it is back, and is not created again', (t) => {
  const { files, paths, ids } = start(t)
  const [a] = paths
  files.get(a)
  renameSync(a, `${a}.away`)
  assert.throws(() => files.get(a), isDatabaseError)
  assert.throws(() => files.get(a), isDatabaseError)
  renameSync(`${a}.away`, a)
  assert.deepEqual(files.getWallet(a, ids[0]).metadata().id, ids[0])
})

test('another wallet, or none, in place of an unlocked one is rejected', (t) => {
  const { files, paths, ids } = start(t)
  const [a, b, c] = paths
  files.getWallet(a, ids[0])
  renameSync(b, a)
  assert.throws(() => files.getWallet(a, ids[0]), isDatabaseError)
  files.getWallet(a, ids[1])
  writeFileSync(`${c}.empty`, '')
  renameSync(`${c}.empty`, c)
  assert.throws(() => files.getWallet(c, ids[2]))
})

test('a closed file can be opened again', (t) => {
  const { files, paths } = start(t)
  const before = files.get(paths[0])
  files.closeAll()
  assert.notEqual(files.get(paths[0]), before)
  files.close('never opened')
})
