// `npm test`: sets up, checks style, and runs every test. Arguments narrow it down to files whose path holds one.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { root, setUp } from './setup.mjs'

setUp()
const wanted = process.argv.slice(2)
if (wanted.length === 0)
  run([join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings', '.'])
const tests = ['packages', 'test']
  .flatMap((directory) => readdirSync(join(root, directory), { recursive: true }).map((name) => join(directory, name)))
  .filter((path) => path.endsWith('.test.js') && path.includes(`${sep}dist${sep}`) && !path.includes('node_modules'))
  .filter(hasSource)
  .filter((path) => wanted.length === 0 || wanted.some((part) => path.includes(part)))
  .sort()
if (tests.length === 0) {
  console.error('no test matches')
  process.exit(1)
}
run([
  '--enable-source-maps',
  '--test',
  '--test-reporter=spec',
  ...tests.map((path) => relative(root, join(root, path))),
])

/** A test that was deleted or renamed may still be there compiled. */
function hasSource(path) {
  const source = path.replace(/\.js$/, '.ts')
  return [`${sep}src${sep}`, sep].some((place) => existsSync(join(root, source.replace(`${sep}dist${sep}`, place))))
}

function run(args) {
  const result = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (result.status !== 0) process.exit(result.status ?? 1)
}
