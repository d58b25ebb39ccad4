// Installs the generator of the documentation site, once for each lock file.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from '../cache.mjs'
import { root } from '../packages.mjs'

const site = join(root, 'site')
const lockFile = join(site, 'package-lock.json')
/** A copy of the lock file that matches the installed packages. */
const stamp = join(site, 'node_modules', '.latchkey-installed-lock')

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lockFile, 'utf8')

/** @returns {string | undefined} why the generator could not be installed */
export function installSite() {
  if (isInstalled()) return undefined
  return withLock(join(root, '.latchkey-install.lock-site'), () => {
    if (isInstalled()) return undefined
    console.error('latchkey: installing VitePress in site/, which happens once and needs the npm registry')
    const args = ['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const { status, stderr, error } = spawnSync('npm', args, {
      cwd: site,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: 300_000,
    })
    if (status !== 0) return error?.message ?? stderr.trim().split('\n')[0]
    writeFileSync(stamp, readFileSync(lockFile))
    return undefined
  })
}
