import assert from 'node:assert/strict'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CommandError, UsageError } from './errors.js'
import { changedPassword, newPassword, password } from './password.js'

function file(t: TestContext, content: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-password-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'password'), content, { mode: 0o600 })
  return join(directory, 'password')
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const isBlankError = (error: unknown): boolean => error instanceof CommandError && error.code === 'password_blank'

test('an option takes precedence over the environment', async (t) => {
  const environment = { KMD_PASSWORD_FILE: file(t, 'from the environment\n'), KMD_PASSWORD: 'plain' }
  assert.equal(text(await password({}, 'w', environment)()), 'from the environment')
  assert.equal(text(await password({ 'password-file': file(t, 'given') }, 'w', environment)()), 'given')
  assert.equal(text(await password({ 'no-password': true }, 'w', environment)()), '')
})

test('reads the password on demand, and once', async (t) => {
  const descriptor = openSync(file(t, 'first\nsecond\n'), 'r')
  const obtain = password({ 'password-fd': String(descriptor) }, 'w', {})
  assert.equal(text(await obtain()), 'first')
  assert.equal(text(await obtain()), 'first')
  closeSync(descriptor)
})

test('warns about a file that other users can read', async (t) => {
  const warnings: string[] = []
  t.mock.method(process.stderr, 'write', (text: string) => warnings.push(text) > 0)
  const path = file(t, 'secret')
  await password({ 'password-file': path }, 'w', {})()
  assert.deepEqual(warnings, [])
  chmodSync(path, 0o640)
  await password({ 'password-file': path }, 'w', {})()
  await password({}, 'w', { KMD_PASSWORD_FILE: '/dev/null' })()
  t.mock.restoreAll()
  assert.deepEqual(warnings, [`warning: other users can read the password file "${path}"; run chmod 600 on it\n`])
})

test('rejects two sources and an invalid descriptor as a usage error', () => {
  assert.throws(() => password({ 'password-file': 'a', 'no-password': true }, 'w', {}), UsageError)
  assert.throws(() => password({ 'password-fd': '-1' }, 'w', {}), UsageError)
  assert.throws(() => changedPassword({ 'new-password-fd': 'x' }), /--new-password-fd must be a number/)
})

test('accepts an empty password for an existing wallet, and for a new one only with --no-password', async (t) => {
  const blank = file(t, '\n')
  assert.equal(text(await password({ 'password-file': blank }, 'w', {})()), '')
  await assert.rejects(newPassword({ 'password-file': blank }, {}), isBlankError)
  await assert.rejects(newPassword({}, { KMD_PASSWORD_FILE: '/dev/null' }), isBlankError)
  await assert.rejects(changedPassword({ 'new-password-file': blank }), isBlankError)
  assert.equal(text(await newPassword({ 'no-password': true }, {})), '')
  assert.equal(text(await changedPassword({ 'no-new-password': true })), '')
})

test('reports a file that cannot be read', async () => {
  await assert.rejects(newPassword({ 'password-file': '/nonexistent' }, {}), /password file cannot be read: ENOENT/)
})
