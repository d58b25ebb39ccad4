import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { SqliteSettlements } from '../../facilitator/store/sqlite/SqliteSettlements.js'
import { SqliteClaims } from '../../server/store/sqlite/SqliteClaims.js'
import { openSales } from '../../server/store/sqlite/SqliteSales.js'

const modules = {
  Sqlite: import.meta.resolve('@latchkey/system/sqlite'),
  claims: new URL('../../server/store/sqlite/SqliteClaims.js', import.meta.url).href,
  settlements: new URL('../../facilitator/store/sqlite/SqliteSettlements.js', import.meta.url).href,
}

/** Runs code in a process of its own, which closes its files for good. */
function run(code: string): void {
  const imports = `import * as Sqlite from '${modules.Sqlite}'; import { SqliteClaims } from '${modules.claims}';
    import { SqliteSettlements } from '${modules.settlements}';`
  try {
    execFileSync(process.execPath, ['--input-type=module', '-e', `${imports} ${code}`], { stdio: 'pipe' })
  } catch (error) {
    if ((error as { signal?: string }).signal !== 'SIGKILL') throw error
  }
}

const claims = 'new SqliteClaims(path).close()'
const settlements = 'new SqliteSettlements(path).close()'
const sql = (text: string): string => `Sqlite.open(path).exec(${JSON.stringify(text)})`

type Kind = {
  /** Writes the file `path`, in another process. */
  readonly code?: string
  /** Writes or changes the file after that. */
  readonly change?: (path: string) => void
  readonly claims?: RegExp
  readonly settlements?: RegExp
  readonly sales?: RegExp
}

const changed = (by: (bytes: Buffer) => Buffer) => (path: string) => writeFileSync(path, by(readFileSync(path)))

const foreign = /: it is the database of another program$/
const zeros = /: it begins with zeros, so its records are lost$/
const tooNew = /was written by a later version of this program$/
const otherClaims = /: it has the claims of a seller, not the settlements of a facilitator$/
const otherSettlements = /: it has the settlements of a facilitator, not the claims of a seller$/
const all = (message: RegExp) => ({ claims: message, settlements: message, sales: message })

const kinds: { readonly [name: string]: Kind } = {
  'a directory': { change: (path) => mkdirSync(path), ...all(/: it is not a file$/) },
  'a text': { change: (path) => writeFileSync(path, 'text '.repeat(1_000)), ...all(/: it is not a database$/) },
  zeros: { change: (path) => writeFileSync(path, Buffer.alloc(65_536)), ...all(zeros) },
  'a store whose begin is zero': {
    code: settlements,
    change: changed((bytes) => bytes.fill(0, 0, 4_096)),
    ...all(zeros),
  },
  'a store whose end is zero': {
    code: claims,
    change: changed((bytes) => bytes.fill(0, 4_096)),
    claims: /: it is damaged$/,
    sales: /: it is damaged$/,
  },
  'a store that lost its end': {
    code: settlements,
    change: changed((bytes) => bytes.subarray(0, 4_096)),
    settlements: /: it is damaged$/,
  },
  'an empty store with a journal': {
    change: (path) => {
      run(`new SqliteClaims(${JSON.stringify(path)}); process.kill(process.pid, 'SIGKILL')`)
      writeFileSync(path, '')
    },
    ...all(/: it is empty, but its journal .*-wal is not$/),
  },
  "another program's database": { code: sql('CREATE TABLE places (id)'), ...all(foreign) },
  "another program's database of version 3": {
    code: sql('CREATE TABLE places (id); PRAGMA user_version = 3'),
    ...all(foreign),
  },
  "another program's database of version 99": {
    code: sql('PRAGMA journal_mode = WAL; CREATE TABLE places (id); PRAGMA user_version = 99'),
    ...all(foreign),
  },
  'the claims of a seller': { code: claims, settlements: otherClaims },
  'the settlements of a facilitator': { code: settlements, claims: otherSettlements, sales: otherSettlements },
  'later claims': { code: `${claims}; ${sql('PRAGMA user_version = 99')}`, claims: tooNew, sales: tooNew },
  'later settlements': { code: `${settlements}; ${sql('PRAGMA user_version = 99')}`, settlements: tooNew },
  'an empty file': { change: (path) => writeFileSync(path, ''), sales: /: it is empty$/ },
}

const openers = {
  claims: (path: string) => new SqliteClaims(path),
  settlements: (path: string) => new SqliteSettlements(path),
  sales: (path: string) => openSales(path),
} as const

test('a file that is not the store is refused with the reason, and stays as it is', async (t) => {
  const root = temporary(t)
  const directories = Object.keys(kinds).map((_, index) => join(root, String(index)))
  for (const directory of directories) mkdirSync(directory)
  const codes = Object.values(kinds).map(({ code = '' }, index) => {
    const path = join(directories[index]!, 'a store?.db')
    return `{ const path = ${JSON.stringify(path)}; ${code} }`
  })
  run(codes.join('\n'))
  for (const [index, [name, { change, code, ...expected }]] of Object.entries(kinds).entries()) {
    await t.test(name, () => {
      const directory = directories[index]!
      const path = join(directory, 'a store?.db')
      change?.(path)
      const before = contentOf(directory)
      for (const [opener, message] of Object.entries(expected) as [keyof typeof openers, RegExp][]) {
        assert.throws(() => openers[opener](path), { name: 'StoreError', message })
        assert.deepEqual(contentOf(directory), before, opener)
      }
    })
  }
})

test('a store that a killed process left is opened with all its records', (t) => {
  const path = join(temporary(t), 'claims.db')
  const lease = `{ owner: 'o', binding: 'b', proof: 'none', nowMs: 1, leaseMs: 1, network: 'n', round: 1n, forgetRound: 9n }`
  run(`new SqliteClaims(${JSON.stringify(path)}).claim('A', ${lease}); process.kill(process.pid, 'SIGKILL')`)
  const claims = new SqliteClaims(path)
  t.after(() => claims.close())
  assert.ok(claims.has('A'))
  // Also while it is open.
  const second = new SqliteClaims(path)
  assert.ok(second.has('A'))
  second.close()
  assert.throws(() => new SqliteSettlements(path), { message: otherClaims })
  assert.ok(claims.has('A'))
})

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-store-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

function contentOf(directory: string): { [name: string]: string } {
  const entries = readdirSync(directory).map((name) => {
    const path = join(directory, name)
    const { mode } = statSync(path)
    return [name, statSync(path).isFile() ? `${mode} ${readFileSync(path).toString('base64')}` : `${mode}`]
  })
  return Object.fromEntries(entries)
}
