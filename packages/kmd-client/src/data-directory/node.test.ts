import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readDataDirectory } from './node.js'

test('the error for a directory without a daemon always names kmd.net', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-data-directory-'))
  t.after(() => rm(dataDir, { recursive: true }))
  // The files are read on other threads, so an order that is left to them shows only in some of many tries.
  const messages = await Promise.all(
    Array.from({ length: 500 }, () => readDataDirectory(dataDir).then(String, (error: Error) => error.message)),
  )
  assert.deepEqual(
    [...new Set(messages)],
    [`no key daemon is running in ${dataDir}: kmd.net does not exist. Start one, or check the directory`],
  )
})
