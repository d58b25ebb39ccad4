import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { age, createFile, hold, sql } from '../testing/WalletFixture.test.helper.js'
import { type Entry, WalletDirectory } from './WalletDirectory.js'

function start(t: TestContext, directory = join(temporaryDirectory(t), 'wallets')) {
  mkdirSync(directory, { recursive: true })
  const index = new WalletDirectory(directory)
  t.after(() => index.close())
  return { index, directory, at: (file: string) => join(directory, file) }
}

const files = async (index: WalletDirectory): Promise<string[]> => (await index.entries()).map(({ file }) => file)

/** Notifications of the operating system take a moment to arrive. */
async function eventually(look: () => Promise<unknown>, expected: unknown): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    const seen = await look()
    try {
      assert.deepEqual(seen, expected)
      return
    } catch (error) {
      if (waited > 3000) throw error
      await sleep(20)
    }
  }
}

test('wallets are listed by the bytes of their file names, with id and name as bytes', async (t) => {
  const { index, at, directory } = start(t)
  for (const [file, id, name] of [
    ['b.db', '2', 'ü'],
    ['B.db', '1', 'x'],
    ['é.db', '3', ''],
    ['.a.db', '4', 'y'],
  ] as const) {
    createFile(at(file), { id, name })
  }
  const entries = await index.entries()
  assert.deepEqual(
    entries.map(({ file }) => file),
    ['.a.db', 'B.db', 'b.db', 'é.db'],
  )
  assert.deepEqual(entries[2], {
    ...{ file: 'b.db', path: join(directory, 'b.db'), key: '2' },
    ...{ id: Buffer.from('2'), name: Buffer.from('ü') },
  })
})

test('added, changed and removed wallets are noticed', async (t) => {
  const { index, at } = start(t)
  assert.deepEqual(await files(index), [])
  createFile(at('a.db'), { name: 'old' })
  await eventually(() => files(index), ['a.db'])
  sql(at('a.db'), 'UPDATE metadata SET wallet_name = ?', Buffer.from('new'))
  await eventually(() => index.hasName(Buffer.from('new')), true)
  renameSync(at('a.db'), at('b.db'))
  await eventually(() => files(index), ['b.db'])
  unlinkSync(at('b.db'))
  await eventually(() => files(index), [])
})

test('a change by the daemon appears in the next list', async (t) => {
  const { index, at } = start(t)
  await index.entries()
  createFile(at('a.db'))
  index.touch('a.db')
  assert.deepEqual(await files(index), ['a.db'])
  unlinkSync(at('a.db'))
  index.touch('a.db')
  assert.deepEqual(await files(index), [])
})

test('files that are not wallets are ignored until they become wallets', async (t) => {
  const { index, at } = start(t)
  createFile(at('good.db'))
  createFile(at('other.txt'))
  writeFileSync(at('garbage.db'), 'no database'.repeat(1000))
  writeFileSync(at('empty.db'), '')
  mkdirSync(at('directory.db'))
  symlinkSync(at('nowhere'), at('dangling.db'))
  symlinkSync(at('good.db'), at('link.db'))
  for (const [file, change] of [
    ['driver.db', "driver_name = 'other'"],
    ['version.db', 'driver_version = 2'],
  ] as const) {
    createFile(at(file))
    sql(at(file), `UPDATE metadata SET ${change}`)
  }
  createFile(at('half.db'))
  sql(at('half.db'), 'DELETE FROM metadata')
  assert.deepEqual(await files(index), ['good.db', 'link.db'])
  copyFileSync(at('good.db'), at('garbage.db'))
  await eventually(() => files(index), ['garbage.db', 'good.db', 'link.db'])
})

test('listing writes and creates no file', async (t) => {
  const { index, at } = start(t)
  writeFileSync(at('empty.db'), '')
  await index.entries()
  index.touch('missing.db')
  await index.entries()
  assert.throws(() => copyFileSync(at('missing.db'), at('x')), { code: 'ENOENT' })
})

test('a wallet is found by its id; two files with one id are rejected', async (t) => {
  const { index, at } = start(t)
  createFile(at('a.db'), { id: 'one' })
  createFile(at('b.db'), { id: 'two' })
  assert.equal((await index.find('one')).file, 'a.db')
  const isCode = (code: string) => (error: unknown) => error instanceof KmdError && error.code === code
  await assert.rejects(index.find('three'), isCode('wallet_not_found'))
  await assert.rejects(index.find(''), isCode('wallet_not_found'))
  copyFileSync(at('a.db'), at('c.db'))
  index.touch('c.db')
  await assert.rejects(index.find('one'), isCode('wallet_id_ambiguous'))
  assert.equal((await index.find('two')).file, 'b.db')
  assert.equal((await index.entries()).length, 3, 'all of them are listed')
})

test('without changes the same list is returned, even after a scan of 500 files', async (t) => {
  const { index, at } = start(t)
  createFile(at('000.db'))
  for (let i = 1; i < 500; i++) copyFileSync(at('000.db'), at(`${String(i).padStart(3, '0')}.db`))
  const first = await index.entries()
  assert.equal(first.length, 500)
  for (let i = 0; i < 20; i++) assert.equal(await index.entries(), first)
  // Any file that is not a wallet causes another scan of the directory.
  writeFileSync(at('note.txt'), '')
  await sleep(100)
  assert.equal(await index.entries(), first)
  createFile(at('500.db'))
  await eventually(async () => (await index.entries()).length, 501)
  assert.notEqual(await index.entries(), first)
})

test('concurrent calls get the same list', async (t) => {
  const { index, at } = start(t)
  createFile(at('a.db'))
  const lists = await Promise.all(Array.from({ length: 50 }, () => index.entries()))
  assert.equal(new Set(lists).size, 1)
})

test("a missing directory is the reference's error, until it is back", async (t) => {
  const { index, at, directory } = start(t)
  createFile(at('a.db'))
  await index.entries()
  renameSync(directory, `${directory}.away`)
  const isMissing = (error: unknown): boolean =>
    error instanceof KmdError &&
    error.code === 'wallets_directory' &&
    error.message === `open ${directory}: no such file or directory`
  await eventually(
    () =>
      index.entries().then(
        () => false,
        (error) => isMissing(error),
      ),
    true,
  )
  mkdirSync(directory)
  createFile(at('b.db'))
  await eventually(() => files(index), ['b.db'])
  createFile(at('c.db'))
  await eventually(() => files(index), ['b.db', 'c.db'])
  rmSync(`${directory}.away`, { recursive: true })
})

test('a wallet held by another program stays listed with its known entry', async (t) => {
  const { index, at } = start(t)
  createFile(at('a.db'), { name: 'known' })
  await index.entries()
  const release = hold(at('a.db'))
  age(at('a.db'))
  index.touch('a.db')
  const [entry] = (await index.entries()) as [Entry]
  assert.deepEqual(entry.name, Buffer.from('known'))
  release()
})

test('a locked wallet that was never read is waited for', async (t) => {
  const { index, at } = start(t)
  createFile(at('a.db'))
  const release = hold(at('a.db'))
  const listed = files(index)
  setTimeout(release, 200)
  assert.deepEqual(await listed, ['a.db'])
})

test('a wallet that stays locked is omitted after five seconds', async (t) => {
  const { index, at } = start(t)
  createFile(at('a.db'), { id: 'a', name: 'a' })
  createFile(at('b.db'), { id: 'b', name: 'b' })
  const release = hold(at('a.db'))
  t.after(release)
  assert.deepEqual(await files(index), ['b.db'])
})

test('a change that affects neither id nor name leaves the list unchanged', async (t) => {
  const { index, at } = start(t)
  createFile(at('a.db'), { id: 'a', name: 'a' })
  const before = await index.entries()
  sql(at('a.db'), 'DELETE FROM keys')
  age(at('a.db'))
  index.touch('a.db')
  assert.equal(await index.entries(), before)
  sql(at('a.db'), 'UPDATE metadata SET wallet_name = ?', Buffer.from('b'))
  index.touch('a.db')
  assert.deepEqual(
    (await index.entries()).map(({ name }) => name.toString()),
    ['b'],
  )
})
