// `npm test`: sets up, checks style, and runs every test. Arguments narrow it down to files whose path contains one.
// `npm run test:unit`: only the packages' own tests, without the slow ones.
import { availableParallelism } from 'node:os'
import { join, sep } from 'node:path'
import { obtainChromium } from './chromium.mjs'
import { neededBy, obtainFor } from './programs.mjs'
import { takePythonProblem } from './python.mjs'
import { runNode } from './run.mjs'
import { root, setUp } from './setup.mjs'
import { testFiles } from './tests.mjs'
import { isSlow, takesLong, unitConcurrency, unitFuzz, writeBatches } from './unit.mjs'

setUp()
const isUnit = process.argv.includes('--unit')
const wanted = process.argv.slice(2).filter((argument) => argument !== '--unit')
const found = testFiles(root, isUnit ? ['packages'] : ['packages', 'test']).filter(
  (path) => wanted.length === 0 || wanted.some((part) => path.includes(part)),
)
if (found.length === 0) {
  console.error('no test matches')
  process.exit(1)
}
process.exit(isUnit ? await runUnit() : await runAll())

async function runUnit() {
  const files = found.filter((path) => !isSlow(path))
  const fuzz = process.env.LATCHKEY_FUZZ ?? unitFuzz
  const code = await runTests(writeBatches(root, files), unitConcurrency, { LATCHKEY_FUZZ: fuzz })
  const left = found.filter(isSlow)
  console.error(`\nNOT RUN, since they take longer: ${left.length} fuzz and crash tests, and everything in test/.`)
  console.error(`Properties were tried ${fuzz} times each. npm test runs all of it.`)
  return code
}

async function runAll() {
  if (wanted.length === 0) {
    const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
    const code = await runNode([biome, 'check', '--error-on-warnings', '.'])
    if (code !== 0) return code
  }
  const needsBrowser = (path) => path.includes(`${sep}browser${sep}`)
  const chromium = found.some(needsBrowser) ? obtainChromium() : undefined
  const { environment, missing } = obtainFor(found)
  const lacks = (path) => neededBy(path).filter((program) => missing.has(program))
  const tests = found.filter((path) => (chromium !== undefined || !needsBrowser(path)) && lacks(path).length === 0)
  // Two more than cores: most tests wait for a process, a timer or a disk for more than half of their time.
  const concurrency = Number(process.env.LATCHKEY_TEST_CONCURRENCY ?? availableParallelism() + 2)
  takePythonProblem()
  const modules = wanted.length === 0 ? inFewProcesses(tests) : tests
  const code = tests.length === 0 ? 0 : await runTests(modules, concurrency, { CHROMIUM: chromium, ...environment })
  const pythonProblem = takePythonProblem()
  if (pythonProblem !== undefined) console.error(`\nNOT RUN: the interop tests with Python, because ${pythonProblem}`)
  if (tests.length === found.length) return code
  // Not a failure of the code; but in CI, where the output is not read, it must not look like a success either.
  if (chromium === undefined && found.some(needsBrowser)) {
    console.error(`\nNOT RUN, for want of a browser: ${found.filter(needsBrowser).join(', ')}`)
    console.error('Install Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path.')
  }
  for (const program of missing) {
    const left = found.filter((path) => lacks(path).includes(program))
    console.error(`\nNOT RUN, for want of ${program.name}: ${left.join(', ')}`)
    console.error(program.advice ?? adviceFor(program))
  }
  return code !== 0 ? code : process.env.CI || tests.length === 0 ? 1 : 0
}

/** Those that take longest come first, so that none is left over at the end; the packages' own share processes. */
function inFewProcesses(tests) {
  const isOwn = (path) => path.startsWith(`packages${sep}`) && !isSlow(path)
  const others = tests.filter((path) => !isOwn(path))
  const first = others.filter(takesLong)
  return [...first, ...writeBatches(root, tests.filter(isOwn)), ...others.filter((path) => !takesLong(path))]
}

function adviceFor({ packages, variable }) {
  const install = `apt-get install ${packages.join(' ')}`
  return `Install it (Debian: ${install}), or set ${variable} to the directory of its programs.`
}

function runTests(files, concurrency, environment) {
  const options = ['--enable-source-maps', '--test', `--test-concurrency=${concurrency}`, '--test-reporter=spec']
  return runNode([...options, ...files], environment)
}
