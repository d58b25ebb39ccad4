// Provides programs that the tests run: the installed ones, or Debian's, unpacked below the cache with the libraries
// that this machine lacks. Installing the packages would start services.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { buildOnce, cacheDirectory } from '../cache.mjs'

const downloadMs = 300_000

/**
 * Returns the directory of the programs, or undefined. The environment variable names the directory; without it, the
 * search covers PATH, `directories` and the downloaded packages.
 */
export function findPrograms({ name, programs, variable, directories = [] }) {
  const given = process.env[variable] ?? ''
  if (given !== '') return given
  const unpacked = [join('usr', 'bin'), join('usr', 'sbin'), ...directories.map((path) => path.slice(1))]
  const candidates = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    '/sbin',
    ...directories,
    ...unpacked.map((path) => join(cacheOf(name), path)),
  ]
  return candidates.find((directory) => programs.every((program) => existsSync(join(directory, program))))
}

/**
 * Finds the programs, or downloads them on systems with apt.
 * @returns `{ directory }`, or `{ problem }` with the reason why the programs are not available
 */
export function obtainPrograms(wanted) {
  const found = findPrograms(wanted)
  if (found !== undefined) return { directory: found }
  if (!has('apt-get') || !has('dpkg-deb')) return { problem: 'this machine has no apt to download it with' }
  console.error(`latchkey: downloading ${wanted.name} for the tests, once`)
  try {
    buildOnce(cacheOf(wanted.name), (directory) => unpack(wanted.packages, directory))
  } catch (error) {
    return { problem: error.message }
  }
  const directory = findPrograms(wanted)
  if (directory !== undefined) return { directory }
  return { problem: `the packages ${wanted.packages.join(', ')} of this release do not contain it` }
}

/** Returns the library directories of downloaded programs, for LD_LIBRARY_PATH. Installed programs need none. */
export function librariesOf({ name }, directory) {
  if (directory === undefined || !directory.startsWith(cacheOf(name))) return []
  const folder = join(cacheOf(name), 'usr', 'lib')
  // A package brings no libraries if the machine already has all of them.
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((entry) => /-linux-gnu\w*$/.test(entry))
    .map((entry) => join(folder, entry))
}

/** Whether a command is in PATH. */
export const has = (command) =>
  (process.env.PATH ?? '').split(delimiter).some((path) => existsSync(join(path, command)))

const cacheOf = (name) => cacheDirectory(`latchkey-${name.toLowerCase()}`)

function unpack(packages, directory) {
  let problem = download(packages, directory)
  if (problem !== undefined && process.getuid?.() === 0) {
    // The package lists may be missing or old; the only criterion is whether the download then succeeds.
    run('apt-get', ['-q', 'update'], directory)
    problem = download(packages, directory)
  }
  if (problem !== undefined) throw new Error(`apt-get could not download ${packages.join(', ')}: ${problem}`)
  const archives = readdirSync(directory).filter((name) => name.endsWith('.deb'))
  for (const archive of archives) {
    const failure = run('dpkg-deb', ['-x', archive, directory], directory)
    if (failure !== undefined) throw new Error(`dpkg-deb could not unpack ${archive}: ${failure}`)
    rmSync(join(directory, archive))
  }
}

/** Downloads the packages and those of their dependencies that are not installed. Changes nothing on the machine. */
function download(packages, directory) {
  const plan = spawnSync('apt-get', ['-s', '--no-install-recommends', 'install', ...packages], {
    timeout: downloadMs,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  if (plan.status !== 0) return lastLine(plan)
  const missing = [...plan.stdout.matchAll(/^Inst (\S+) /gm)].map(([, name]) => name)
  return run('apt-get', ['-q', 'download', ...new Set([...packages, ...missing])], directory)
}

/** Returns undefined if the command succeeds; otherwise the last line of its output. */
function run(command, args, directory) {
  const result = spawnSync(command, args, {
    cwd: directory,
    timeout: downloadMs,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  return result.status === 0 ? undefined : lastLine(result)
}

function lastLine({ error, stderr, status }) {
  const line = (stderr ?? '').trim().split('\n').at(-1)
  return error?.message ?? (line || `it exited with ${status}`)
}
