// The browser of the page tests: the one that is there, or Debian's, which is installed where that can be done.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** Where it is, or undefined. `CHROMIUM` in the environment says so itself. */
export function findChromium() {
  const { CHROMIUM: given = '', PATH: path = '' } = process.env
  if (given !== '') return given
  const places = path.split(delimiter).flatMap((directory) => names.map((name) => join(directory, name)))
  return places.find(isProgram)
}

/** Installs it as root on Debian and its like; elsewhere it is for the person to do. */
export function obtainChromium() {
  const found = findChromium()
  if (found !== undefined || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return found
  console.error('latchkey: installing Chromium for the page tests, this is done once and takes up to a minute')
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const steps = [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]
  for (const step of steps) {
    const { status, stderr } = spawnSync('apt-get', ['-q', ...step], {
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    // Lists that are old may still do: whether it is there in the end is what counts.
    if (status !== 0) console.error(String(stderr).trim().split('\n').slice(-3).join('\n'))
  }
  return findChromium()
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
