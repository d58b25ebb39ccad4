// `npm test`: sets up the clone, checks style and types, and runs every test that needs only Node. `npm run
// test:system`: runs the tests with real servers, browsers, Python and network namespaces, and the long rounds. `npm
// run test:unit`: runs only the packages' own tests. Arguments restrict each of them to files whose path contains one
// of the arguments; `npm test -- WORD` finds files of every tier.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { canRunChromium } from './obtain/chromium.mjs'
import { adviceFor, neededBy, obtainFor } from './obtain/programs.mjs'
import { root } from './packages.mjs'
import { runNode } from './run.mjs'
import { setUp } from './setup.mjs'
import { testFiles } from './testing/files.mjs'
import { countsLine, failureLines, filesOf, nameOf, skipLines } from './testing/Outcome.mjs'
import { runModules } from './testing/runModules.mjs'
import { withSources } from './testing/sources.mjs'
import { modulesOf, needsBrowser, single, tiers, usualAmount } from './testing/tiers.mjs'
import { saveTimes } from './testing/times.mjs'

setUp()
const { values, wanted } = readArguments()
const tierName = values.system ? 'system' : values.unit ? 'unit' : 'node'
const tier = tiers[tierName]
const startedAt = Date.now()
const isNarrowed = wanted.length > 0
const isOrdinary = tierName === 'node' && !isNarrowed
const hasPages = !isOrdinary || canRunChromium()
const selected = testFiles(['packages', 'test'])
  .filter((path) => !isNarrowed || wanted.some((part) => path.includes(part) || nameOf(path).includes(part)))
  .filter((path) => (isNarrowed && tierName === 'node') || tier.has(path))
// `npm test` installs no programs. Without a browser, only `npm run test:system` tests the pages.
const found = selected.filter((path) => hasPages || !needsBrowser(path))
if (found.length === 0) {
  console.error('no test matches')
  process.exit(1)
}
process.exit(await run())

async function run() {
  const style = isNarrowed || tierName !== 'node' ? 0 : checkStyle()
  const { environment, missing } = obtainFor(found)
  const lacks = (path) => neededBy(path).filter((program) => missing.has(program))
  const tests = found.filter((path) => lacks(path).length === 0)
  const options = {
    ...amountAtOnce(process.env.LATCHKEY_TEST_CONCURRENCY),
    environment: { ...(isNarrowed ? {} : { ...tier.environment, ...given(tier.environment) }), ...environment },
    onEnd: (result) => printModule(filesOf(result), result),
  }
  const results = await runModules(isNarrowed ? tests.map(single) : modulesOf(tests, tierName), options)
  if (!isNarrowed) saveTimes(tierName, results)
  const files = results.flatMap(filesOf)
  for (const line of failureLines(files)) console.log(line)
  for (const [program, problem] of missing) {
    const left = found.filter((path) => neededBy(path).includes(program))
    console.log(`\nNOT RUN, because ${program.name} is not available (${problem}): ${left.map(nameOf).join(', ')}`)
    console.log(adviceFor(program))
  }
  for (const line of skipLines(files)) console.log(line)
  const styleCode = await style
  if (styleCode !== 0) console.log('\nFAILED: the style; `npm run format` corrects most of it')
  const isFailed = styleCode !== 0 || files.some(({ failures }) => failures.length > 0)
  // A test that was left out is not a failure of the code. In CI, however, where the output is not read, it must not
  // look like a success.
  const isIncomplete = missing.size > 0 || files.some(({ skips }) => skips.some(({ reason }) => !isOfMachine(reason)))
  console.log(`\n${Math.round((Date.now() - startedAt) / 1000)} s`)
  if (isOrdinary) {
    const left = selected.filter((path) => !found.includes(path)).map(nameOf)
    if (left.length > 0)
      console.log(`No browser was found. \`npm run test:system\` obtains one and runs ${left.join(', ')}.`)
    console.log(
      '`npm run test:system` adds PostgreSQL, Redis, nginx, Prometheus, Chromium, Python, faults and long rounds.',
    )
  }
  console.log(countsLine(files))
  if (isIncomplete && process.env.CI) console.log('CI: tests that are not run count as a failure')
  return isFailed || (isIncomplete && process.env.CI) || tests.length === 0 ? 1 : 0
}

function readArguments() {
  const options = {
    system: { type: 'boolean', default: false },
    unit: { type: 'boolean', default: false },
  }
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    return { values, wanted: positionals }
  } catch (error) {
    console.error(`${error.message}\nusage: npm test [-- PART OF A PATH ...]`)
    process.exit(2)
  }
}

/** A CI machine may lack privileges and networks; programs can be installed on it. */
function isOfMachine(reason) {
  return /^(the machine has no|this machine has no|no such address here|other users cannot|needs root)/.test(reason)
}

/** Runs alongside the tests, because it needs one core for a few seconds. */
function checkStyle() {
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
  return runNode([biome, 'check', '--error-on-warnings', '.'])
}

/** Returns how many processes run at once: a given number, or as many as keep the cores busy. */
function amountAtOnce(given) {
  return given === undefined ? usualAmount : { concurrency: Number(given) }
}

/** Returns the variables of an environment that are also set in the environment of this process. */
function given(environment) {
  const names = Object.keys(environment).filter((name) => process.env[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, process.env[name]]))
}

function printModule(files, { module, records, output }) {
  const seconds = ((records.find(({ type }) => type === 'process')?.wallMs ?? 0) / 1000).toFixed(1)
  for (const { file, failures } of files) {
    for (const { name } of failures) console.log(`✖ ${nameOf(file)}: ${name}`)
  }
  if (isNarrowed) {
    for (const { type, name, nesting, isPassed, skip, ms } of records) {
      if (type !== 'test') continue
      const mark = skip !== undefined ? '﹣' : isPassed ? '✔' : '✖'
      console.log(`${'  '.repeat(nesting)}${mark} ${name} (${ms} ms)${skip === undefined ? '' : ` # ${skip}`}`)
    }
    if (output !== '') console.log(withSources(output))
  }
  const isFailed = files.some(({ failures }) => failures.length > 0)
  const passed = files.reduce((sum, file) => sum + file.passed, 0)
  console.log(`${isFailed ? '✖' : '✔'} ${nameOf(module.name)}: ${passed} tests, ${seconds} s`)
}
