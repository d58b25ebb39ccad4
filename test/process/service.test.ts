/** Tests `latchkey service` with a stand-in for systemctl, because a test has no systemd session. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { temporaryDirectory } from './commands.test.helper.js'

function prepare(t: TestContext, systemctl: string | undefined) {
  const home = temporaryDirectory(t)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  if (systemctl !== undefined) writeFileSync(join(bin, 'systemctl'), systemctl, { mode: 0o755 })
  const env = { PATH: systemctl === undefined ? bin : `${bin}:${process.env['PATH']}` }
  const run = (...args: string[]): Promise<Outcome> => hostedLatchkey(['service', ...args], { home, env })
  return { home, run, unit: join(home, '.config', 'systemd', 'user', 'latchkey-kmd.service') }
}

test('installs, shows and removes a service, and prints what it writes', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { home, run, unit } = prepare(
    t,
    '#!/bin/sh\necho "$@" >> "$HOME/calls"\n[ "$2" = is-active ] && echo active\nexit 0\n',
  )
  const dry = await run('install', '--dry-run')
  assert.deepEqual([dry.code, existsSync(unit)], [0, false])
  const { code, stdout, stderr } = await run('install', '--log-level', 'warning')
  assert.equal(code, 0, stderr)
  const text = readFileSync(unit, 'utf8')
  assert.ok(stdout.includes(text))
  assert.match(text, /^ExecStart=.* kmd --data-dir .*\.latchkey\/kmd-v0\.5 --log-level=warning$/m)
  assert.deepEqual((await run('status')).code, 0)
  assert.equal((await run('uninstall')).code, 0)
  assert.equal(existsSync(unit), false)
  const calls = readFileSync(join(home, 'calls'), 'utf8')
  for (const call of ['daemon-reload', 'enable latchkey-kmd', 'restart latchkey-kmd', 'disable --now latchkey-kmd'])
    assert.ok(calls.includes(`--user ${call}`), calls)
  assert.equal((await run('uninstall')).code, 5)
  assert.equal((await run('status')).code, 5)
})

test('neither replaces nor removes a file of another program', { skip: process.platform !== 'linux' }, async (t) => {
  const { run, unit } = prepare(t, '#!/bin/sh\nexit 0\n')
  mkdirSync(join(unit, '..'), { recursive: true })
  writeFileSync(unit, '[Service]\n')
  for (const word of ['install', 'uninstall']) assert.equal((await run(word)).code, 3)
  assert.equal(readFileSync(unit, 'utf8'), '[Service]\n')
  assert.equal((await run('install', '--force')).code, 0)
})

test('without systemd, explains what to do', { skip: process.platform !== 'linux' }, async (t) => {
  const { run, unit } = prepare(t, undefined)
  const { code, stderr } = await run('install')
  assert.equal(code, 3)
  assert.match(
    stderr,
    /systemctl --user daemon-reload failed: .*the service file was written.*Without systemd, run: latchkey kmd start/,
  )
  assert.ok(existsSync(unit))
})

test('writes a machine service below a directory, and refuses it for programs of a user', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { home, run } = prepare(t, '#!/bin/sh\necho "$@" >> "$HOME/calls"\nexit 0\n')
  const image = join(home, 'image')
  const { code, stdout, stderr } = await run('install', '--system', '--root', image)
  const program = [process.execPath, realpathSync(latchkeyCommand)]
  if (program.some((path) => /^\/(home|root|tmp|var\/tmp)\//.test(path))) {
    assert.equal(code, 2)
    assert.match(stderr, /is in a user's home directory.*install Node and Latchkey system-wide/)
    return
  }
  if (code === 3) {
    assert.match(stderr, /(is owned by user|is writable by).*install Node and Latchkey as root/s)
    assert.equal(existsSync(image), false)
    return
  }
  assert.equal(code, 0, stderr)
  for (const name of ['etc/systemd/system/latchkey-kmd.service', 'etc/sysusers.d/latchkey-kmd.conf']) {
    assert.ok(stdout.includes(readFileSync(join(image, name), 'utf8')), name)
  }
  assert.match(stdout, /To start it:\n {2}systemd-sysusers .*\n[\s\S]*sudo -u latchkey-kmd latchkey wallet new NAME/)
  assert.equal(existsSync(join(home, 'calls')), false, 'nothing is started')
  assert.equal((await run('install', '--system', '-d', home)).code, 2)
  assert.equal((await run('install', '--root', home)).code, 2)
  const json = JSON.parse((await run('install', '--system', '--dry-run', '--json')).stdout)
  assert.deepEqual([json.written, json.started, json.files.length], [false, false, 2])
  writeFileSync(join(image, 'etc/sysusers.d/latchkey-kmd.conf'), 'u other - -\n')
  assert.equal((await run('install', '--system', '--root', image)).code, 3)
})
