// Installs Next.js for its test into the cache, once for each lock file.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory, withLock } from '../cache.mjs'
import { root } from '../packages.mjs'

const wanted = join(root, 'test', 'next')
const lockFile = join(wanted, 'package-lock.json')
const directory = cacheDirectory('latchkey-next')
/** A copy of the lock file that matches the installed packages. */
const stamp = join(directory, '.latchkey-installed-lock')

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lockFile, 'utf8')

/** @returns `{ directory }`, which has Next.js and our packages in node_modules, or `{ problem }` */
export function installNext() {
  if (isInstalled()) return { directory }
  return withLock(`${directory}.lock`, () => {
    if (isInstalled()) return { directory }
    console.error('latchkey: installing Next.js for its test, which happens once and needs the npm registry')
    mkdirSync(directory, { recursive: true })
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(wanted, name), join(directory, name))
    // Not `npm ci`, which fails if the registry lacks an optional package for another system.
    const args = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const { status, stderr, error } = spawnSync('npm', args, {
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: 300_000,
    })
    if (status !== 0) return { problem: error?.message ?? stderr.trim().split('\n')[0] }
    symlinkSync(join(root, 'node_modules', '@latchkey'), join(directory, 'node_modules', '@latchkey'))
    writeFileSync(stamp, readFileSync(lockFile))
    return { directory }
  })
}
