import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as StackDirectory from './StackDirectory.js'

function temporary(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'stack-directory-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('what an earlier stack has left is kept', (t) => {
  const path = join(temporary(t), 'dev')
  const first = StackDirectory.open(path)
  assert.deepEqual([first.isKept, first.buyer, first.isEphemeral], [false, undefined, false])
  assert.equal(statSync(path).mode & 0o777, 0o700)
  first.close()
  const unfinished = StackDirectory.open(path)
  assert.equal(unfinished.isKept, false, 'a start that was not finished')
  unfinished.recordBuyer('BUYER')
  unfinished.close()
  const second = StackDirectory.open(path)
  assert.deepEqual([second.isKept, second.buyer], [true, 'BUYER'])
  second.close()
})

test('one stack at a time uses a directory', (t) => {
  const path = join(temporary(t), 'dev')
  const first = StackDirectory.open(path)
  const again = { code: 'stack_already_running', exit: 'running' }
  assert.throws(() => StackDirectory.open(path), again)
  assert.throws(() => StackDirectory.open(path, { isFresh: true }), again)
  first.close()
  StackDirectory.open(path).close()
})

test('--fresh moves what was there away, and keeps one step back', (t) => {
  const path = join(temporary(t), 'dev')
  for (const buyer of ['FIRST', 'SECOND', 'THIRD']) {
    const directory = StackDirectory.open(path, { isFresh: true })
    assert.deepEqual([directory.isKept, existsSync(join(path, 'ledger.log'))], [false, false])
    directory.recordBuyer(buyer)
    writeFileSync(join(path, 'ledger.log'), buyer)
    directory.close()
  }
  assert.equal(readFileSync(join(path, 'previous', 'ledger.log'), 'utf8'), 'SECOND')
  assert.equal(existsSync(join(path, 'previous', 'previous')), false)
})

test('the directory of another program is neither used nor emptied', (t) => {
  const path = temporary(t)
  writeFileSync(join(path, 'thesis.txt'), 'precious')
  for (const isFresh of [false, true]) {
    assert.throws(() => StackDirectory.open(path, { isFresh }), { code: 'invalid_file' })
  }
  assert.deepEqual(readdirSync(path), ['thesis.txt'])
  writeFileSync(join(path, 'dev.json'), '{"buyer":"x"}')
  assert.throws(() => StackDirectory.open(path), { code: 'invalid_file' }, 'a file of that name alone')
})

test('a directory that cannot be made says what else to do', (t) => {
  const file = join(temporary(t), 'file')
  writeFileSync(file, '')
  assert.throws(() => StackDirectory.open(join(file, 'dev')), { code: 'file_unwritable', hint: /--dir.*--ephemeral/ })
})

test('a temporary directory is announced before it is written to, and removed', () => {
  let announced = ''
  const directory = StackDirectory.openEphemeral((path) => {
    announced = path
    assert.deepEqual(readdirSync(path), [])
  })
  assert.deepEqual([directory.path, directory.isEphemeral], [announced, true])
  mkdirSync(join(directory.path, 'kmd-v0.5'))
  directory.close()
  assert.equal(existsSync(announced), false)
})
