// `npm run test:nodes`: runs all of `npm test` on the oldest supported Node and on one release of every line in
// support, one after the other, and prints a line for each. Every release is obtained from the npm registry.
//   NUMBER ...    only these lines, such as 22 24
//   WORD ...      only tests whose path contains one of the words
//   --system      `npm run test:system` instead, or --unit: `npm run test:unit`
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { parseArgs } from 'node:util'
import { obtainNode, releases } from './obtain/node.mjs'
import { root } from './packages.mjs'
import { setUp } from './setup.mjs'

const options = { system: { type: 'boolean', default: false }, unit: { type: 'boolean', default: false } }
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const isLine = (text) => /^\d+$/.test(text)
const wanted = positionals.filter(isLine)
const words = positionals.filter((text) => !isLine(text))
const tier = Object.keys(options).flatMap((name) => (values[name] ? [`--${name}`] : []))

// Installing packages deletes the cache, where the releases are.
setUp()
const rows = (wanted.length > 0 ? wanted : Object.keys(releases)).map(visit)
console.log('')
for (const { isGood, name, said } of rows) console.log(`${isGood ? 'ok    ' : 'FAILED'} Node ${name.padEnd(8)} ${said}`)
process.exit(rows.every(({ isGood }) => isGood) ? 0 : 1)

/** Runs the tests on one line. */
function visit(line) {
  const { version, directory, problem } = obtainNode(line)
  if (problem !== undefined) return { isGood: false, name: line, said: `is not available: ${problem}` }
  console.log(`\nNode ${version}`)
  const startedAt = Date.now()
  const { status, signal } = spawnSync(
    join(directory, 'node'),
    [join(root, 'scripts', 'test.mjs'), ...tier, ...words],
    {
      cwd: root,
      stdio: 'inherit',
      // Tests also start `node` and npm by name.
      env: { ...process.env, PATH: `${directory}${delimiter}${process.env.PATH}` },
    },
  )
  if (signal !== null) process.exit(130)
  return { isGood: status === 0, name: version, said: `${Math.round((Date.now() - startedAt) / 1000)} s` }
}
