import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as Lock from './Lock.js'
import { temporaryDirectory } from './temporaryDirectory.test.helper.js'

/** Whether another program could take the lock now. */
function isFree(path: string): boolean {
  return spawnSync('flock', ['-x', '-n', path, 'true']).status === 0
}

test('other programs see the lock until it is released', (t) => {
  const path = join(temporaryDirectory(t), 'x.lock')
  const lock = Lock.take(path)
  assert.equal(isFree(path), false)
  Lock.release(lock)
  assert.equal(isFree(path), true)
})

test('a second attempt in the same process fails and does not release the lock', (t) => {
  const path = join(temporaryDirectory(t), 'x.lock')
  const lock = Lock.take(path)
  assert.throws(() => Lock.take(path), {
    name: 'LockError',
    code: 'locked',
    message: `${path} is locked by another process`,
  })
  assert.equal(isFree(path), false)
  Lock.release(lock)
  Lock.release(Lock.take(path))
})

test('a lock held by another program is respected, and free once that program is killed', async (t) => {
  const path = join(temporaryDirectory(t), 'x.lock')
  const holder = spawn('flock', ['-x', '--no-fork', path, 'sh', '-c', 'echo held; exec sleep 60'])
  t.after(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  assert.throws(() => Lock.take(path), { code: 'locked' })
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  Lock.release(Lock.take(path))
})

test('the lock file is created empty with mode 0600, and an existing one keeps its content', (t) => {
  const path = join(temporaryDirectory(t), 'x.lock')
  Lock.release(Lock.take(path))
  assert.deepEqual([statSync(path).size, statSync(path).mode & 0o777], [0, 0o600])
  writeFileSync(path, 'content')
  Lock.release(Lock.take(path))
  assert.equal(statSync(path).size, 7)
})

test('a missing directory is an error of the file system', (t) => {
  assert.throws(() => Lock.take(join(temporaryDirectory(t), 'missing', 'x.lock')), { code: 'ENOENT' })
})

test('a missing flock command is named', { skip: process.platform === 'darwin' }, (t) => {
  const directory = temporaryDirectory(t)
  const path = process.env['PATH']
  process.env['PATH'] = directory
  t.after(() => {
    process.env['PATH'] = path
  })
  assert.throws(
    () => Lock.take(join(directory, 'x.lock')),
    (error) => {
      assert.ok(error instanceof Lock.LockError)
      assert.equal(error.code, 'flock_missing')
      assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOENT')
      return true
    },
  )
})

test('other failures of flock are not reported as a held lock', { skip: process.platform === 'darwin' }, (t) => {
  const directory = temporaryDirectory(t)
  const path = process.env['PATH']
  writeFileSync(join(directory, 'flock'), '#!/bin/sh\nexit 71\n', { mode: 0o700 })
  process.env['PATH'] = directory
  t.after(() => {
    process.env['PATH'] = path
  })
  assert.throws(() => Lock.take(join(directory, 'x.lock')), { code: 'lock_failed' })
})
