// Locates the caches of the scripts. The caches are below node_modules, so deleting a clone deletes them too.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './packages.mjs'

const pollMs = 200
const waitMs = 15 * 60_000

/** Returns the directory of a cache, which may not exist yet. `LATCHKEY_CACHE` overrides the parent directory. */
export const cacheDirectory = (name) => join(process.env.LATCHKEY_CACHE ?? join(root, 'node_modules', '.cache'), name)

const markOf = (directory) => join(directory, '.complete')

/** Whether `buildOnce` has completed this directory. */
export const isComplete = (directory) => existsSync(markOf(directory))

/**
 * Builds a directory that several processes may need at once: one process builds it and the others wait. An interrupted
 * build never leaves a directory that looks complete, and the next build starts over.
 * @param build called with an empty directory; throws if it cannot fill the directory
 */
export function buildOnce(directory, build) {
  if (isComplete(directory)) return
  withLock(`${directory}.lock`, () => {
    if (isComplete(directory)) return
    const partial = `${directory}.partial`
    for (const path of [partial, directory]) rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    mkdirSync(partial, { recursive: true })
    try {
      build(partial)
      writeFileSync(markOf(partial), '')
      renameSync(partial, directory)
    } finally {
      rmSync(partial, { recursive: true, force: true, maxRetries: 3 })
    }
  })
}

/** Runs work in one process at a time. The others wait. A process that is killed leaves the lock to the next. */
export function withLock(path, work) {
  const release = lock(path)
  try {
    return work()
  } finally {
    release()
  }
}

/** Creates a lock file with the owner's process id; fails if the file exists. */
function lock(path) {
  mkdirSync(dirname(path), { recursive: true })
  const deadline = Date.now() + waitMs
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      return () => rmSync(path, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isAbandoned(path)) removeAbandoned(path)
    else if (Date.now() > deadline) throw new Error(`another process is still building; if not, delete ${path}`)
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs)
  }
}

/** One process at a time: a second one could remove the lock that the first has just taken. */
function removeAbandoned(path) {
  const guard = `${path}.guard`
  try {
    writeFileSync(guard, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (isAbandoned(guard)) rmSync(guard, { force: true })
    return
  }
  try {
    if (isAbandoned(path)) rmSync(path, { force: true })
  } finally {
    rmSync(guard, { force: true })
  }
}

/** Whether the process that created the lock has exited. An empty file is about to be written. */
function isAbandoned(path) {
  try {
    const text = readFileSync(path, 'utf8')
    if (text === '') return Date.now() - statSync(path).mtimeMs > 10_000
    process.kill(Number(text), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}
