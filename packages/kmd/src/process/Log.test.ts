import assert from 'node:assert/strict'
import { readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { Log } from './Log.js'

test('an event is one line with its time, level and text, regardless of the text', (t) => {
  const directory = temporaryDirectory(t)
  const log = new Log(directory)
  log.write('info', 'started')
  log.write('error', 'a "quoted"\nsecond line \u2028 \u009b\u202e\u007f ü')
  log.close()
  const lines = readFileSync(join(directory, 'kmd.log'), 'utf8').split('\n')
  assert.equal(lines.length, 3)
  assert.match(lines[0]!, /^time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} \+0000" level=info msg="started"$/)
  assert.match(lines[1]!, / level=error msg="a \\"quoted\\"\\nsecond line \\u2028 \\u009b\\u202e\\u007f ü"$/)
  assert.equal(lines[2], '')
})

test('the log is appended to', (t) => {
  const directory = temporaryDirectory(t)
  for (const word of ['first', 'second']) {
    const log = new Log(directory)
    log.write('warning', word)
    log.close()
  }
  assert.match(readFileSync(join(directory, 'kmd.log'), 'utf8'), /first"\n.*second"\n$/)
})

test('only the owner can write to the log', (t) => {
  const directory = temporaryDirectory(t)
  new Log(directory).close()
  assert.equal(statSync(join(directory, 'kmd.log')).mode & 0o027, 0)
})

test('a missing directory is an error at once', (t) => {
  assert.throws(() => new Log(join(temporaryDirectory(t), 'missing')), { code: 'ENOENT' })
})

test('a full disk fails no write, and lost lines are counted', (t) => {
  const directory = temporaryDirectory(t)
  symlinkSync('/dev/full', join(directory, 'kmd.log'))
  const log = new Log(directory)
  assert.equal(log.lostLines, 0)
  log.write('info', 'one')
  log.write('error', 'two')
  assert.equal(log.lostLines, 2)
  log.close()
})
