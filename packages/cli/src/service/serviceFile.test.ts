import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ServiceOptions, servicePath, serviceText } from './serviceFile.js'

const options: ServiceOptions = {
  program: [process.execPath, '/opt/latchkey/latchkey.js'],
  dataDir: '/home/me/my $keys %h "quoted" \\ <&>',
  args: ['--wire=reference', '--log-level=warning'],
  isSandboxed: false,
}

test('a word of the command line is escaped, so that no specifier, variable or quote of a path counts', () => {
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

test('the unit is in the directory of the user that XDG names, if that is absolute', () => {
  assert.match(servicePath('systemd', { XDG_CONFIG_HOME: '/c' }), /^\/c\/systemd\/user\/latchkey-kmd\.service$/)
  assert.match(servicePath('systemd', { XDG_CONFIG_HOME: 'c' }), /\/\.config\/systemd\/user\/latchkey-kmd\.service$/)
})

const isVerifiable = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd accepts the unit, also with the sandbox', { skip: !isVerifiable }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-service-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  for (const isSandboxed of [false, true]) {
    const path = join(directory, String(isSandboxed), 'latchkey-kmd.service')
    mkdirSync(join(directory, String(isSandboxed)))
    writeFileSync(path, serviceText('systemd', { ...options, isSandboxed }))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' })
    assert.doesNotMatch(verified.stderr, /latchkey-kmd\.service/, verified.stderr)
  }
  // It can fail.
  const broken = join(directory, 'latchkey-broken.service')
  writeFileSync(broken, serviceText('systemd', options).replace('UMask=0077', 'Umaks=77'))
  assert.match(spawnSync('systemd-analyze', ['verify', '--man=no', broken], { encoding: 'utf8' }).stderr, /Umaks/)
})
