import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Lock from '@latchkey/system/lock'
import { SentLog } from './SentLog.js'

const network = 'algorand:A'
const idOf = (letter: string): string => letter.repeat(52)
const made = (letter: string) => ({
  ...{ id: idOf(letter), firstValid: 5n, lastValid: 2n ** 60n, signed: Uint8Array.of(1, 2, 255) },
})

function fileOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-sent-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'sub', 'transactions.jsonl')
}

const add = (log: SentLog, letter: string, intent = 'x', isAgain = false, on = network) =>
  log.add(on, intent, async () => made(letter), { isAgain })

test('a transaction is found by its intent until it is closed, by any process', async (t) => {
  const path = fileOf(t)
  const log = new SentLog(path)
  assert.equal(log.findOpen(network, 'x'), undefined)
  const { sent, isNew } = await add(log, 'A')
  assert.ok(isNew && sent.isOpen)
  const other = new SentLog(path)
  assert.deepEqual(other.findOpen(network, 'x'), sent)
  assert.deepEqual(other.get(idOf('A')), sent)
  assert.equal(other.findOpen(network, 'y'), undefined)
  assert.equal(other.findOpen('algorand:B', 'x'), undefined)
  await other.close(idOf('A'))
  assert.equal(log.findOpen(network, 'x'), undefined)
  assert.equal(log.get(idOf('A'))?.isOpen, false)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('of two concurrent equal transactions, one is created and the other call gets it', async (t) => {
  const path = fileOf(t)
  const results = await Promise.all(['A', 'B', 'C'].map((letter) => add(new SentLog(path), letter)))
  assert.equal(results.filter(({ isNew }) => isNew).length, 1)
  assert.equal(new Set(results.map(({ sent }) => sent.id)).size, 1)
  const { sent, isNew } = await add(new SentLog(path), 'D', 'x', true)
  assert.deepEqual([sent.id, isNew], [idOf('D'), true])
})

test('a failed signature is not recorded, and releases the lock', async (t) => {
  const log = new SentLog(fileOf(t))
  const failing = log.add(network, 'x', () => Promise.reject(new Error('no key')), { isAgain: false })
  await assert.rejects(failing, /no key/)
  assert.equal(log.findOpen(network, 'x'), undefined)
  assert.ok((await add(log, 'A')).isNew)
})

test('the maker knows which ids were used', async (t) => {
  const log = new SentLog(fileOf(t))
  await add(log, 'A')
  await log.close(idOf('A'))
  let taken: boolean[] = []
  await log.add(
    network,
    'x',
    async (isTaken) => {
      taken = [isTaken(idOf('A')), isTaken(idOf('B'))]
      return made('B')
    },
    { isAgain: false },
  )
  assert.deepEqual(taken, [true, false])
})

test('closed transactions are removed eventually, open ones never', async (t) => {
  const path = fileOf(t)
  const log = new SentLog(path)
  await add(log, 'A', 'open')
  await add(log, 'B', 'closed')
  await log.close(idOf('B'))
  const [first, second] = readFileSync(path, 'utf8').trimEnd().split('\n')
  writeFileSync(path, `${[first, ...Array(700).fill(second)].join('\n')}\n`)
  await add(log, 'C', 'new')
  assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 502)
  assert.ok(log.findOpen(network, 'open') !== undefined && log.findOpen(network, 'new') !== undefined)
})

test('a damaged or foreign file is an error', async (t) => {
  const path = fileOf(t)
  const log = new SentLog(path)
  await add(log, 'A')
  const good = readFileSync(path, 'utf8')
  for (const bad of [
    ...['x\n', '{}\n', 'null\n', `${good}{"v":2}\n`, good.replace('"isOpen":true', '"isOpen":1')],
    ...[good.replace(idOf('A'), 'short'), good.replace('"firstValid":"5"', '"firstValid":"-5"'), good.slice(0, -40)],
  ]) {
    writeFileSync(path, bad)
    await assert.rejects(add(log, 'B'), { code: 'invalid_file' }, bad)
    assert.throws(() => log.findOpen(network, 'x'), { code: 'invalid_file' })
  }
  writeFileSync(path, ' '.repeat(9 * 1024 * 1024))
  await assert.rejects(add(log, 'B'), { code: 'file_unreadable' })
})

test('a lock held by another process is awaited, then an error asks to try again', async (t) => {
  const path = fileOf(t)
  await add(new SentLog(path), 'A')
  const lock = Lock.take(`${path}.lock`)
  const waiting = add(new SentLog(path), 'B', 'y')
  await assert.rejects(add(new SentLog(path, { lockMs: 50 }), 'C', 'z'), {
    code: 'file_unwritable',
    hint: 'another command is sending a transaction; try again',
  })
  Lock.release(lock)
  assert.ok((await waiting).isNew)
})

test('a file that cannot be written fails before the signature', async (t) => {
  const path = fileOf(t)
  writeFileSync(join(path, '..', '..', 'file'), '')
  let isSigned = false
  const log = new SentLog(join(path, '..', '..', 'file', 'transactions.jsonl'))
  const adding = log.add(
    network,
    'x',
    async () => {
      isSigned = true
      return made('A')
    },
    { isAgain: false },
  )
  await assert.rejects(adding, { code: 'file_unwritable', hint: /--log/ })
  assert.equal(isSigned, false)
})
