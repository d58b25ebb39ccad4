// Keeps the run times of test files: each full run saves them, and `npm run test:times` prints them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '../cache.mjs'
import { filesOf } from './Outcome.mjs'

const pathOf = (tier) => join(cacheDirectory('latchkey-test-times'), `${tier}.json`)

/** Saves the wall and CPU time of each process, and the wall time of each file in it. */
export function saveTimes(tier, results) {
  const rows = results.map((result) => {
    const { wallMs = 0, cpuMs = 0 } = result.records.find(({ type }) => type === 'process') ?? {}
    const files = filesOf(result).map(({ file, ms, cpuMs, passed }) => ({ file, ms, cpuMs, tests: passed }))
    return { name: result.module.name, wallMs, cpuMs, files }
  })
  mkdirSync(cacheDirectory('latchkey-test-times'), { recursive: true })
  writeFileSync(pathOf(tier), JSON.stringify(rows, undefined, 1))
}

/** Returns the rows of the last full run of a tier; none if there was no run. */
export function readTimes(tier) {
  try {
    return JSON.parse(readFileSync(pathOf(tier), 'utf8'))
  } catch {
    return []
  }
}
