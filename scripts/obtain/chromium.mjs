// The browser of the page tests: the one that is installed, or Debian's, which root installs.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { has } from './debian.mjs'

const names = ['chromium', 'chromium-browser', 'google-chrome']
const installMs = 600_000
const startMs = 60_000

/** The path of the browser, or undefined. `CHROMIUM` in the environment names it. */
export function findChromium() {
  const { CHROMIUM: given = '', PATH: path = '' } = process.env
  if (given !== '') return given
  return path
    .split(delimiter)
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find(isProgram)
}

/** Whether a browser is installed, and starts: some systems have a program of this name that only names a package. */
export function canRunChromium() {
  const path = findChromium()
  if (path === undefined) return false
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--dump-dom', 'about:blank']
  return spawnSync(path, args, { stdio: 'ignore', timeout: startMs }).status === 0
}

/**
 * Finds it, or installs it as root on Debian and its like.
 * @returns `{ path }`, or `{ problem }`: why it cannot be had
 */
export function obtainChromium() {
  const found = findChromium()
  if (found !== undefined) return { path: found }
  if (!has('apt-get')) return { problem: 'this machine has no apt to install it with' }
  if (process.getuid?.() !== 0) return { problem: 'only root may install it' }
  console.error('latchkey: installing Chromium for the page tests, once; it takes up to a minute')
  let problem = ''
  for (const step of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const { status, stderr, error } = spawnSync('apt-get', ['-q', ...step], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: installMs,
    })
    // Old lists may still do: whether the browser is there in the end is all that counts.
    if (status !== 0) problem = error?.message ?? stderr.trim().split('\n').at(-1)
  }
  const path = findChromium()
  return path === undefined ? { problem: `apt-get could not install it: ${problem}` } : { path }
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
