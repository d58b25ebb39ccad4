import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runAll } from './manage.js'

test('a command of the machine is not searched in the PATH of a user', {
  skip: process.platform === 'win32',
}, (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-path-'))
  const { PATH } = process.env
  t.after(() => {
    process.env['PATH'] = PATH
    rmSync(directory, { recursive: true, force: true })
  })
  writeFileSync(join(directory, 'latchkey-planted'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  process.env['PATH'] = `${directory}:${PATH}`
  assert.deepEqual(
    [false, true].map((isSystem) => runAll([['latchkey-planted']], isSystem)[0]!.isOk),
    [true, false],
  )
})
