// Programs that tests run: those that are there, or Debian's, unpacked below node_modules/.cache with the libraries that
// this machine lacks. Installing the packages would start services.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const caches = join(root, 'node_modules', '.cache')
const downloadMs = 300_000

/**
 * The directory of the programs, or undefined. The variable of the environment names it; else it is looked up in the
 * PATH, in `directories`, and in what was downloaded.
 */
export function findPrograms({ name, programs, variable, directories = [] }) {
  const given = process.env[variable] ?? ''
  if (given !== '') return given
  const unpacked = [join('usr', 'bin'), join('usr', 'sbin'), ...directories.map((path) => path.slice(1))]
  const candidates = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...directories,
    ...unpacked.map((path) => join(cacheOf(name), path)),
  ]
  return candidates.find((directory) => programs.every((program) => existsSync(join(directory, program))))
}

/** Downloads them on Debian and its like; elsewhere the user has to install them. */
export function obtainPrograms(wanted) {
  const found = findPrograms(wanted)
  if (found !== undefined || !existsSync('/usr/bin/apt-get')) return found
  const cache = cacheOf(wanted.name)
  console.error(`latchkey: downloading ${wanted.name} for the tests, once`)
  const temporary = `${cache}-${process.pid}`
  mkdirSync(temporary, { recursive: true })
  try {
    if (!download(wanted.packages, temporary) && process.getuid?.() === 0) {
      run('apt-get', ['-q', 'update'], temporary)
      download(wanted.packages, temporary)
    }
    const archives = readdirSync(temporary).filter((name) => name.endsWith('.deb'))
    for (const archive of archives) run('dpkg-deb', ['-x', archive, temporary], temporary)
    for (const archive of archives) rmSync(join(temporary, archive))
    rmSync(cache, { recursive: true, force: true })
    renameSync(temporary, cache)
  } catch (error) {
    console.error(String(error))
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return findPrograms(wanted)
}

/** The libraries of downloaded programs, for LD_LIBRARY_PATH; empty for programs that are installed. */
export function librariesOf({ name }, directory) {
  if (directory === undefined || !directory.startsWith(cacheOf(name))) return ''
  const folder = join(cacheOf(name), 'usr', 'lib')
  const triplets = readdirSync(folder).filter((entry) => entry.endsWith('-linux-gnu'))
  return triplets.map((entry) => join(folder, entry)).join(':')
}

const cacheOf = (name) => join(caches, `latchkey-${name.toLowerCase()}`)

/** The packages, and what of their dependencies is not installed; nothing is changed on the machine. */
function download(packages, directory) {
  const plan = spawnSync('apt-get', ['-s', '--no-install-recommends', 'install', ...packages], {
    timeout: downloadMs,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  if (plan.status !== 0) return false
  const missing = [...plan.stdout.matchAll(/^Inst (\S+) /gm)].map(([, name]) => name)
  return run('apt-get', ['-q', 'download', ...new Set([...packages, ...missing])], directory)
}

function run(command, args, directory) {
  const { status, stderr } = spawnSync(command, args, {
    cwd: directory,
    timeout: downloadMs,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) console.error(String(stderr).trim().split('\n').slice(-2).join('\n'))
  return status === 0
}
