import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ServiceOptions, servicePath, serviceText } from './serviceFile.js'
import { serviceUser, socketGroup, systemDataDir, systemFiles, systemSocket } from './systemService.js'

const options: ServiceOptions = {
  program: [process.execPath, '/opt/latchkey/latchkey.js'],
  dataDir: '/home/me/my $keys %h "quoted" \\ <&>',
  args: ['--wire=reference', '--log-level=warning'],
  isSandboxed: false,
}

test('a word of the command line is escaped, so that specifiers, variables and quotes in a path have no effect', () => {
  const text = serviceText('systemd', options)
  assert.match(text, /kmd --data-dir "\/home\/me\/my \$\$keys %%h \\"quoted\\" \\\\ <&>" --wire=reference --log-level=/)
  assert.match(
    serviceText('systemd', { ...options, isSandboxed: true }),
    /^ReadWritePaths="\/home\/me\/my \$keys %%h /m,
  )
  assert.match(serviceText('launchd', options), /<string>\/home\/me\/my \$keys %h &quot;quoted&quot; \\ &lt;&amp;&gt;</)
  for (const manager of ['systemd', 'launchd'] as const)
    assert.throws(
      () => serviceText(manager, { ...options, dataDir: '/x\nExecStartPre=/bin/false' }),
      /control character/,
    )
})

test("the unit is in the user's XDG directory, if that is absolute", () => {
  assert.match(servicePath('systemd', { XDG_CONFIG_HOME: '/c' }), /^\/c\/systemd\/user\/latchkey-kmd\.service$/)
  assert.match(servicePath('systemd', { XDG_CONFIG_HOME: 'c' }), /\/\.config\/systemd\/user\/latchkey-kmd\.service$/)
})

const isVerifiable = spawnSync('systemd-analyze', ['--version']).status === 0
const skipUnverified = isVerifiable ? false : 'systemd-analyze is not installed'

test('systemd accepts the unit, with and without the sandbox', { skip: skipUnverified }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-service-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  for (const isSandboxed of [false, true]) {
    const path = join(directory, String(isSandboxed), 'latchkey-kmd.service')
    mkdirSync(join(directory, String(isSandboxed)))
    writeFileSync(path, serviceText('systemd', { ...options, isSandboxed }))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' })
    assert.doesNotMatch(verified.stderr, /latchkey-kmd\.service/, verified.stderr)
  }
  // Proves that the check can fail.
  const broken = join(directory, 'latchkey-broken.service')
  writeFileSync(broken, serviceText('systemd', options).replace('UMask=0077', 'Umaks=77'))
  assert.match(spawnSync('systemd-analyze', ['verify', '--man=no', broken], { encoding: 'utf8' }).stderr, /Umaks/)
})

const program = ['/usr/bin/node', '/opt/latchkey/packages/cli/bin/latchkey.js'] as const

function systemTexts(): { unit: string; users: string } {
  const [unit, users] = systemFiles({ program, args: ['--log-level=warning'] })
  assert.equal(unit!.path, '/etc/systemd/system/latchkey-kmd.service')
  assert.equal(users!.path, '/etc/sysusers.d/latchkey-kmd.conf')
  return { unit: unit!.text, users: users!.text }
}

test('the service of the machine has a dedicated user, a private directory and a socket for a group', () => {
  const { unit } = systemTexts()
  for (const line of [
    ...[`User=${serviceUser}`, `SupplementaryGroups=${socketGroup}`, 'StateDirectoryMode=0700', 'UMask=0077'],
    ...['NoNewPrivileges=yes', 'ProtectHome=yes', 'ProtectSystem=strict', 'WantedBy=multi-user.target'],
    `ExecStart=/usr/bin/node /opt/latchkey/packages/cli/bin/latchkey.js kmd --data-dir ${systemDataDir} --log-level=warning`,
  ]) {
    assert.ok(unit.includes(`\n${line}\n`), line)
  }
  // It would make all users look the same.
  assert.doesNotMatch(unit, /^PrivateUsers=/m)
})

test('a program that a user could replace is not run for the machine', () => {
  for (const path of ['/home/me/latchkey.js', '/root/latchkey.js', '/tmp/latchkey.js']) {
    const given = { program: ['/usr/bin/node', path] as const, args: [] }
    assert.throws(() => systemFiles(given), { code: 'invalid_usage', message: /in a user's home directory/ })
  }
})

test('the first start writes settings with the socket, and later starts leave them unchanged', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-service-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const [, quoted] = /^ExecStartPre=\/bin\/sh -c "(.*)"$/m.exec(systemTexts().unit)!
  const script = quoted!.replace(/\\([\\"])/g, '$1').replaceAll(systemDataDir, directory)
  const file = join(directory, 'kmd_config.json')
  assert.equal(spawnSync('sh', ['-c', script]).status, 0)
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
    unix_socket: systemSocket,
    unix_socket_group: socketGroup,
  })
  writeFileSync(file, '{}')
  assert.equal(spawnSync('sh', ['-c', script]).status, 0)
  assert.equal(readFileSync(file, 'utf8'), '{}')
})

test('systemd accepts the unit of the machine, and creates its user and group', { skip: skipUnverified }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-service-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const { unit, users } = systemTexts()
  const path = join(directory, 'latchkey-kmd.service')
  writeFileSync(path, unit.replaceAll('/opt/latchkey/packages/cli/bin/latchkey.js', process.execPath))
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' })
  assert.doesNotMatch(verified.stderr, /latchkey-kmd\.service/, verified.stderr)
  mkdirSync(join(directory, 'etc', 'sysusers.d'), { recursive: true })
  writeFileSync(join(directory, 'etc', 'sysusers.d', 'latchkey-kmd.conf'), users)
  const made = spawnSync('systemd-sysusers', [`--root=${directory}`, 'latchkey-kmd.conf'], { encoding: 'utf8' })
  assert.equal(made.status, 0, made.stderr)
  assert.match(
    readFileSync(join(directory, 'etc', 'passwd'), 'utf8'),
    /^latchkey-kmd:.*:\/var\/lib\/latchkey-kmd:.*nologin$/m,
  )
  assert.match(readFileSync(join(directory, 'etc', 'group'), 'utf8'), /^latchkey-agents:.*:latchkey-kmd$/m)
})
