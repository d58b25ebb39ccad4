// The packages' own tests, many files to a process: starting a process for each is most of the time they take.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Tests that are about many cases or killed processes are for `npm test`. */
export const isSlow = (path) => /\.(fuzz|crash)\.test\.js$/.test(path)

/** Tests that take long and wait for much of it: for a delay of the daemon, a process or the registry. */
export const takesLong = (path) =>
  /(terminal-escapes|guesses|blank-passwords|facilitator-key|outside)\.test\.js$/.test(path)

/** How often a property is tried. */
export const unitFuzz = '200'

/** Twice the cores, since many tests wait for a timer. */
export const unitConcurrency = 2 * availableParallelism()

/**
 * Writes one module for each batch, with a suite for each file, so that hooks of one file are not run for another.
 * @returns the paths of the modules
 */
export function writeBatches(root, files) {
  const folder = join(root, 'node_modules', '.cache', 'latchkey-unit')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const batches = Array.from({ length: 2 * unitConcurrency }, () => [])
  // Dealt like cards: slow tests of one package do not meet in one batch.
  for (const [index, file] of files.entries()) batches[index % batches.length].push(file)
  return batches
    .filter((batch) => batch.length > 0)
    .map((batch, index) => {
      const suites = batch.map((file) => {
        const url = JSON.stringify(pathToFileURL(join(root, file)).href)
        return `await describe(${JSON.stringify(file)}, async () => { await import(${url}) })\n`
      })
      const path = join(folder, `batch-${index}.test.mjs`)
      writeFileSync(path, `import { describe } from 'node:test'\n${suites.join('')}`)
      return path
    })
}
