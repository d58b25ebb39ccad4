// Prometheus and promtool of the operating tests: those that are there, or Debian's, unpacked below node_modules/.cache:
// installing the package would start a service.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, 'node_modules', '.cache', 'latchkey-prometheus')
const downloadMs = 180_000

/** The directory of both programs, or undefined. `PROMETHEUS_BIN` in the environment names it. */
export function findPrometheus() {
  const { PROMETHEUS_BIN: given = '', PATH: path = '' } = process.env
  if (given !== '') return given
  return [...path.split(delimiter), join(cache, 'usr', 'bin')].find((directory) =>
    ['prometheus', 'promtool'].every((name) => existsSync(join(directory, name))),
  )
}

/** Downloads it on Debian and its like; elsewhere the user has to install it. */
export function obtainPrometheus() {
  const found = findPrometheus()
  if (found !== undefined || !existsSync('/usr/bin/apt-get')) return found
  console.error('latchkey: downloading Prometheus for the operating tests, once')
  const temporary = `${cache}-${process.pid}`
  mkdirSync(temporary, { recursive: true })
  try {
    if (!download(temporary) && process.getuid?.() === 0) {
      run('apt-get', ['-q', 'update'], temporary)
      download(temporary)
    }
    const archive = readdirSync(temporary).find((name) => name.endsWith('.deb'))
    if (archive === undefined || !run('dpkg-deb', ['-x', archive, temporary], temporary)) return undefined
    renameSync(temporary, cache)
  } catch (error) {
    console.error(String(error))
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return findPrometheus()
}

const download = (directory) => run('apt-get', ['-q', 'download', 'prometheus'], directory)

function run(command, args, directory) {
  const { status, stderr } = spawnSync(command, args, {
    cwd: directory,
    timeout: downloadMs,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) console.error(String(stderr).trim().split('\n').slice(-2).join('\n'))
  return status === 0
}
