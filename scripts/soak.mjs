// `npm run soak -- 20`: makes payments under kills, faults, aborts and repeats for the given number of minutes (default
// 1), then compares all books. `--store postgres` keeps settlements and claims in PostgreSQL, which is killed too. Prints one line of JSON, and at most a hundred lines with problems and their history.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adviceFor, obtainFor } from './obtain/programs.mjs'
import { runNode } from './run.mjs'
import { setUp } from './setup.mjs'

const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' }, store: { type: 'string', default: 'sqlite' } },
  allowPositionals: true,
})
const minutes = Number(positionals[0] ?? 1)
if (!(minutes > 0 && minutes <= 24 * 60) || !['sqlite', 'postgres'].includes(values.store)) {
  console.error('usage: npm run soak -- MINUTES [--seed N] [--store sqlite|postgres]')
  process.exit(2)
}
setUp()
const { environment: programs, missing } = obtainFor(values.store === 'postgres' ? ['test/dist/postgres/'] : [])
for (const [program, reason] of missing) {
  console.error(`${program.name} is not available: ${reason}\n${adviceFor(program)}`)
  process.exit(1)
}
const directory = mkdtempSync(join(tmpdir(), 'latchkey-soak-'))
const log = join(directory, 'problems.log')
const environment = {
  LATCHKEY_SOAK_SECONDS: String(Math.round(minutes * 60)),
  LATCHKEY_SOAK_LOG: log,
  LATCHKEY_SOAK_STORE: values.store,
  ...programs,
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
