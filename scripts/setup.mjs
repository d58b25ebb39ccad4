// Installs and builds whatever is missing, so a fresh clone needs only Node and npm.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkNode } from '../packages/cli/bin/checkNode.js'
import { withLock } from './cache.mjs'
import { root } from './packages.mjs'

export function setUp() {
  if (!checkNode(process.versions.node)) process.exit()
  const isFirst = !isInstalled()
  if (isFirst) exitOnFailure(timed('step 1 of 2: installing packages, once', install))
  const build = () => run(process.execPath, [join(root, 'scripts', 'build.mjs')])
  // Later builds take seconds, and say nothing.
  exitOnFailure(isFirst ? timed('step 2 of 2: compiling, once', build) : build())
}

/** Names a step that takes minutes on a new clone, and the time that it took. */
function timed(name, work) {
  const startedAt = Date.now()
  console.error(`latchkey: ${name}, which can take some minutes`)
  const ticker = startTicker(name)
  try {
    return work()
  } finally {
    ticker.kill()
    console.error(`latchkey: ${name}: ${Math.round((Date.now() - startedAt) / 1000)} s`)
  }
}

/** Prints the elapsed time every 15 seconds. A separate process, because this one waits for the step. */
function startTicker(name) {
  const program = `let s = 0; setInterval(() => console.error('latchkey: ' + process.argv[1] + ', ' + (s += 15) + ' s so far'), 15_000)
    process.on('disconnect', () => process.exit())`
  return spawn(process.execPath, ['-e', program, name], { stdio: ['ignore', 'ignore', 2, 'ipc'] }).on('error', () => {})
}

/** A copy of the lock file that matches the installed packages. */
const stamp = join(root, 'node_modules', '.latchkey-installed-lock')

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(join(root, 'package-lock.json'), 'utf8')
}

/** One process at a time: npm deletes node_modules first. The lock is outside for the same reason. */
function install() {
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
