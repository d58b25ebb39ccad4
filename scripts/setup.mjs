// Installs and builds whatever is missing, so a fresh clone needs only Node and npm.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkNode } from '../packages/cli/bin/checkNode.js'
import { root } from './packages.mjs'

export function setUp() {
  if (!checkNode(process.versions.node)) process.exit()
  if (!isInstalled()) install()
  run(process.execPath, [join(root, 'scripts', 'build.mjs')])
}

/** A copy of the lock file that matches the installed packages. */
const stamp = join(root, 'node_modules', '.latchkey-installed-lock')

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(join(root, 'package-lock.json'), 'utf8')
}

function install() {
  console.error('latchkey: installing packages, which happens once and takes up to a minute')
  // Prefer npm's cache: without a network, npm would wait minutes for each response.
  run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], 'ignore')
  writeFileSync(stamp, readFileSync(join(root, 'package-lock.json')))
}

function run(command, args, stdout = 2) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', stdout, 2] })
  if (result.status !== 0) process.exit(result.status ?? 1)
}
