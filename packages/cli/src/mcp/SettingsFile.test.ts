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
import { clients, entryFor, settingsText, tomlTable } from './clients.js'
import * as HttpToken from './HttpToken.js'
import { addServer, addTable } from './SettingsFile.js'

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

test('a table is appended to TOML settings, once, and another one of the name is kept', (t) => {
  const path = join(directoryOf(t), 'config.toml')
  const header = '[mcp_servers.latchkey]'
  const table = tomlTable('mcp_servers', 'latchkey', { command: '/usr/bin/node', args: ['/x/"y"', 'mcp'] })
  assert.equal(table, `${header}\ncommand = "/usr/bin/node"\nargs = ["/x/\\"y\\"", "mcp"]\n`)
  writeFileSync(path, 'model = "x"\n')
  const { isChanged, backup } = addTable({ path, header, table })
  assert.equal(isChanged, true)
  assert.equal(readFileSync(backup!, 'utf8'), 'model = "x"\n')
  assert.equal(readFileSync(path, 'utf8'), `model = "x"\n\n${table}`)
  assert.deepEqual(addTable({ path, header, table }), { isChanged: false, backup: undefined })
  const other = table.replace('"mcp"', '"other"')
  for (const text of [other, '[ "mcp_servers" . latchkey ]\nurl = "x"\n', '[mcp_servers.latchkey.env]\nA = "x"\n']) {
    writeFileSync(path, text)
    assert.throws(() => addTable({ path, header, table }), { code: 'file_exists' }, text)
    assert.equal(readFileSync(path, 'utf8'), text)
  }
})

test('each client gets its own form of the settings', () => {
  const server = { command: 'node', args: ['mcp'] }
  const zed = JSON.parse(settingsText(clients.zed, 'latchkey', { ...server, ...entryFor(clients.zed, server) }))
  assert.deepEqual(zed, { context_servers: { latchkey: { source: 'custom', env: {}, ...server } } })
  assert.deepEqual(entryFor(clients.cline, server), { ...server, disabled: false })
  assert.match(
    clients.cline.path(),
    /Code\/User\/globalStorage\/saoudrizwan\.claude-dev\/settings\/cline_mcp_settings\.json$/,
  )
  assert.match(settingsText(clients.codex, 'latchkey', server), /^\[mcp_servers\.latchkey\]\n/)
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
