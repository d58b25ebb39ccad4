import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { UsageError } from './Command.js'
import { CommandError } from './exitCodes.js'
import { changedPassword, newPassword, password } from './password.js'

function file(t: TestContext, content: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-password-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'password'), content)
  return join(directory, 'password')
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const isFailure = (error: unknown): boolean => error instanceof CommandError && error.code === 'password'

test('what is said counts more than the environment', async (t) => {
  const environment = { KMD_PASSWORD_FILE: file(t, 'of the environment\n'), KMD_PASSWORD: 'plain' }
  assert.equal(text(await password({}, 'w', environment)()), 'of the environment')
  assert.equal(text(await password({ 'password-file': file(t, 'said') }, 'w', environment)()), 'said')
  assert.equal(text(await password({ 'no-password': true }, 'w', environment)()), '')
})

test('it is read when it is needed, and once', async (t) => {
  const descriptor = openSync(file(t, 'first\nsecond\n'), 'r')
  const obtain = password({ 'password-fd': String(descriptor) }, 'w', {})
  assert.equal(text(await obtain()), 'first')
  assert.equal(text(await obtain()), 'first')
  closeSync(descriptor)
})

test('two ways at once, and a descriptor that is none, are wrong use at once', () => {
  assert.throws(() => password({ 'password-file': 'a', 'no-password': true }, 'w', {}), UsageError)
  assert.throws(() => password({ 'password-fd': '-1' }, 'w', {}), UsageError)
  assert.throws(() => changedPassword({ 'new-password-fd': 'x' }), /--new-password-fd takes a number/)
})

test('a wallet that is there may have a blank password; a new one has it only if that is said', async (t) => {
  const blank = file(t, '\n')
  assert.equal(text(await password({ 'password-file': blank }, 'w', {})()), '')
  await assert.rejects(newPassword({ 'password-file': blank }, {}), isFailure)
  await assert.rejects(newPassword({}, { KMD_PASSWORD_FILE: '/dev/null' }), isFailure)
  await assert.rejects(changedPassword({ 'new-password-file': blank }), isFailure)
  assert.equal(text(await newPassword({ 'no-password': true }, {})), '')
  assert.equal(text(await changedPassword({ 'no-new-password': true })), '')
})

test('a file that cannot be read is told without a word of its content', async () => {
  await assert.rejects(newPassword({ 'password-file': '/nonexistent' }, {}), /password file cannot be read: ENOENT/)
})
