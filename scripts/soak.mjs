// `npm run soak -- 20`: makes payments under kills, faults, aborts and repeats for the given number of minutes (default
// 1), then compares all books. Prints one line of JSON, and at most a hundred lines with problems and their history.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runNode } from './run.mjs'
import { setUp } from './setup.mjs'

const { values, positionals } = parseArgs({ options: { seed: { type: 'string' } }, allowPositionals: true })
const minutes = Number(positionals[0] ?? 1)
if (!(minutes > 0 && minutes <= 24 * 60)) {
  console.error('usage: npm run soak -- MINUTES [--seed N]')
  process.exit(2)
}
setUp()
const directory = mkdtempSync(join(tmpdir(), 'latchkey-soak-'))
const log = join(directory, 'problems.log')
const environment = {
  LATCHKEY_SOAK_SECONDS: String(Math.round(minutes * 60)),
  LATCHKEY_SOAK_LOG: log,
  ...(values.seed === undefined ? {} : { LATCHKEY_SOAK_SEED: values.seed }),
}
const code = await runNode(['--enable-source-maps', join('test', 'dist', 'x402', 'soak.test.js')], environment)
console.error(readIfThere(log).split('\n').slice(0, 100).join('\n'))
rmSync(directory, { recursive: true, force: true })
process.exit(code)

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
