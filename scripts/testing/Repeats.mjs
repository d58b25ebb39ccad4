// Keeps the results of repeated test files in a file of JSON lines, so that a run of hours can be continued.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { failureLines, nameOf } from './Outcome.mjs'

/** How a file runs: alone on the machine, or next to busy loops. */
export const modes = ['alone', 'busy']

export class Repeats {
  #path
  /** The runs that count, by file. */
  #runs = new Map()
  /** Files that failed before this process continued the record, with the number of their failures. */
  #failedBefore = new Map()

  /**
   * Opens a record, and continues it if it exists. A file with failures starts over, because it was mended or has to
   * show its failure again; the output of its failures is kept.
   */
  constructor(path) {
    this.#path = path
    mkdirSync(dirname(path), { recursive: true })
    const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
    for (const line of before.split('\n')) this.#read(line)
    // A killed process may have left half a line.
    if (before !== '' && !before.endsWith('\n')) appendFileSync(path, '\n')
    for (const [file, runs] of this.#runs) {
      const failures = runs.filter(({ isPassed }) => !isPassed).length
      if (failures === 0) continue
      this.#failedBefore.set(file, failures)
      this.#runs.delete(file)
      this.#append({ file, startsOver: true })
    }
  }

  #read(line) {
    let entry
    try {
      entry = JSON.parse(line)
    } catch {
      return
    }
    if (entry.startsOver) this.#runs.delete(entry.file)
    else this.#runsOf(entry.file).push(entry)
  }

  #runsOf(file) {
    if (!this.#runs.has(file)) this.#runs.set(file, [])
    return this.#runs.get(file)
  }

  #append(entry) {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`)
  }

  get failedBefore() {
    return [...this.#failedBefore].map(([file, failures]) => ({ file, failures }))
  }

  /** How often a file has run in a mode. */
  count(file, mode) {
    return (this.#runs.get(file) ?? []).filter((run) => run.mode === mode).length
  }

  /** Records one run of a file, and saves the output of its failures. */
  add(mode, { file, failures, passed, skips, ms }) {
    const run = { file, mode, isPassed: failures.length === 0, passed, skipped: skips.length, ms }
    this.#runsOf(file).push(run)
    this.#append(run)
    if (run.isPassed) return
    const directory = `${this.#path.replace(/\.jsonl$/, '')}-failures`
    mkdirSync(directory, { recursive: true })
    const name = `${nameOf(file).replaceAll('/', '_')}-${mode}-${Date.now()}.txt`
    writeFileSync(join(directory, basename(name)), `${failureLines([{ file, failures }]).join('\n')}\n`)
  }

  /** Returns a row for each of these files that has run, those with failures first. */
  rows(files) {
    const rows = files
      .filter((file) => this.#runs.has(file))
      .map((file) => {
        const runs = this.#runs.get(file)
        const [alone, busy] = modes.map((mode) => countsOf(runs.filter((run) => run.mode === mode)))
        return { file: nameOf(file), alone, busy, failures: alone.failures + busy.failures }
      })
    return rows.toSorted((a, b) => b.failures - a.failures || a.file.localeCompare(b.file))
  }
}

function countsOf(runs) {
  const times = runs.map(({ ms }) => ms)
  return {
    runs: runs.length,
    failures: runs.filter(({ isPassed }) => !isPassed).length,
    seconds: times.reduce((sum, ms) => sum + ms, 0) / 1000,
    longestSeconds: Math.max(0, ...times) / 1000,
  }
}

/** Returns the table of these rows, one line for each file. */
export function tableLines(rows) {
  const cell = ({ runs, failures, seconds, longestSeconds }) =>
    [runs, failures, seconds.toFixed(1), longestSeconds.toFixed(1)].map((value) => String(value).padStart(7)).join(' ')
  const head = '   runs  failed seconds longest'
  return [
    `${'alone'.padEnd(31)}  next to busy loops`,
    `${head}  ${head}  file`,
    ...rows.map(({ file, alone, busy }) => `${cell(alone)}  ${cell(busy)}  ${file}`),
  ]
}

/**
 * Returns the runs that are missing, in the order in which they run: all files once before any file again, so a run
 * that ends early has tried every file, and the rounds next to busy loops spread over the others.
 * @param times how often each file runs in each mode, as `{ alone, busy }`
 */
export function* missingRuns(repeats, files, times) {
  const rounds = modes
    .flatMap((mode) =>
      Array.from({ length: times[mode] }, (_, index) => ({ mode, index, at: (index + 1) / times[mode] })),
    )
    .toSorted((a, b) => a.at - b.at)
  for (const { mode, index } of rounds) {
    for (const file of files) if (repeats.count(file, mode) <= index) yield { file, mode }
  }
}

/** Groups consecutive runs of one mode, each file at most once, so that the runs of a group can run at once. */
export function* roundsOf(runs) {
  let round
  for (const { file, mode } of runs) {
    if (round !== undefined && (round.mode !== mode || round.files.includes(file))) {
      yield round
      round = undefined
    }
    round ??= { mode, files: [] }
    round.files.push(file)
  }
  if (round !== undefined) yield round
}
