// Runs several test files in one process, because starting a process and loading the modules takes most of their time.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cacheDirectory } from '../cache.mjs'
import { root } from '../packages.mjs'

/**
 * Writes a module that runs these files one after the other, each as a suite, so the hooks of one file do not run for
 * another.
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
  writeFileSync(path, `import { describe } from 'node:test'\n${suites.join('')}`)
  return path
}

/** Deals files round-robin, so the slow tests of one folder do not share a batch. */
export function deal(files, count) {
  const hands = Array.from({ length: count }, () => [])
  for (const [index, file] of files.entries()) hands[index % count].push(file)
  return hands.filter((hand) => hand.length > 0)
}
