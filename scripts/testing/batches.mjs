// Runs several test files in one process, because starting a process and loading the modules takes most of their time.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cacheDirectory } from '../cache.mjs'
import { root } from '../packages.mjs'

/**
 * Writes a module that runs these files one after the other, each as a suite, so the hooks of one file do not run for
 * another. `latchkeyBatchEnd` lists work for the end of the process.
 * @returns the path of the module
 */
export function writeBatch(name, files) {
  const folder = cacheDirectory('latchkey-test-batches')
  mkdirSync(folder, { recursive: true })
  const suites = files.map((file) => {
    const url = JSON.stringify(pathToFileURL(join(root, file)).href)
    return `await describe(${JSON.stringify(file)}, async () => { await import(${url}) })\n`
  })
  const path = join(folder, `${name}.test.mjs`)
  const ends = 'globalThis.latchkeyBatchEnd = []\n'
  const end = 'for (const work of globalThis.latchkeyBatchEnd) await work()\n'
  writeFileSync(path, `import { describe } from 'node:test'\n${ends}${suites.join('')}${end}`)
  return path
}

/**
 * Cuts a list of files into parts of about equal cost. Neighbours stay together, because files of one folder load the
 * same modules.
 */
export function cut(files, count, costOf) {
  const parts = Array.from({ length: count }, () => [])
  const total = files.reduce((sum, file) => sum + costOf(file), 0)
  let before = 0
  for (const file of files) {
    const middle = before + costOf(file) / 2
    parts[Math.min(count - 1, Math.floor((middle / total) * count))].push(file)
    before += costOf(file)
  }
  return parts.filter((part) => part.length > 0)
}
