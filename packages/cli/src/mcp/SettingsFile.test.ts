import assert from 'node:assert/strict'
import {
  chmodSync,
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
import * as HttpToken from './HttpToken.js'
import { addServer } from './SettingsFile.js'

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-settings-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const entry = { command: 'node', args: ['mcp'] }
const addition = { member: 'mcpServers', name: 'latchkey', entry, mayReplace: false }

test('adds a server and leaves everything else unchanged', (t) => {
  const directory = directoryOf(t)
  const path = join(directory, 'settings.json')
  const before = '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"other": { "command": "x" }\n\t}\n}\n'
  writeFileSync(path, before)
  chmodSync(path, 0o644)
  const link = join(directory, 'link.json')
  symlinkSync(path, link)
  const { isChanged, backup } = addServer({ ...addition, path: link })
  assert.equal(isChanged, true)
  assert.equal(readFileSync(backup!, 'utf8'), before)
  const text = readFileSync(path, 'utf8')
  assert.deepEqual(JSON.parse(text), { theme: 'dark', mcpServers: { other: { command: 'x' }, latchkey: entry } })
  assert.ok(text.startsWith('{\n\t"theme"'))
  assert.equal(statSync(path).mode & 0o777, 0o644)
  assert.deepEqual(addServer({ ...addition, path }), { isChanged: false, backup: undefined })
  assert.equal(readdirSync(directory).length, 3, 'no temporary file is left')
})

test('creates missing settings', (t) => {
  const path = join(directoryOf(t), 'new', 'settings.json')
  assert.deepEqual(addServer({ ...addition, path }), { isChanged: true, backup: undefined })
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { mcpServers: { latchkey: entry } })
})

test('another server of the same name is replaced only on request', (t) => {
  const path = join(directoryOf(t), 'settings.json')
  writeFileSync(path, JSON.stringify({ mcpServers: { latchkey: { command: 'mine' } } }))
  assert.throws(() => addServer({ ...addition, path }), { code: 'file_exists' })
  addServer({ ...addition, path, mayReplace: true })
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')).mcpServers.latchkey, entry)
})

test('files that are not JSON, or have another form, are not changed', (t) => {
  const directory = directoryOf(t)
  const path = join(directory, 'settings.json')
  for (const text of ['{ // comment\n}', '[]', 'null', '{"mcpServers": []}', '{"mcpServers": "x"}', '{']) {
    writeFileSync(path, text)
    assert.throws(() => addServer({ ...addition, path }), { code: 'invalid_file' }, text)
    assert.equal(readFileSync(path, 'utf8'), text)
  }
  assert.deepEqual(readdirSync(directory), ['settings.json'])
})

test('a bearer token is created once, and only accepted from a file of this user alone', (t) => {
  const path = join(directoryOf(t), 'inner', 'http.token')
  const token = HttpToken.readOrCreate(path)
  assert.match(token, /^[A-Za-z0-9_-]{43}$/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(HttpToken.readOrCreate(path), token)
  chmodSync(path, 0o640)
  assert.throws(() => HttpToken.readOrCreate(path), { code: 'invalid_file' })
  chmodSync(path, 0o600)
  writeFileSync(path, 'short')
  assert.throws(() => HttpToken.readOrCreate(path), { code: 'invalid_file' })
})
