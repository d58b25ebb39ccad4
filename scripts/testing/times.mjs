// Keeps the run times of test files: each full run saves them, and `npm run test:times` prints them. The repository
// contains expected times, so the first run in a clone starts the longest tests first.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '../cache.mjs'
import { root } from '../packages.mjs'
import { filesOf, nameOf } from './Outcome.mjs'

const expectedFile = join(root, 'scripts', 'testing', 'expected-times.json')

/**
 * The wall and CPU time of a file that the expected times do not list. Most files take less than a second. The list has
 * every file of the system tests, so another one is new, and may be long: it starts early.
 */
const unknown = { system: [30, 9], others: [0.4, 0.2] }

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

/**
 * Returns a function from a file of a tier to its expected wall and CPU time, recorded on two cores next to other tests.
 */
export function expectedTimes(tier) {
  const known = JSON.parse(readFileSync(expectedFile, 'utf8'))
  return (file) => {
    const [wallSeconds, cpuSeconds] = known[tier]?.[nameOf(file)] ?? known.node[nameOf(file)] ?? unknownFor(tier)
    return { wallMs: wallSeconds * 1000, cpuMs: cpuSeconds * 1000 }
  }
}

const unknownFor = (tier) => unknown[tier] ?? unknown.others

/** Writes the times of the last full runs as the expected times, without the short ones of `npm test`. */
export function saveExpectedTimes(tierNames) {
  const known = JSON.parse(readFileSync(expectedFile, 'utf8'))
  for (const tier of tierNames) {
    const files = readTimes(tier).flatMap((row) => row.files)
    if (files.length === 0) continue
    const long = files
      .filter(({ ms }) => tier === 'system' || ms >= 1000)
      .toSorted((a, b) => (a.file < b.file ? -1 : 1))
    known[tier] = Object.fromEntries(long.map(({ file, ms, cpuMs }) => [nameOf(file), [tenths(ms), tenths(cpuMs)]]))
  }
  writeFileSync(
    expectedFile,
    `${JSON.stringify(known, undefined, 2).replaceAll(/\[\s+(\S+)\s+(\S+)\s+\]/g, '[$1 $2]')}\n`,
  )
}

const tenths = (ms) => Math.round(ms / 100) / 10
