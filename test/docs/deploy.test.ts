/** The units and the container file refer only to existing things, and their assumptions hold. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Kmd } from '@latchkey/kmd-client'
import { fromKmd, Signer } from '@latchkey/x402/facilitator'
import { start, temporaryDirectory } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { checkFlags, checkVariable } from './Files.test.helper.js'

const units = { kmd: 'deploy/latchkey-kmd.service', facilitator: 'deploy/latchkey-facilitator.service' }
/** The unit of several replicas. */
const replica = 'deploy/latchkey-facilitator@.service'
const migration = 'deploy/latchkey-facilitator-migrate.service'
const all: readonly (readonly [command: string, path: string])[] = [
  ...Object.entries(units),
  ['facilitator', replica],
  ['facilitator migrate', migration],
]
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Returns the values of a setting, in order. */
function settings(unit: string, name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!)
}

test('a start with a wrong password is not retried: the daemon counts attempts and would delay the owner', () => {
  assert.deepEqual(settings(read(units.facilitator), 'RestartPreventExitStatus'), ['2 6'])
})

test('a replica gets longer to stop than to drain, and its database URL from its own file', () => {
  const unit = read(replica)
  const [, drain] = /--drain-timeout ([0-9]+)/.exec(unit)!
  assert.ok(Number(settings(unit, 'TimeoutStopSec')[0]) > Number(drain))
  for (const path of [replica, migration]) {
    const [store] = settings(read(path), 'LoadCredential').filter((one) => one.startsWith('store:'))
    assert.match(store!, /^store:\/etc\/latchkey\/facilitator\.(owner-)?store$/)
    assert.match(settings(read(path), 'ExecStart')[0]!, / --store-file %d\/store /)
  }
  assert.deepEqual(settings(read(replica), 'RestartPreventExitStatus'), ['2 6'])
})

test('a facilitator without its node or database is restarted without giving up after five attempts', () => {
  for (const path of [units.facilitator, replica]) {
    assert.deepEqual(settings(read(path), 'Restart'), ['on-failure'])
    assert.deepEqual(settings(read(path), 'StartLimitIntervalSec'), ['0'], path)
  }
})

const notInstalled = 'NOT RUN: systemd-analyze is not installed'

for (const [command, path] of all) {
  test(`${path} runs an existing command with existing options and variables`, () => {
    const unit = read(path)
    const [line] = settings(unit, 'ExecStart')
    const [, script, name, rest] = /\/opt\/latchkey\/(\S+) ([a-z]+(?: [a-z]+)?)(.*)$/.exec(line!)!
    assert.ok(existsSync(join(root, script!)), script)
    assert.equal(name, command)
    checkFlags(command, rest!.replaceAll(/\$\w+/g, ''))
    const variables = settings(unit, 'Environment').map((one) => one.split('=')[0]!)
    for (const [, variable] of line!.matchAll(/([A-Z_]+)="/g)) variables.push(variable!)
    for (const variable of variables) checkVariable(variable)
    for (const [, page] of unit.matchAll(/file:\/\/\/opt\/latchkey\/(\S+)/g))
      assert.ok(existsSync(join(root, page!)), page)
  })

  test(`${path} is hardened, and leaves V8 its memory`, () => {
    const unit = read(path)
    const wanted = {
      DynamicUser: 'yes',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      CapabilityBoundingSet: '',
      LimitCORE: '0',
      StateDirectoryMode: '0700',
      SystemCallErrorNumber: 'EPERM',
    }
    for (const [name, value] of Object.entries(wanted)) assert.deepEqual(settings(unit, name), [value], name)
    assert.deepEqual(settings(unit, 'MemoryDenyWriteExecute'), [])
    assert.deepEqual(settings(unit, 'SystemCallFilter'), ['@system-service @pkey', '~@privileged @resources'])
  })

  test(`${path} has a small attack surface, according to systemd if it is installed`, (t) => {
    const { error, status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--no-pager', '--threshold=15', join(root, path)],
      { encoding: 'utf8' },
    )
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
      t.skip(notInstalled)
      return
    }
    assert.equal(
      status,
      0,
      `${stdout
        .split('\n')
        .filter((line) => line.startsWith('✗'))
        .join('\n')}${stderr}`,
    )
  })
}

test('systemd reports no problems in the units, if it is installed', (t) => {
  const { error, status, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', ...all.map(([, path]) => join(root, path))],
    { encoding: 'utf8' },
  )
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
    t.skip(notInstalled)
    return
  }
  // If Node is installed elsewhere, systemd reports it; the person who installs the unit has to adapt the path.
  const faults = stderr.split('\n').filter((line) => line.includes('latchkey-') && !/is not executable/.test(line))
  assert.deepEqual(faults, [], `status ${status}`)
})

test("the facilitator's credentials are sufficient to sign, and contain no wallet", async (t) => {
  const daemon = await start(t)
  const kmd = await Kmd.connect({ dataDir: daemon.dataDir })
  await kmd.wallets.create({ name: 'fees', password: 'correct horse' })
  const wallet = await kmd.unlock({ name: 'fees', password: 'correct horse' })
  const address = await wallet.generateKey()
  const credentials = join(temporaryDirectory(t), 'credentials')
  mkdirSync(credentials)
  const given = settings(read(units.facilitator), 'LoadCredential').map((one) => one.split(':') as [string, string])
  for (const [name, from] of given) {
    const [, file] = /\/kmd-v0\.5\/(.*)$/.exec(from) ?? []
    if (file === undefined) writeFileSync(join(credentials, name), 'correct horse\n')
    else copyFileSync(join(daemon.dataDir, file), join(credentials, name))
  }
  const password = () => readFileSync(join(credentials, 'fees.password'), 'utf8').trimEnd()
  const signer = fromKmd({ kmd: { dataDir: credentials }, wallet: 'fees', address, password })
  const gh = new Uint8Array(32).fill(1)
  const { Address } = await import('@latchkey/algorand')
  const snd = Address.decode(address)
  assert.ok((await Signer.signTransaction(signer, { type: 'pay', snd, rcv: snd, fee: 1_000n, lv: 9n, gh })).length > 0)
  assert.deepEqual(
    given.map(([name]) => name),
    ['kmd.net', 'kmd.token', 'fees.password', 'api-keys'],
  )
  kmd.close()
})

test('the container file copies existing files, and runs as an unprivileged user', () => {
  const text = read('deploy/Containerfile')
  for (const [, line] of text.matchAll(/^COPY (?!--from)(.*)$/gm)) {
    for (const path of line!.split(' ').slice(0, -1)) assert.ok(existsSync(join(root, path)), path)
  }
  const [, script] = /ENTRYPOINT \["node", "\/opt\/latchkey\/([^"]+)"\]/.exec(text)!
  assert.ok(existsSync(join(root, script!)), script)
  const stages = text.split(/^FROM /m).slice(1)
  assert.equal(stages.length, 3)
  // A numeric id, so an orchestrator can see that the user is not root.
  assert.match(stages[1]!, /^USER [1-9][0-9]*:[1-9][0-9]*$/m)
  const { engines, scripts } = JSON.parse(read('package.json')) as { engines: { node: string }; scripts: object }
  assert.match(engines.node, /^>=20\./)
  // Long-term support releases have even numbers. 20, the oldest that works, got its last security fix in April 2026.
  const [, major] = /^ARG NODE_IMAGE=docker\.io\/library\/node:([0-9]+)\.[0-9]+\.[0-9]+-slim$/m.exec(text)!
  for (const stage of stages.slice(0, 2)) assert.match(stage, /^\$\{NODE_IMAGE\} /)
  assert.ok(Number(major) >= 26 && Number(major) % 2 === 0, major)
  assert.ok('prepare' in scripts, 'npm ci builds nothing')
  // npm needs every workspace to be present.
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] }
  for (const workspace of workspaces) assert.ok(text.includes(`COPY ${workspace.split('/')[0]} `), workspace)
})

/** Whether the build sees a file: the last pattern that matches it or a parent directory decides. */
function isSent(path: string): boolean {
  const patterns = read('.containerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const parts = path.split('/')
  const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
  let sent = true
  for (const line of patterns) {
    const isKept = line.startsWith('!')
    const pattern = line
      .replace(/^!/, '')
      .replaceAll('.', '\\.')
      .replaceAll('**/', '(?:.*/)?')
      .replaceAll(/\*(?!\/)/g, '[^/]*')
    if (above.some((one) => new RegExp(`^${pattern}$`).test(one))) sent = isKept
  }
  return sent
}

test('the container build sees its sources, and nothing installed or secret', () => {
  const text = read('deploy/Containerfile')
  for (const [, line] of text.matchAll(/^COPY (?!--from)(.*)$/gm)) {
    for (const path of line!.split(' ').slice(0, -1)) assert.ok(isSent(path), path)
  }
  for (const path of ['packages/cli/bin/latchkey.js', 'packages/kmd/src/index.ts', 'scripts/build.mjs']) {
    assert.ok(isSent(path), path)
  }
  for (const path of [
    '.git/config',
    '.env',
    'facilitator.env',
    'node_modules/hono/package.json',
    'packages/cli/node_modules/x/index.js',
    'packages/cli/dist/latchkey.js',
    'packages/cli/bundle/latchkey.js',
    'packages/cli/.env.local',
    'test/golden/wallets/one.db',
    'examples/weather/claims.db',
    'bench/kmd-v0.5/kmd.token',
    'payments.jsonl',
    'savings.mnemonic',
    'docs/daemon.md',
  ]) {
    assert.ok(!isSent(path), path)
  }
  // Docker looks for the same file under another name.
  assert.equal(read('.dockerignore'), read('.containerignore'))
})
