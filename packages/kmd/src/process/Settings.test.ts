import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import * as Config from './Config.js'
import { Daemon } from './Daemon.js'
import { DaemonApp } from './DaemonApp.js'
import * as Settings from './Settings.js'

const write = (dataDir: string, settings: unknown): void =>
  writeFileSync(join(dataDir, 'kmd_config.json'), typeof settings === 'string' ? settings : JSON.stringify(settings))

test('settings that need no restart are applied, and the others named', (t) => {
  const dataDir = temporaryDirectory(t)
  const current = { ...Config.defaults, address: '127.0.0.1:1', sessionLifetimeSecs: 5 }
  write(dataDir, {
    ...{ address: '127.0.0.1:2', wire: 'reference', session_lifetime_secs: 7, allowed_hosts: ['a.example'] },
    ...{
      algod: { url: 'http://127.0.0.1:4001' },
      log_level: 'debug',
      drivers: { sqlite: { scrypt: { scrypt_n: 131072 } } },
    },
  })
  const { config, isNodeChanged, lines } = Settings.reload(dataDir, current)
  const { sessionLifetimeSecs, allowedHosts, algod, logLevel, ...others } = config!
  assert.deepEqual(
    [sessionLifetimeSecs, allowedHosts, algod, logLevel, isNodeChanged],
    [7, ['a.example'], { url: 'http://127.0.0.1:4001', token: '' }, 'debug', true],
  )
  assert.deepEqual([others.address, others.wire, others.scrypt], ['127.0.0.1:1', undefined, Config.defaults.scrypt])
  assert.deepEqual(
    lines.map(({ level, text }) => `${level}: ${text}`),
    [
      'info: applied session_lifetime_secs, allowed_hosts, algod, log_level from kmd_config.json',
      'warning: drivers.sqlite.scrypt, address, wire changed in kmd_config.json: restart the daemon to apply it',
    ],
  )
  const again = Settings.reload(dataDir, config!)
  assert.deepEqual(
    again.lines.map(({ level }) => level),
    ['warning'],
    'what waits for a restart is named each time',
  )
})

test('a damaged, half-written, missing, huge or invalid file changes nothing and the reason is reported', (t) => {
  const dataDir = temporaryDirectory(t)
  const current = { ...Config.defaults, sessionLifetimeSecs: 5 }
  const broken: [unknown, RegExp][] = [
    ['', /not JSON/],
    ['{"session_lifetime_secs": 7', /not JSON/],
    [{ session_lifetime_secs: 'x' }, /must be an integer/],
    [{ log_level: 'loud' }, /log_level must be one of debug, info, warning, error/],
    [{ drivers: { sqlite: { scrypt: { scrypt_n: 2 } } }, session_lifetime_secs: 7 }, /scrypt N must be at least/],
    [`{"a": "${'x'.repeat(1024 * 1024)}"}`, /longer than/],
    [{ algod: { url: 'localhost:4001' }, session_lifetime_secs: 7 }, /algod: the node must be an http or https URL/],
    [{ algod: { url: 'http://127.0.0.1:1', token: 'a\nb' } }, /algod: the node's token has characters/],
  ]
  for (const [settings, reason] of broken) {
    write(dataDir, settings)
    const { config, lines } = Settings.reload(dataDir, current)
    assert.equal(config, undefined)
    assert.equal(lines.length, 1)
    assert.equal(lines[0]!.level, 'error')
    assert.match(lines[0]!.text, reason)
    assert.match(lines[0]!.text, /^kmd_config\.json was not applied, and the settings stay unchanged: /)
  }
  rmSync(join(dataDir, 'kmd_config.json'))
  assert.match(Settings.reload(dataDir, current).lines[0]!.text, /the file is missing; a restart uses the defaults/)
  assert.deepEqual(Settings.reload(dataDir, Config.defaults).lines, [
    { level: 'info', text: 'there is no kmd_config.json' },
  ])
})

test('a pipe or other special file does not block', (t) => {
  const dataDir = temporaryDirectory(t)
  mkdirSync(join(dataDir, 'kmd_config.json'))
  assert.match(Settings.reload(dataDir, Config.defaults).lines[0]!.text, /it is not a regular file/)
})

test('a file that is not JSON is not quoted, because it may contain a token', (t) => {
  const dataDir = temporaryDirectory(t)
  const halves = [
    '{"algod":{"url":"http://127.0.0.1:1","token": 0123456789secret}}',
    `{"algod":{"url":"http://127.0.0.1:1${'/x'.repeat(50)}","token": secret012345}}${' '.repeat(80)}`,
    'secret',
    '{"token":"a" secret}',
    "{'secret': 1}",
    '{"token":"secret\n"}',
    '{"token":"secr',
  ]
  for (const half of halves) {
    write(dataDir, half)
    const { text } = Settings.reload(dataDir, Config.defaults).lines[0]!
    assert.match(text, /is not JSON: [A-Z]/i)
    assert.doesNotMatch(text, /secr|0123|url/, text)
  }
})

test('a misspelled setting and one that exposes the daemon are warned about', (t) => {
  const dataDir = temporaryDirectory(t)
  write(dataDir, { alowed_origins: [], allowed_origins: ['*'] })
  const texts = Settings.reload(dataDir, Config.defaults).lines.map(({ level, text }) => `${level}: ${text}`)
  assert.match(texts.join('\n'), /warning: allowed_origins contains \*/)
  assert.match(texts.join('\n'), /warning: alowed_origins .*not a setting.*allowed_origins/)
})

test('every setting has a name that is valid in the file', () => {
  assert.deepEqual(
    Config.unknownSettings(JSON.stringify({ log_level: 'info', log_format: 'text', algod: {}, allowed_hosts: [] })),
    [],
  )
})

test('a running daemon applies the settings that it reads', async (t) => {
  const dataDir = temporaryDirectory(t)
  const origin = 'https://dapp.example.net'
  write(dataDir, { address: '127.0.0.1:0' })
  const daemon = await Daemon.start({ dataDir, wire: 'reference' })
  t.after(() => daemon.stop())
  const allowed = async (): Promise<string | null> => {
    const { headers } = await fetch(`http://${daemon.address}/versions`, { headers: { Origin: origin } })
    return headers.get('access-control-allow-origin')
  }
  assert.equal(await allowed(), null)
  write(dataDir, { address: '127.0.0.1:0', allowed_origins: [origin], log_format: 'json' })
  daemon.reload()
  assert.equal(await allowed(), origin)
  write(dataDir, '{')
  daemon.reload()
  assert.equal(await allowed(), origin)
  await daemon.stop()
  const log = readFileSync(join(dataDir, 'kmd.log'), 'utf8')
  assert.match(log, /"msg":"applied allowed_origins, log_format from kmd_config.json"/)
  assert.match(log, /"level":"error","msg":"kmd_config.json was not applied/)
})

test('a changed node is used after a reload, unless an option sets one', async (t) => {
  const dataDir = temporaryDirectory(t)
  for (const node of [undefined, { url: 'http://127.0.0.1:1' }]) {
    write(dataDir, {})
    const app = await DaemonApp.open({ dataDir, node })
    write(dataDir, { algod: { url: 'http://127.0.0.1:2' } })
    app.reload()
    assert.equal(app.config.algod?.url, 'http://127.0.0.1:2')
    await app.close()
    const log = readFileSync(join(dataDir, 'kmd.log'), 'utf8')
    const expected = node === undefined ? /applied algod from/ : /algod changed in kmd_config\.json without effect/
    assert.match(log, expected)
    rmSync(join(dataDir, 'kmd.log'))
  }
})

test('an invalid node URL changes nothing at all, and the log reports it', async (t) => {
  const dataDir = temporaryDirectory(t)
  write(dataDir, { allowed_hosts: ['a.example'] })
  const app = await DaemonApp.open({ dataDir })
  const before = app.config
  write(dataDir, { algod: { url: '127.0.0.1:8080' }, allowed_hosts: ['b.example'] })
  app.reload()
  assert.equal(app.config, before)
  const { status } = await app.fetch(new Request('http://b.example/versions'))
  assert.equal(status, 403)
  await app.close()
  assert.match(readFileSync(join(dataDir, 'kmd.log'), 'utf8'), /was not applied.*algod: the node must be/)
})
