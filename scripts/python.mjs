// The Python of the interop tests: virtual environments with pinned packages, made once below node_modules/.cache.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const programs = join(root, 'test', 'x402', 'python')
const cache = join(root, 'node_modules', '.cache', 'latchkey-python')
const problemFile = join(cache, 'problem.txt')
const installMs = 120_000

/** Why the tests in Python were left out; undefined if they were not. Forgets it. */
export function takePythonProblem() {
  if (!existsSync(problemFile)) return undefined
  const problem = readFileSync(problemFile, 'utf8')
  rmSync(problemFile)
  return problem
}

/**
 * `{ python }`, the path of an interpreter with the packages of a requirements file of the tests; or `{ problem }`, why
 * there is none.
 */
export function obtainPython(requirementsName) {
  mkdirSync(cache, { recursive: true })
  const found = findOrInstall(join(programs, requirementsName))
  if (found.problem !== undefined) writeFileSync(problemFile, found.problem)
  return found
}

function findOrInstall(requirements) {
  const key = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16)
  const directory = join(cache, key)
  const python = join(directory, 'bin', 'python')
  if (existsSync(python)) return { python }
  const version = run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], 10_000)
  if (version !== undefined) return { problem: `python3 (3.10 or later) is not at hand: ${version}` }
  // Complete or not there: it gets its name at the end. Only its scripts name their directory, and none is used.
  const temporary = `${directory}-${process.pid}`
  try {
    const problem = install(temporary, requirements)
    if (problem !== undefined) return { problem }
    renameSync(temporary, directory)
  } catch (error) {
    // Another process was faster.
    if (!existsSync(python)) throw error
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return { python }
}

function install(directory, requirements) {
  const made = run('python3', ['-m', 'venv', directory], 60_000)
  if (made !== undefined) return `a virtual environment could not be made: ${made}`
  // Wheels only: nothing of a package runs when it is installed.
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--no-input', 'install', '--quiet', '--no-deps']
  const options = ['--only-binary', ':all:', '--retries', '1', '--timeout', '15', '-r', requirements]
  const installed = run(join(directory, 'bin', 'python'), [...pip, ...options], installMs)
  return installed === undefined ? undefined : `pip could not install ${basename(requirements)}: ${installed}`
}

/** Undefined if the command succeeds; otherwise the last line that it wrote. */
function run(command, args, timeout) {
  const { status, error, stderr } = spawnSync(command, args, { timeout, stdio: ['ignore', 'ignore', 'pipe'] })
  if (status === 0) return undefined
  const line = String(stderr ?? '')
    .trim()
    .split('\n')
    .at(-1)
  return error?.message ?? (line || `it ended with ${status}`)
}
