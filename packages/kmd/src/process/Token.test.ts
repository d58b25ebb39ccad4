import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { Log } from './Log.js'
import * as Token from './Token.js'

function directoryWith(t: TestContext, content: string | Buffer): string {
  const directory = temporaryDirectory(t)
  writeFileSync(Token.path(directory), content)
  return directory
}

test('a new token is 64 hex digits, without a newline, in a file that only its owner can read', (t) => {
  const directory = temporaryDirectory(t)
  const token = Token.readOrCreate(directory)
  assert.match(token, /^[0-9a-f]{64}$/)
  assert.equal(readFileSync(Token.path(directory), 'latin1'), token)
  assert.equal(statSync(Token.path(directory)).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(directory), ['kmd.token'])
  assert.equal(Token.readOrCreate(directory), token, 'and it stays')
})

test('concurrent starts all have the token that is in the file', async (t) => {
  const module = JSON.stringify(new URL('./Token.js', import.meta.url).href)
  for (let round = 0; round < 3; round++) {
    const directory = temporaryDirectory(t)
    // All wait for the same moment, as far as the machine allows.
    const atMs = Date.now() + 600
    const code = `import * as Token from ${module}
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, ${atMs} - Date.now() - 5))
      while (Date.now() < ${atMs});
      process.stdout.write(Token.readOrCreate(${JSON.stringify(directory)}))`
    const starts = Array.from({ length: 4 }, () =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]),
    )
    const tokens = (await Promise.all(starts)).map(({ stdout }) => stdout)
    assert.deepEqual(new Set(tokens), new Set([readFileSync(Token.path(directory), 'latin1')]))
    assert.deepEqual(readdirSync(directory), ['kmd.token'])
  }
})

test('a blank file gets a new token; read() creates none', (t) => {
  for (const blank of ['', '\n', `\n${'a'.repeat(64)}`]) {
    const directory = directoryWith(t, blank)
    assert.equal(Token.read(directory), undefined)
    assert.match(Token.readOrCreate(directory), /^[0-9a-f]{64}$/)
  }
  assert.equal(Token.read(temporaryDirectory(t)), undefined)
})

test('the token is the first line, byte for byte', (t) => {
  const line = 'a'.repeat(64)
  assert.equal(Token.read(directoryWith(t, line)), line)
  assert.equal(Token.read(directoryWith(t, `${line}\n`)), line)
  assert.equal(Token.read(directoryWith(t, `${line}\nsecond`)), line)
  assert.equal(Token.read(directoryWith(t, `${line}\r\n`)), `${line}\r`, 'a carriage return belongs to it')
  assert.equal(Token.read(directoryWith(t, Buffer.alloc(64, 0xe9))), '\u00e9'.repeat(64))
})

test('a token has 64 to 256 bytes; others are rejected and left unchanged', (t) => {
  assert.equal(Token.read(directoryWith(t, 'a'.repeat(256)))?.length, 256)
  const short = directoryWith(t, 'a'.repeat(63))
  assert.throws(() => Token.readOrCreate(short), /^StartError: provided APIToken too short. Must be >= 64 characters$/)
  assert.equal(readFileSync(Token.path(short), 'latin1'), 'a'.repeat(63))
  const long = directoryWith(t, 'a'.repeat(257))
  assert.throws(() => Token.read(long), /^StartError: provided APIToken too long. Must be <= 256 characters$/)
})

test('rotate() replaces the token, and follow() reports it', { timeout: 10_000 }, async (t) => {
  const directory = temporaryDirectory(t)
  const first = Token.readOrCreate(directory)
  const log = new Log(directory)
  const taken: string[] = []
  const unfollow = Token.follow(directory, { take: (token) => taken.push(token), log })
  t.after(() => {
    unfollow()
    log.close()
  })
  const second = Token.rotate(directory)
  assert.notEqual(second, first)
  assert.equal(Token.read(directory), second)
  while (taken.length === 0) await setTimeout(10)
  assert.deepEqual(taken, [second])
})

test('follow() ignores a damaged or missing file', { timeout: 10_000 }, async (t) => {
  const directory = temporaryDirectory(t)
  Token.readOrCreate(directory)
  const log = new Log(directory)
  const taken: string[] = []
  const unfollow = Token.follow(directory, { take: (token) => taken.push(token), log })
  t.after(() => {
    unfollow()
    log.close()
  })
  writeFileSync(Token.path(directory), 'short')
  while (!readFileSync(join(directory, 'kmd.log'), 'utf8').includes('was not applied')) await setTimeout(10)
  rmSync(Token.path(directory))
  await setTimeout(1_200)
  assert.deepEqual(taken, [])
})
