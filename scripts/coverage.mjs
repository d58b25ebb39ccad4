// `npm run coverage`: measures how much of the packages' sources their own tests run. Prints a table and writes
// coverage/index.html.
import { join } from 'node:path'
import { root } from './packages.mjs'
import { runNode } from './run.mjs'
import { setUp } from './setup.mjs'
import { testFiles } from './testing/files.mjs'
import { modulesOf, tiers, usualConcurrency } from './testing/tiers.mjs'

setUp()
const files = testFiles(['packages']).filter(tiers.unit.has)
const c8 = join(root, 'node_modules', 'c8', 'bin', 'c8.js')
const report = ['--reporter=text', '--reporter=html', '--reports-dir', join(root, 'coverage')]
const sources = ['--include=packages/*/src/**', '--exclude=**/*.test.*', '--exclude-after-remap']
const modules = modulesOf(files).map(({ path }) => path)
const tests = ['--test', `--test-concurrency=${usualConcurrency}`, '--test-reporter=dot', ...modules]
const environment = { ...tiers.unit.environment, ...process.env }
process.exit(await runNode([c8, ...report, ...sources, process.execPath, ...tests], environment))
