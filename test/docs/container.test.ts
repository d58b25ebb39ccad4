/**
 * Checks the container file without a container engine: lints it, lays out its last stage in a directory and runs that.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { atEnd, until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { startDevnet } from '../support/devnet.test.helper.js'
import { closedToOthers } from '../support/programs.test.helper.js'
import { obtainTools, read } from './Deployment.test.helper.js'

const text = read('deploy/Containerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
const stages = text.split(/^(?=FROM )/m).slice(1)
const [, commandStage, facilitatorStage] = stages as [string, string, string]
const userId = Number(/^USER ([0-9]+):/m.exec(commandStage)![1])
const isRoot = process.getuid?.() === 0

test('hadolint reports no problems in the container file', { timeout: 300_000 }, async (t) => {
  const tools = await obtainTools()
  if ('problem' in tools) {
    t.skip(`NOT RUN: ${tools.problem}`)
    return
  }
  const linted = spawnSync(join(tools.bin, 'hadolint'), [join(root, 'deploy/Containerfile')], { encoding: 'utf8' })
  assert.deepEqual([linted.status, linted.stdout], [0, ''], linted.stderr)
})

test('no secret can get into a layer: no copied name contains one, and no variable is set', () => {
  assert.ok(!/^(ARG|ENV) .*(PASSWORD|TOKEN|SECRET|MNEMONIC|KEY)/m.test(text))
  assert.ok(!/^ADD /m.test(text))
  for (const [, path] of text.matchAll(/^COPY (?:--from=\w+ )?(\S+)/gm))
    assert.ok(!/secret|\.env|token/.test(path!), path)
})

/** Returns the production packages of the command, by path: those that `npm ci --omit=dev --workspace` installs. */
function productionPackages(): string[] {
  assert.match(stages[0]!, /npm ci .*--ignore-scripts --omit=dev --workspace latchkey$/m)
  const args = ['ls', '--omit=dev', '--workspace', 'latchkey', '--all', '--parseable']
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  const paths = stdout.split('\n').filter((path) => path.includes('node_modules'))
  return [...new Set(paths.map((path) => relative(root, path)))]
}

/** Performs the COPY steps of the stage. Files are hard-linked if possible, because they are not changed. */
function layOut(t: TestContext): string {
  const image = join(root, 'node_modules', '.cache', `latchkey-image-${process.pid}`)
  atEnd(t, () => rmSync(image, { recursive: true, force: true }))
  const to = join(image, 'opt', 'latchkey')
  const copy = (path: string): void => {
    mkdirSync(dirname(join(to, path)), { recursive: true })
    const linked = spawnSync('cp', ['-al', join(root, path), join(to, path)])
    if (linked.status !== 0) cpSync(join(root, path), join(to, path), { recursive: true })
  }
  const copies = [...commandStage.matchAll(/^COPY --from=build \/opt\/latchkey\/(\S+) (\S+)$/gm)]
  assert.equal(copies.length, [...commandStage.matchAll(/^COPY /gm)].length)
  for (const [, source, target] of copies) {
    assert.equal(source, target)
    if (source !== 'node_modules') copy(source!)
    else for (const path of productionPackages()) if (!existsSync(join(to, path))) copy(path)
  }
  // The links that npm creates.
  mkdirSync(join(to, 'node_modules', '@latchkey'), { recursive: true })
  rmSync(join(to, 'node_modules', '@latchkey', 'pages'), { force: true, recursive: true })
  spawnSync('ln', ['-s', '../../packages/pages', join(to, 'node_modules', '@latchkey', 'pages')])
  return image
}

test('the entry point runs from the files of the image, as a user that cannot write them', {
  skip: isRoot && closedToOthers(),
  timeout: 180_000,
}, async (t) => {
  const image = layOut(t)
  const { facts } = await startDevnet(t)
  const home = join(image, 'var', 'lib', 'latchkey')
  mkdirSync(dirname(home), { recursive: true })
  mkdirSync(home, { mode: 0o700 })
  if (isRoot) chownSync(home, userId, userId)
  const identity = isRoot ? { uid: userId, gid: userId } : {}
  const [, entry] = /^ENTRYPOINT \["node", "([^"]+)"\]$/m.exec(commandStage)!
  const script = join(image, entry!)
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'production',
    HOME: home,
    AVM_MNEMONIC: facts.accounts[0]!.mnemonic,
  }
  const cwd = home
  const run = (args: string[]) =>
    spawnSync(process.execPath, [script, ...args], { ...identity, env, cwd, encoding: 'utf8', timeout: 60_000 })
  const version = run(['--version'])
  assert.equal(version.status, 0, version.stderr)

  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(facilitatorStage)![1]!) as string[]
  const chain = ['--network', 'local', '--node', facts.url, '--dollar', '31566704', '--port', '0', '--json']
  const options = command.map((arg) => (arg === '0.0.0.0' ? '127.0.0.1' : arg))
  const child = spawn(process.execPath, [script, ...options, ...chain], { ...identity, env, cwd })
  atEnd(t, () => child.kill('SIGKILL'))
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    output += part
  })
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    errors += part
  })
  await until(`the facilitator; it printed ${errors}`, () => output.endsWith('\n') || child.exitCode !== null)
  assert.equal(child.exitCode, null, errors)
  const { url } = JSON.parse(output) as { url: string }
  assert.ok(existsSync(join(home, '.latchkey', 'facilitator.db')), 'its state is in the volume')

  const check = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(facilitatorStage)![1]!) as string[]
  const [, , program] = check
  const at = (address: string): number | null =>
    spawnSync(process.execPath, ['-e', program!.replace('http://127.0.0.1:4022', address)]).status
  assert.equal(at(url), 0)
  const ended = once(child, 'close')
  child.kill('SIGTERM')
  const [code] = (await ended) as [number]
  assert.equal(code, 0, errors)
  assert.equal(at(url), 1, 'the health check fails when it is gone')

  // With the PostgreSQL driver, the command gets as far as connecting.
  const migrated = run(['facilitator', 'migrate', '--store', 'postgres://someuser@127.0.0.1:1/none', '--json'])
  assert.equal(migrated.status, 5, migrated.stderr)
  if (isRoot) {
    const write = `require('fs').appendFileSync(${JSON.stringify(script)}, '')`
    assert.equal(spawnSync(process.execPath, ['-e', write], { ...identity, cwd }).status, 1, 'it can write no program')
  }
})

test('the health check, the port and the signal match the facilitator', () => {
  const [, port] = /^EXPOSE ([0-9]+)$/m.exec(facilitatorStage)!
  assert.ok(facilitatorStage.includes(`http://127.0.0.1:${port}/livez`))
  const help = spawnSync(process.execPath, [join(root, 'packages/cli/bin/latchkey.js'), 'facilitator', '--help'], {
    encoding: 'utf8',
  }).stdout
  assert.ok(help.includes(`(${port})`) && help.includes('/livez'))
  assert.match(commandStage, /^STOPSIGNAL SIGTERM$/m)
  assert.match(readFileSync(join(root, 'deploy/Containerfile'), 'utf8'), /NODE_IMAGE=\S+:[0-9]+\.[0-9]+\.[0-9]+-slim$/m)
})
