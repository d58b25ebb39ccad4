import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Lock from '@latchkey/system/lock'
import * as StackPointer from './StackPointer.js'
import { stateDirectory } from './stateDirectory.js'

const urls = {
  ...{ devnetUrl: 'http://127.0.0.1:1', indexerUrl: 'http://127.0.0.1:2', kmdUrl: 'http://127.0.0.1:3' },
  ...{ facilitatorUrl: 'http://127.0.0.1:4', sellerUrl: 'http://127.0.0.1:5' },
}
const buyer = 'A'.repeat(58)

/** Creates a state directory, and the directory of a stack that this process runs. */
function setUp(t: TestContext): { directory: string; pointers: string } {
  const home = mkdtempSync(join(tmpdir(), 'stack-pointer-'))
  const before = process.env['XDG_STATE_HOME']
  process.env['XDG_STATE_HOME'] = home
  t.after(() => {
    if (before === undefined) delete process.env['XDG_STATE_HOME']
    else process.env['XDG_STATE_HOME'] = before
    rmSync(home, { recursive: true, force: true })
  })
  const directory = join(home, 'dev')
  mkdirSync(join(directory, 'kmd-v0.5'), { recursive: true })
  writeFileSync(join(directory, 'kmd-v0.5', 'kmd.pid'), String(process.pid))
  return { directory, pointers: join(stateDirectory(), 'stacks') }
}

/** Changes the file of this process's stack. */
function edit(path: string, change: object): void {
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }))
}

test('a running stack is found by a file that belongs to this user alone', (t) => {
  const { directory, pointers } = setUp(t)
  assert.deepEqual(StackPointer.find().running, [])
  const path = StackPointer.write({ directory, buyer, ...urls })
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(pointers).mode & 0o777, 0o700)
  const [found, ...others] = StackPointer.find().running
  assert.deepEqual(others, [])
  assert.equal(found!.pid, process.pid)
  assert.equal(StackPointer.kmdDataDir(found!), join(directory, 'kmd-v0.5'))
  assert.deepEqual(readdirSync(pointers), [`${process.pid}.json`], 'no temporary file is left')
})

test('a process that is gone or has another start time is not the stack', (t) => {
  const { directory } = setUp(t)
  const path = StackPointer.write({ directory, buyer, ...urls })
  for (const change of [{ startTime: '1' }, { pid: 2 ** 22 + 1 }, { pid: process.ppid }]) {
    const before = readFileSync(path)
    edit(path, change)
    const { running, ended } = StackPointer.find()
    assert.deepEqual(running, [], JSON.stringify(change))
    assert.equal(ended?.directory, directory)
    writeFileSync(path, before)
  }
  assert.equal(StackPointer.find().running.length, 1)
})

test('a process that is not the daemon of the directory is not the stack', (t) => {
  const { directory } = setUp(t)
  StackPointer.write({ directory, buyer, ...urls })
  writeFileSync(join(directory, 'kmd-v0.5', 'kmd.pid'), '1')
  assert.deepEqual(StackPointer.find().running, [])
  rmSync(join(directory, 'kmd-v0.5', 'kmd.pid'))
  assert.deepEqual(StackPointer.find().running, [])
})

test('addresses elsewhere, and anything that a stack does not write, are refused', (t) => {
  const { directory } = setUp(t)
  const path = StackPointer.write({ directory, buyer, ...urls })
  const good = readFileSync(path)
  const changes = [
    ...['http://192.0.2.1:4001', 'http://127.0.0.1.example.com:1', 'https://127.0.0.1:1', 'http://u@127.0.0.1:1', 5],
  ].map((devnetUrl) => ({ devnetUrl }))
  const others = [
    { directory: 'relative' },
    { buyer: 'someone' },
    { pid: 1 },
    { pid: 'x' },
    { startedMs: 'now' },
    { kmdUrl: null },
  ]
  for (const change of [...changes, ...others]) {
    edit(path, change)
    assert.deepEqual(StackPointer.find(), { running: [], ended: undefined }, JSON.stringify(change))
    writeFileSync(path, good)
  }
  for (const text of ['', 'null', '[]', '{', ' '.repeat(20_000) + good]) {
    writeFileSync(path, text)
    assert.deepEqual(StackPointer.find().running, [])
  }
})

test('a file or directory that others can change does not count', (t) => {
  const { directory, pointers } = setUp(t)
  const path = StackPointer.write({ directory, buyer, ...urls })
  for (const [target, bad, good] of [
    [path, 0o644, 0o600],
    [pointers, 0o777, 0o700],
    [pointers, 0o770, 0o700],
  ] as const) {
    chmodSync(target, bad)
    assert.deepEqual(StackPointer.find().running, [], `${target} ${bad.toString(8)}`)
    chmodSync(target, good)
  }
  const elsewhere = join(directory, 'elsewhere.json')
  writeFileSync(elsewhere, readFileSync(path), { mode: 0o600 })
  rmSync(path)
  symlinkSync(elsewhere, path)
  assert.deepEqual(StackPointer.find().running, [], 'a link')
})

test('the newest is first, and a start removes files of killed stacks', (t) => {
  const { directory, pointers } = setUp(t)
  const path = StackPointer.write({ directory, buyer, ...urls })
  const older = join(pointers, '7.json')
  writeFileSync(older, readFileSync(path), { mode: 0o600 })
  edit(older, { startedMs: 1, sellerUrl: 'http://127.0.0.1:6' })
  assert.deepEqual(
    StackPointer.find().running.map(({ sellerUrl }) => sellerUrl),
    ['http://127.0.0.1:5', 'http://127.0.0.1:6'],
  )
  edit(older, { startTime: '1' })
  StackPointer.write({ directory, buyer, ...urls })
  assert.equal(existsSync(older), false)
})

test('the data directory of a running stack is recognized by its lock, and checking changes nothing', (t) => {
  const { directory } = setUp(t)
  const dataDir = join(directory, 'kmd-v0.5')
  const lockFile = join(directory, StackPointer.lockName)
  assert.equal(StackPointer.isRunningIn(dataDir), false)
  assert.equal(existsSync(lockFile), false)
  const lock = Lock.take(lockFile)
  assert.equal(StackPointer.isRunningIn(dataDir), true)
  assert.equal(StackPointer.isRunningIn(join(directory, 'other')), false)
  Lock.release(lock)
  assert.equal(StackPointer.isRunningIn(dataDir), false)
})
