// Installs npm packages that only one folder of tests needs into the cache, once for each lock file.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory, withLock } from '../cache.mjs'
import { root } from '../packages.mjs'

/**
 * Installs the packages of `test/<folder>/package.json`.
 * @param name names the packages in the message about the first install
 * @param after called with the directory after an install
 * @returns `{ directory }`, whose node_modules has the packages, or `{ problem }` with the reason why there is none
 */
export function installFor(folder, { name, after = () => {} }) {
  const wanted = join(root, 'test', folder)
  const lockFile = join(wanted, 'package-lock.json')
  const directory = cacheDirectory(`latchkey-${folder}`)
  /** A copy of the lock file that matches the installed packages. */
  const stamp = join(directory, '.latchkey-installed-lock')
  const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lockFile, 'utf8')
  if (isInstalled()) return { directory }
  return withLock(`${directory}.lock`, () => {
    if (isInstalled()) return { directory }
    console.error(`latchkey: installing ${name} for its test, which happens once and needs the npm registry`)
    mkdirSync(directory, { recursive: true })
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(wanted, file), join(directory, file))
    // Not `npm ci`, which fails if the registry lacks an optional package for another system.
    const args = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const { status, stderr, error } = spawnSync('npm', args, {
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: 300_000,
    })
    if (status !== 0) return { problem: error?.message ?? stderr.trim().split('\n')[0] }
    after(directory)
    writeFileSync(stamp, readFileSync(lockFile))
    return { directory }
  })
}
