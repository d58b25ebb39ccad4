// Provides Python for the interop tests: virtual environments with pinned packages, built once below
// node_modules/.cache.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildOnce, cacheDirectory, isComplete } from '../cache.mjs'
import { root } from '../packages.mjs'

const programs = join(root, 'test', 'x402', 'python')
const cache = cacheDirectory('latchkey-python')
const installMs = 300_000

/**
 * Returns `{ python }`, the path of an interpreter with the packages of a requirements file of the tests, or `{ problem
 * }` with the reason why there is none.
 */
export function obtainPython(requirementsName) {
  const requirements = join(programs, requirementsName)
  const key = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16)
  const directory = join(cache, key)
  const python = join(directory, 'bin', 'python')
  if (isComplete(directory)) return { python }
  const version = run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], 30_000)
  if (version !== undefined) return { problem: `python3 (3.10 or newer) is not installed: ${version}` }
  try {
    // The environment can be renamed: only its scripts contain the directory name, and none of them is used.
    buildOnce(directory, (partial) => install(partial, requirements))
  } catch (error) {
    return { problem: error.message }
  }
  return { python }
}

function install(directory, requirements) {
  const made = run('python3', ['-m', 'venv', directory], 120_000)
  if (made !== undefined) throw new Error(`a virtual environment could not be created: ${made}`)
  // Wheels only, so that no package code runs during installation.
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--no-input', 'install', '--quiet', '--no-deps']
  const options = ['--only-binary', ':all:', '--retries', '3', '--timeout', '30', '-r', requirements]
  const installed = run(join(directory, 'bin', 'python'), [...pip, ...options], installMs)
  if (installed !== undefined) throw new Error(`pip could not install ${basename(requirements)}: ${installed}`)
}

/** Returns undefined if the command succeeds; otherwise the last line of its output. */
function run(command, args, timeout) {
  const { status, error, stderr } = spawnSync(command, args, { timeout, stdio: ['ignore', 'ignore', 'pipe'] })
  if (status === 0) return undefined
  const line = String(stderr ?? '')
    .trim()
    .split('\n')
    .at(-1)
  return error?.message ?? (line || `it exited with ${status}`)
}
