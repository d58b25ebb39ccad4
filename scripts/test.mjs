// `npm test`: sets up, checks style, and runs every test. Arguments narrow it down to files whose path holds one.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join, relative, sep } from 'node:path'
import { obtainChromium } from './chromium.mjs'
import { root, setUp } from './setup.mjs'

setUp()
const wanted = process.argv.slice(2)
if (wanted.length === 0)
  await run([join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings', '.'])
const found = ['packages', 'test']
  .flatMap((directory) => readdirSync(join(root, directory), { recursive: true }).map((name) => join(directory, name)))
  .filter((path) => path.endsWith('.test.js') && path.includes(`${sep}dist${sep}`) && !path.includes('node_modules'))
  .filter(hasSource)
  .filter((path) => wanted.length === 0 || wanted.some((part) => path.includes(part)))
  .sort()
if (found.length === 0) {
  console.error('no test matches')
  process.exit(1)
}

const needsBrowser = (path) => path.includes(`${sep}browser${sep}`)
const chromium = found.some(needsBrowser) ? obtainChromium() : undefined
const tests = chromium === undefined ? found.filter((path) => !needsBrowser(path)) : found
if (tests.length > 0) {
  const files = tests.map((path) => relative(root, join(root, path)))
  await run(['--enable-source-maps', '--test', '--test-reporter=spec', ...files], { CHROMIUM: chromium })
}
if (tests.length < found.length) {
  // Not a failure of the code; but not a success either, and where nobody reads along it must not look like one.
  console.error(`\nNOT RUN, for want of a browser: ${found.filter(needsBrowser).join(', ')}`)
  console.error('Install Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path.')
  process.exit(process.env.CI || tests.length === 0 ? 1 : 0)
}

/** A test that was deleted or renamed may still be there compiled. */
function hasSource(path) {
  const source = path.replace(/\.js$/, '.ts')
  return [`${sep}src${sep}`, sep].some((place) => existsSync(join(root, source.replace(`${sep}dist${sep}`, place))))
}

/**
 * In a session without a terminal, so that no command under test can ask whoever runs the tests; what stops this
 * stops all of it.
 */
async function run(args, environment = {}) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
    detached: true,
  })
  const stop = (signal) => {
    try {
      process.kill(-child.pid, signal)
    } catch {
      // It has ended already.
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(1))
    child.once('exit', (status, signal) => resolve(status ?? 128 + constants.signals[signal]))
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, stop)
  if (code !== 0) process.exit(code)
}
