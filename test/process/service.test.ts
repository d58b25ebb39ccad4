/** `latchkey service`, with a stand-in for systemctl: there is no session of systemd in a test. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { temporaryDirectory } from './commands.test.helper.js'

type Outcome = { code: number | null; stdout: string; stderr: string }

function prepare(t: TestContext, systemctl: string | undefined) {
  const home = temporaryDirectory(t)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  if (systemctl !== undefined) writeFileSync(join(bin, 'systemctl'), systemctl, { mode: 0o755 })
  const run = (...args: string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      const env = { PATH: systemctl === undefined ? bin : `${bin}:${process.env['PATH']}`, HOME: home }
      const child = execFile(process.execPath, [latchkeyCommand, 'service', ...args], { env }, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      )
    })
  return { home, run, unit: join(home, '.config', 'systemd', 'user', 'latchkey-kmd.service') }
}

test('a service is installed, shown and removed, and what is written is printed', {
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

test('a file of another is neither replaced nor removed', { skip: process.platform !== 'linux' }, async (t) => {
  const { run, unit } = prepare(t, '#!/bin/sh\nexit 0\n')
  mkdirSync(join(unit, '..'), { recursive: true })
  writeFileSync(unit, '[Service]\n')
  for (const word of ['install', 'uninstall']) assert.equal((await run(word)).code, 3)
  assert.equal(readFileSync(unit, 'utf8'), '[Service]\n')
  assert.equal((await run('install', '--force')).code, 0)
})

test('without systemd it says what to do', { skip: process.platform !== 'linux' }, async (t) => {
  const { run, unit } = prepare(t, undefined)
  const { code, stderr } = await run('install')
  assert.equal(code, 3)
  assert.match(
    stderr,
    /systemctl --user daemon-reload failed: .*the file is written.*Without systemd: latchkey kmd start/,
  )
  assert.ok(existsSync(unit))
})
