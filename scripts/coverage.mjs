// `npm run coverage`: how much of the packages' sources their own tests run. A table, and coverage/index.html.
import { join } from 'node:path'
import { runNode } from './run.mjs'
import { root, setUp } from './setup.mjs'
import { testFiles } from './tests.mjs'
import { isSlow, unitConcurrency, unitFuzz, writeBatches } from './unit.mjs'

setUp()
const files = testFiles(root, ['packages']).filter((path) => !isSlow(path))
const c8 = join(root, 'node_modules', 'c8', 'bin', 'c8.js')
const report = ['--reporter=text', '--reporter=html', '--reports-dir', join(root, 'coverage')]
const sources = ['--include=packages/*/src/**', '--exclude=**/*.test.*', '--exclude-after-remap']
const tests = ['--test', `--test-concurrency=${unitConcurrency}`, '--test-reporter=dot', ...writeBatches(root, files)]
const environment = { LATCHKEY_FUZZ: process.env.LATCHKEY_FUZZ ?? unitFuzz }
process.exit(await runNode([c8, ...report, ...sources, process.execPath, ...tests], environment))
