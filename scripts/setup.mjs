// Installs and builds whatever is missing, so a fresh clone needs only Node and npm.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkNode } from '../packages/cli/bin/checkNode.js'
import { withLock } from './cache.mjs'
import { root } from './packages.mjs'

export function setUp() {
  if (!checkNode(process.versions.node)) process.exit()
  if (!isInstalled()) exitOnFailure(install())
  exitOnFailure(run(process.execPath, [join(root, 'scripts', 'build.mjs')]))
}

/** A copy of the lock file that matches the installed packages. */
const stamp = join(root, 'node_modules', '.latchkey-installed-lock')

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(join(root, 'package-lock.json'), 'utf8')
}

/** One process at a time: npm deletes node_modules first. The lock is outside for the same reason. */
function install() {
  console.error('latchkey: installing packages, which happens once and takes up to a minute')
  return withLock(join(root, '.latchkey-install.lock'), () => {
    if (isInstalled()) return 0
    // Prefer npm's cache: without a network, npm would wait minutes for each response.
    const status = run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], 'ignore')
    if (status === 0) writeFileSync(stamp, readFileSync(join(root, 'package-lock.json')))
    return status
  })
}

function run(command, args, stdout = 2) {
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', stdout, 2] }).status ?? 1
}

function exitOnFailure(status) {
  if (status !== 0) process.exit(status)
}
