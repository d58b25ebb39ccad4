import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { lockFileName, releaseLock, takeLock } from './dataDirectory.js'

/** Whether another program can take the lock now. */
function isFree(directory: string): boolean {
  return spawnSync('flock', ['-x', '-n', join(directory, lockFileName), 'true']).status === 0
}

test('other programs see the lock while it is held', (t) => {
  const directory = temporaryDirectory(t)
  const lock = takeLock(directory)
  assert.equal(isFree(directory), false)
  releaseLock(lock)
  assert.equal(isFree(directory), true)
})

test('the lock is exclusive within one process, and can be taken again after release', (t) => {
  const directory = temporaryDirectory(t)
  const lock = takeLock(directory)
  assert.throws(() => takeLock(directory), { code: 'already_running' })
  assert.equal(isFree(directory), false, 'the failed try gave nothing back')
  releaseLock(lock)
  releaseLock(takeLock(directory))
})

test('a lock that another program holds is respected', async (t) => {
  const directory = temporaryDirectory(t)
  const holder = spawn('flock', ['-x', join(directory, lockFileName), 'sh', '-c', 'echo held; read line'])
  t.after(() => holder.stdin.end())
  await once(holder.stdout, 'data')
  assert.throws(() => takeLock(directory), /^StartError: failed to lock kmd\.lock/)
  holder.stdin.end()
  await once(holder, 'exit')
  releaseLock(takeLock(directory))
})

test('the lock file is empty and private to its owner', (t) => {
  const directory = temporaryDirectory(t)
  const lock = takeLock(directory)
  t.after(() => releaseLock(lock))
  const { size, mode } = statSync(join(directory, 'kmd.lock'))
  assert.deepEqual([size, mode & 0o777], [0, 0o600])
})

test('a missing directory is a different error', (t) => {
  assert.throws(() => takeLock(join(temporaryDirectory(t), 'missing')), { code: 'ENOENT' })
})
