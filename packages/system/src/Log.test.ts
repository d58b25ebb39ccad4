import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Log, type RequestFields } from './Log.js'
import { temporaryDirectory } from './temporaryDirectory.test.helper.js'

const record: RequestFields = {
  id: 'abc-1',
  method: 'POST',
  route: '/v2/accounts/{address}',
  status: 200,
  durationMs: 1.23456,
  bytes: 12,
  isComplete: true,
}

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1)

test('a request is one line of text or JSON', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const log = new Log({ to: path })
  log.request(record)
  log.configure({ format: 'json' })
  log.request({ ...record, status: 500, isComplete: false, payment: 'PAID' })
  await log.close()
  const [text, json, ...more] = linesOf(path)
  assert.match(
    text!,
    /^time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} \+0000" level=info msg=request method=POST route=\/v2\/accounts\/\{address\} status=200 duration_ms=1\.235 bytes=12 request_id=abc-1$/,
  )
  const { time, ...members } = JSON.parse(json!)
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
  assert.deepEqual(members, {
    ...{ level: 'error', msg: 'request', method: 'POST', route: record.route, status: 500 },
    ...{ duration_ms: 1.235, bytes: 12, request_id: 'abc-1', payment: 'PAID', incomplete: true },
  })
  assert.deepEqual(more, [])
})

test('any text stays on one line without terminal control characters, and keeps its value in JSON', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const hostile = 'a "quoted"\nsecond \u001b[2J\u009b\u202e\u007f\u2028\u{e0001} ü level=error'
  for (const format of ['text', 'json'] as const) {
    const log = new Log({ to: path, format })
    log.write('info', hostile, { name: hostile, count: 2, absent: undefined })
    log.request({ ...record, id: hostile, route: hostile, method: hostile })
    await log.close()
  }
  const lines = linesOf(path)
  assert.equal(lines.length, 4)
  for (const line of lines) assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/)
  const { msg, name, count } = JSON.parse(lines[2]!)
  assert.deepEqual([msg, name, count], [hostile, hostile, 2])
  assert.equal(JSON.parse(lines[3]!).route, hostile)
})

test('a long text is truncated', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const log = new Log({ to: path })
  log.write('error', 'x'.repeat(1_000_000))
  await log.close()
  assert.ok(readFileSync(path).length < 5_000)
})

test('lines below the level are omitted', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const log = new Log({ to: path, level: 'warning' })
  log.write('info', 'no')
  for (const status of [200, 402, 404]) log.request({ ...record, status })
  log.write('warning', 'yes')
  for (const status of [401, 403, 429, 503, 500]) log.request({ ...record, status })
  await log.close()
  const levels = linesOf(path).map((line) => /level=(\w+)/.exec(line)![1])
  assert.deepEqual(levels, ['warning', 'warning', 'warning', 'warning', 'warning', 'error'])
})

test('a renamed file gets all lines until it is reopened, and the new file the rest', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'a.log')
  const log = new Log({ to: path })
  log.request({ ...record, id: 'one' })
  renameSync(path, `${path}.1`)
  log.request({ ...record, id: 'two' })
  log.reopen()
  log.request({ ...record, id: 'three' })
  await log.close()
  assert.deepEqual(linesOf(`${path}.1`).map(idOf), ['one', 'two'])
  assert.deepEqual(linesOf(path).map(idOf), ['three'])
})

const idOf = (line: string): string => /request_id=(\S+)/.exec(line)![1]!

test('if a file cannot be reopened, the log continues in the old one and reports it', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const log = new Log({ to: path })
  renameSync(path, `${path}.1`)
  mkdirSync(path)
  log.reopen()
  log.write('info', 'after')
  await log.close()
  const lines = linesOf(`${path}.1`)
  assert.match(lines[0]!, /level=error msg="the log could not be reopened, and continues in the old file: .*EISDIR/)
  assert.match(lines[1]!, /after/)
})

test('a file that is truncated in place has no hole afterwards', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const log = new Log({ to: path })
  log.write('info', 'before')
  truncateSync(path, 0)
  log.write('info', 'after')
  await log.close()
  assert.match(readFileSync(path, 'utf8'), /^time=.*after"\n$/)
})

test('a file beyond its limit replaces the previous renamed file', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'a.log')
  const log = new Log({ to: path, maxBytes: 10_000 })
  for (let i = 0; i < 300; i++) log.write('info', `line ${i} ${'x'.repeat(100)}`)
  await log.close()
  assert.deepEqual(readdirSync(directory).sort(), ['a.log', 'a.log.old'])
  assert.ok(readFileSync(path).length <= 10_300 && readFileSync(`${path}.old`).length <= 10_300)
  assert.match(readFileSync(path, 'utf8'), /line 299/)
})

test('if a file beyond its limit cannot be opened again, the log continues and reports it occasionally', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  const log = new Log({ to: path, maxBytes: 10_000 })
  // Simulates too many open files: the old file is moved away, and a new one cannot be opened.
  renameSync(path, `${path}.1`)
  mkdirSync(path)
  for (let i = 0; i < 200; i++) log.write('info', `line ${i} ${'x'.repeat(100)}`)
  await log.close()
  const lines = linesOf(`${path}.1`)
  const reports = lines.filter((line) => line.includes('could not be reopened')).length
  assert.ok(reports > 0 && reports < 40, String(reports))
  assert.equal(lines.length - reports, 200)
  assert.equal(log.lostLines, 0)
})

test('a full disk loses and counts lines, and the first line written again reports them', async (t) => {
  const path = join(temporaryDirectory(t), 'a.log')
  symlinkSync('/dev/full', path)
  const log = new Log({ to: path, format: 'json' })
  log.write('info', 'one')
  for (let i = 0; i < 500; i++) log.request(record)
  log.write('info', 'two')
  assert.equal(log.lostLines, 502)
  renameSync(path, `${path}.full`)
  log.reopen()
  log.write('info', 'three')
  await log.close()
  const [report, three, ...more] = linesOf(path).map((line) => JSON.parse(line).msg)
  assert.match(report, /^502 lines of this log could not be written since \d{4}-\S+: the disk is full$/)
  assert.deepEqual([three, more], ['three', []])
})

test('an unread pipe blocks nothing, and the waiting data is limited', async (t) => {
  const path = join(temporaryDirectory(t), 'pipe')
  await once(spawn('mkfifo', [path]), 'exit')
  // Opened for reading too and never read, so a blocking write would wait forever.
  const descriptor = openSync(path, 'r+')
  t.after(() => closeSync(descriptor))
  const log = new Log({ to: descriptor, format: 'json' })
  for (let i = 0; i < 30_000; i++) log.request({ ...record, id: `r${i}` })
  assert.ok(log.lostLines > 5_000, String(log.lostLines))
  await log.close()
})

test('an unread socket blocks nothing either', async (t) => {
  const reader = spawn('sleep', ['60'], { stdio: ['pipe', 'ignore', 'ignore'] })
  t.after(() => reader.kill('SIGKILL'))
  const descriptor = (reader.stdin as unknown as { _handle: { fd: number } })._handle.fd
  const log = new Log({ to: descriptor, format: 'json' })
  for (let i = 0; i < 30_000; i++) log.request({ ...record, id: `r${i}` })
  assert.ok(log.lostLines > 5_000, String(log.lostLines))
  await log.close()
})

test('a closed pipe loses lines without failing', async (t) => {
  const path = join(temporaryDirectory(t), 'pipe')
  await once(spawn('mkfifo', [path]), 'exit')
  const readEnd = openSync(path, 'r+')
  const writeEnd = openSync(path, 'a')
  closeSync(readEnd)
  const log = new Log({ to: writeEnd })
  log.write('info', 'into the closed pipe')
  for (let i = 0; i < 1_000 && log.lostLines === 0; i++) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(log.lostLines, 1)
  log.write('info', 'and again')
  await log.close()
  closeSync(writeEnd)
})

test('lines on a pipe arrive whole and in order', async (t) => {
  const path = join(temporaryDirectory(t), 'pipe')
  await once(spawn('mkfifo', [path]), 'exit')
  const descriptor = openSync(path, 'r+')
  const reader = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'ignore'] })
  let received = ''
  reader.stdout.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  const log = new Log({ to: descriptor })
  for (let i = 0; i < 3_000; i++) log.request({ ...record, id: `r${i}` })
  await log.close()
  closeSync(descriptor)
  await once(reader, 'close')
  assert.equal(log.lostLines, 0)
  const ids = received.split('\n').slice(0, -1).map(idOf)
  assert.deepEqual(
    ids,
    Array.from({ length: 3_000 }, (_, i) => `r${i}`),
  )
})
