import assert from 'node:assert/strict'
import fs, { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import * as AtomicFile from './AtomicFile.js'
import { temporaryDirectory } from './temporaryDirectory.test.helper.js'

const parts = [Buffer.from('one '), Buffer.from('two')]

test('replace writes all parts and returns the file open', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'state')
  writeFileSync(path, 'an old and longer content')
  const handle = await AtomicFile.replace({ path, temporaryPath: `${path}.tmp`, parts })
  await AtomicFile.writeAt(handle, Buffer.from(' three'), 7)
  await handle.close()
  await AtomicFile.syncDirectory(path)
  assert.equal(readFileSync(path, 'utf8'), 'one two three')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(directory), ['state'])
})

test('replace removes a temporary file left by a crash', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'state')
  writeFileSync(`${path}.tmp`, 'a part of something much longer than the new content', { mode: 0o644 })
  await (await AtomicFile.replace({ path, temporaryPath: `${path}.tmp`, parts })).close()
  assert.equal(readFileSync(path, 'utf8'), 'one two')
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('replace does not write through a link at the temporary path', async (t) => {
  const directory = temporaryDirectory(t)
  const [path, target] = [join(directory, 'state'), join(directory, 'target')]
  writeFileSync(target, 'untouched')
  symlinkSync(target, `${path}.tmp`)
  await (await AtomicFile.replace({ path, temporaryPath: `${path}.tmp`, parts })).close()
  assert.equal(readFileSync(target, 'utf8'), 'untouched')
})

test('a failed replacement keeps the old content and leaves no temporary file', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'state')
  // A file cannot be renamed over a directory.
  mkdirSync(path)
  await assert.rejects(AtomicFile.replace({ path, temporaryPath: `${path}.tmp`, parts }), { code: 'EISDIR' })
  assert.throws(() => AtomicFile.replaceSync(path, 'new'), { code: 'EISDIR' })
  assert.deepEqual(readdirSync(directory), ['state'])
  const missing = join(directory, 'missing', 'state')
  await assert.rejects(AtomicFile.replace({ path: missing, temporaryPath: `${missing}.tmp`, parts }), {
    code: 'ENOENT',
  })
  assert.throws(() => AtomicFile.replaceSync(missing, 'new'), { code: 'ENOENT' })
})

test('writeAt repeats short writes and fails when nothing more is written', async () => {
  const written: string[] = []
  const accepting = (limits: number[]): FileHandle =>
    ({
      write: async (bytes: Uint8Array, offset: number, length: number, position: number) => {
        const bytesWritten = Math.min(length, limits.shift() ?? 0)
        written.push(`${position}:${Buffer.from(bytes.subarray(offset, offset + bytesWritten))}`)
        return { bytesWritten, buffer: bytes }
      },
    }) as unknown as FileHandle
  assert.equal(await AtomicFile.writeAt(accepting([2, 1, 9]), Buffer.from('abcdef'), 10), 16)
  assert.deepEqual(written, ['10:ab', '12:c', '13:def'])
  await assert.rejects(AtomicFile.writeAt(accepting([2]), Buffer.from('abc'), 0), {
    name: 'AtomicFileError',
    code: 'write_incomplete',
  })
})

test('writeAt reports a full disk', { skip: process.platform !== 'linux' }, async (t) => {
  const full = await open('/dev/full', 'w')
  t.after(() => full.close())
  await assert.rejects(AtomicFile.writeAt(full, Buffer.from('x'), 0), { code: 'ENOSPC' })
})

test('replaceSync replaces content and mode', (t) => {
  const umask = process.umask(0o022)
  t.after(() => process.umask(umask))
  const directory = temporaryDirectory(t)
  const path = join(directory, 'token')
  writeFileSync(path, 'old', { mode: 0o644 })
  AtomicFile.replaceSync(path, 'new')
  assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['new', 0o600])
  AtomicFile.replaceSync(path, Uint8Array.of(0x61), 0o640)
  assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['a', 0o640])
  assert.deepEqual(readdirSync(directory), ['token'])
})

test('replaceSync does not inherit the mode of a file left by a crash', (t) => {
  const path = join(temporaryDirectory(t), 'token')
  writeFileSync(`${path}.new`, 'left over', { mode: 0o666 })
  AtomicFile.replaceSync(path, 'new')
  assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['new', 0o600])
})

test('replaceSync succeeds if directories cannot be synced, and reports a failing disk', (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'token')
  const { fsyncSync } = fs
  let code = 'EINVAL'
  t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
    if (fs.fstatSync(descriptor).isDirectory()) throw Object.assign(new Error(code), { code })
    fsyncSync(descriptor)
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  AtomicFile.replaceSync(path, 'one')
  assert.equal(readFileSync(path, 'utf8'), 'one')
  code = 'EIO'
  assert.throws(() => AtomicFile.replaceSync(path, 'two'), { code: 'EIO' })
  assert.deepEqual(readdirSync(directory), ['token'])
})
