import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as StackDirectory from './StackDirectory.js'

function temporary(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'stack-directory-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('the state of an earlier stack is kept', (t) => {
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

test('--fresh moves the existing state away, and keeps one previous version', (t) => {
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

/** Creates a stack with a buyer and two files. */
function used(path: string, buyer: string): void {
  const directory = StackDirectory.open(path, { isFresh: true })
  directory.recordBuyer(buyer)
  for (const name of ['ledger.log', 'keys']) writeFileSync(join(path, name), buyer)
  directory.close()
}

test('a --fresh killed at any point is finished by the next start, and loses no keys', (t) => {
  for (const next of [{ isFresh: false }, { isFresh: true }]) {
    for (const step of [0, 1, 2, 3, 4]) {
      const path = join(temporary(t), 'dev')
      used(path, 'FIRST')
      used(path, 'SECOND')
      const [moving, previous] = [join(path, 'moving'), join(path, 'previous')]
      // Repeats the steps of --fresh up to the given one.
      mkdirSync(moving)
      if (step > 0) writeFileSync(join(moving, 'dev.json'), readFileSync(join(path, 'dev.json')))
      if (step > 1) renameSync(join(path, 'keys'), join(moving, 'keys'))
      if (step > 2) renameSync(join(path, 'ledger.log'), join(moving, 'ledger.log'))
      if (step > 2) writeFileSync(join(path, 'dev.json'), '{"kind":"latchkey dev stack","version":1,"buyer":""}')
      if (step > 3) rmSync(previous, { recursive: true })
      const directory = StackDirectory.open(path, next)
      const text = `after step ${step}, isFresh ${next.isFresh}`
      assert.equal(directory.isKept, false, text)
      directory.close()
      assert.deepEqual(readdirSync(path).sort(), ['dev.json', 'dev.lock', 'previous'], text)
      assert.deepEqual(readdirSync(previous).sort(), ['dev.json', 'keys', 'ledger.log'], text)
      assert.equal(readFileSync(join(previous, 'keys'), 'utf8'), 'SECOND', text)
      const kept = StackDirectory.open(previous)
      assert.equal(kept.buyer, 'SECOND', 'it can be used again')
      kept.close()
    }
  }
})

test('an incomplete start does not count as a previous version', (t) => {
  const path = join(temporary(t), 'dev')
  used(path, 'FIRST')
  for (let start = 0; start < 3; start++) {
    StackDirectory.open(path, { isFresh: true }).close()
    writeFileSync(join(path, 'ledger.log'), 'unfinished')
  }
  assert.equal(readFileSync(join(path, 'previous', 'keys'), 'utf8'), 'FIRST')
})

test('--fresh follows no link out of the directory', (t) => {
  const outside = temporary(t)
  writeFileSync(join(outside, 'thesis.txt'), 'precious')
  const path = join(temporary(t), 'dev')
  used(path, 'FIRST')
  symlinkSync(outside, join(path, 'link'))
  symlinkSync(outside, join(path, 'previous'))
  StackDirectory.open(path, { isFresh: true }).close()
  StackDirectory.open(path, { isFresh: true }).close()
  used(path, 'SECOND')
  StackDirectory.open(path, { isFresh: true }).close()
  assert.deepEqual(readdirSync(outside), ['thesis.txt'])
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

test('a directory that cannot be created suggests an alternative', (t) => {
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
