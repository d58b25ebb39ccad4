// `npm run test:repeat`: runs each test file of a tier 30 times alone and 10 times next to busy loops, one file at a
// time, and prints a table of runs, failures and seconds. All files take hours: a run can be limited and continued.
// Most files wait more than they compute, so `--jobs 2` takes half the time; no run is alone with more jobs than cores.
//   WORD ...        only files whose path contains one of the words, from every tier
//   --tier NAME     node (the files of `npm test`), system or unit
//   --times N       runs alone
//   --busy N        runs next to busy loops
//   --loops N       how many busy loops
//   --jobs N        files at once; the same file never runs twice at once
//   --minutes N     stop after this time; the files that are running end first
//   --resume FILE   continue the record in FILE, or create it; files that failed start over
//   --json          print only the last line
// The last line is JSON. Failures are saved next to the record, which is in node_modules/.cache unless FILE is given.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory } from './cache.mjs'
import { neededBy, obtainFor } from './obtain/programs.mjs'
import { setUp } from './setup.mjs'
import { startBusyLoops } from './testing/busyLoops.mjs'
import { testFiles } from './testing/files.mjs'
import { filesOf, nameOf } from './testing/Outcome.mjs'
import { missingRuns, Repeats, roundsOf, tableLines } from './testing/Repeats.mjs'
import { runModules } from './testing/runModules.mjs'
import { single, tiers } from './testing/tiers.mjs'

const { values, positionals: words } = readArguments()
const tier = tiers[values.tier]
setUp()
const startedAt = Date.now()
const endsAt = startedAt + values.minutes * 60_000
const selected = testFiles(['packages', 'test'])
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word) || nameOf(path).includes(word)))
  .filter((path) => words.length > 0 || tier.has(path))
const { environment, missing } = obtainFor(selected)
const files = selected.filter((path) => neededBy(path).every((program) => !missing.has(program)))
if (files.length === 0) fail('no test matches')
const record = values.resume ?? join(cacheDirectory('latchkey-repeats'), `${values.tier}-${startedAt}.jsonl`)
const repeats = new Repeats(record)
for (const { file, failures } of repeats.failedBefore) {
  say(`starts over, because ${failures} of its runs failed: ${nameOf(file)}`)
}

let stopLoops
for (const { mode, files: round } of roundsOf(
  missingRuns(repeats, files, { alone: values.times, busy: values.busy }),
)) {
  if (Date.now() >= endsAt) break
  if (mode === 'busy') stopLoops ??= startBusyLoops(values.loops)
  else {
    stopLoops?.()
    stopLoops = undefined
  }
  await runModules(round.map(single), {
    concurrency: Math.max(1, values.jobs),
    until: endsAt,
    environment: { ...tier.environment, ...environment },
    onEnd: (result) => addRun(mode, filesOf(result)[0]),
  })
}
stopLoops?.()
report()

function addRun(mode, result) {
  repeats.add(mode, result)
  const number = repeats.count(result.file, mode)
  const mark = result.failures.length === 0 ? '✔' : '✖'
  say(`${mark} ${nameOf(result.file)}, ${mode} ${number}: ${(result.ms / 1000).toFixed(1)} s`)
}

function report() {
  const rows = repeats.rows(files)
  for (const line of tableLines(rows)) say(line)
  for (const [program, problem] of missing) say(`NOT RUN, because ${program.name} is not available: ${problem}`)
  const failed = rows.filter(({ failures }) => failures > 0)
  const isComplete = missingRuns(repeats, files, { alone: values.times, busy: values.busy }).next().done
  const runs = rows.reduce((sum, { alone, busy }) => sum + alone.runs + busy.runs, 0)
  const failures = rows.reduce((sum, row) => sum + row.failures, 0)
  say(`the record is ${record}`)
  console.log(
    JSON.stringify({
      node: process.version,
      files: files.length,
      filesRun: rows.length,
      runs,
      failures,
      failed: failed.map(({ file }) => file),
      isComplete,
      jobs: values.jobs,
      seconds: Math.round((Date.now() - startedAt) / 1000),
      record,
    }),
  )
  process.exit(failures > 0 ? 1 : 0)
}

function readArguments() {
  const options = {
    tier: { type: 'string', default: 'node' },
    times: { type: 'string', default: '30' },
    busy: { type: 'string', default: '10' },
    loops: { type: 'string', default: '4' },
    jobs: { type: 'string', default: '1' },
    minutes: { type: 'string', default: 'Infinity' },
    resume: { type: 'string' },
    json: { type: 'boolean', default: false },
  }
  try {
    const { values: given, positionals } = parseArgs({ options, allowPositionals: true })
    if (tiers[given.tier] === undefined) fail(`--tier is one of ${Object.keys(tiers).join(', ')}`)
    const numbers = ['times', 'busy', 'loops', 'jobs', 'minutes'].map((name) => [name, numberOf(name, given[name])])
    return { values: { ...given, ...Object.fromEntries(numbers) }, positionals }
  } catch (error) {
    return fail(error.message)
  }
}

function numberOf(name, text) {
  const number = Number(text)
  return text.trim() !== '' && number >= 0 ? number : fail(`--${name} is not a number`)
}

function fail(message) {
  console.error(message)
  process.exit(2)
}

function say(line) {
  if (!values.json) console.log(line)
}
