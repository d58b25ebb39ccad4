import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as Sqlite from '../../../db/sqlite/Sqlite.js'
import type { Settlement } from '../Settlement.js'
import { SqliteSettlements } from './SqliteSettlements.js'

const claimer = fileURLToPath(new URL('./claiming-process.test.helper.js', import.meta.url))

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-store-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

/** A process that claims a given number of payments, and prints those it got. */
function startClaimer(t: TestContext, path: string, count: number, ...then: string[]): ChildProcess {
  const child = spawn(process.execPath, [claimer, path, String(count), ...then], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = ''
  for await (const piece of stdout!.setEncoding('utf8')) {
    text += piece
    if (text.includes('\n')) break
  }
  return text.trim()
}

test('two processes on one file never claim the same payment', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const claimers = [1, 2].map(() => startClaimer(t, path, 200, 'exit'))
  const [mine, theirs] = await Promise.all(claimers.map(async (one) => JSON.parse(await firstLine(one)) as string[]))
  const all = [...mine!, ...theirs!]
  assert.deepEqual([all.length, new Set(all).size], [200, 200])
})

test('limits hold exactly over three processes on one file, even if fees are returned meanwhile', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const claimers = ['A', 'B', 'C'].map((name) => startClaimer(t, path, 200, 'exit', name))
  const results = await Promise.all(
    claimers.map(async (one) => JSON.parse(await firstLine(one)) as { claimed: string[]; limited: string[] }),
  )
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  const claimed = results.flatMap((one) => one.claimed)
  // All ended within the minute of the rate limit. More would mean a slow machine, not a broken limit.
  const settled = claimed.map((id) => store.get(id)!)
  const counted = settled.filter(({ state }) => state === 'pending')
  const feesOf = (payTo: string) => 3n * BigInt(counted.filter((one) => one.payTo === payTo).length)
  const all = feesOf('S0') + feesOf('S1') + feesOf('S2')
  assert.ok(all <= 250n, `${all} in all`)
  for (const payTo of ['S0', 'S1', 'S2']) assert.ok(feesOf(payTo) <= 100n, payTo)
  const limits = { feesPerPayTo: 100n, feesInAll: 250n }
  const one = { payer: 'NEW', payTo: 'S0' }
  assert.ok(results.some(({ limited }) => limited.length > 0))
  // The store counts exactly the recorded settlements.
  assert.equal(store.check({ ...one, feeMicroAlgos: 250n - all }, { feesInAll: 250n }), undefined)
  assert.equal(store.check({ ...one, feeMicroAlgos: 251n - all }, limits), 'feesInAll')
  for (const payTo of ['S0', 'S1', 'S2']) {
    const left = 100n - feesOf(payTo)
    assert.equal(store.check({ payer: 'NEW', payTo, feeMicroAlgos: left }, { feesPerPayTo: 100n }), undefined)
    assert.equal(store.check({ payer: 'NEW', payTo, feeMicroAlgos: left + 1n }, { feesPerPayTo: 100n }), 'feesPerPayTo')
  }
})

test('claims survive a killed process', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const child = startClaimer(t, path, 5, 'stay')
  assert.equal((JSON.parse(await firstLine(child)) as string[]).length, 5)
  child.kill('SIGKILL')
  await once(child, 'close')
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  const pending = store.pending()
  assert.equal(pending.length, 5)
  assert.deepEqual(pending[0]!.group, [Uint8Array.of(1, 2, 3)])
})

test('makes files private, even if they were not before', (t) => {
  const directory = directoryFor(t)
  const path = join(directory, 'settlements.db')
  writeFileSync(path, '', { mode: 0o644 })
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  assert.ok(readdirSync(directory).length > 1, 'written ahead, in a file of its own')
  for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name)
})

test('a claim resolves after it is on the disk', (t) => {
  const database = Sqlite.open(join(directoryFor(t), 'x.db'))
  t.after(() => database.close())
  const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() as object)[0]
  assert.deepEqual(['journal_mode', 'synchronous', 'busy_timeout'].map(pragma), ['wal', 2, 10_000])
})

test('creates no file if SQLite is missing', (t) => {
  const directory = directoryFor(t)
  const entry = new URL('../../../sqlite.js', import.meta.url).href
  const script = `
    import Module from 'node:module'
    const load = Module._load
    Module._load = (name, ...rest) => {
      if (!/sqlite/.test(name)) return load(name, ...rest)
      throw Object.assign(new Error(name), { code: 'MODULE_NOT_FOUND' })
    }
    const { SqliteClaims, SqliteError, SqliteSettlements } = await import(${JSON.stringify(entry)})
    for (const Store of [SqliteClaims, SqliteSettlements]) {
      try {
        new Store(${JSON.stringify(join(directory, 'x.db'))})
      } catch (error) {
        console.log(error instanceof SqliteError, error.code)
      }
    }`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  assert.equal(stdout, 'true sqlite_missing\ntrue sqlite_missing\n', stderr)
  assert.deepEqual(readdirSync(directory), [])
})

test('a file of a later version is refused unchanged', (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  new SqliteSettlements(path).close()
  new SqliteSettlements(path).close()
  const database = Sqlite.open(path)
  database.exec('PRAGMA user_version = 99')
  database.close()
  assert.throws(() => new SqliteSettlements(path), /later version/)
})

/** The table in version 1 of the file. */
const versionOne = `
  CREATE TABLE settlements (transaction_id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('pending', 'settled', 'failed')), network TEXT NOT NULL, payer TEXT NOT NULL,
    pay_to TEXT NOT NULL, asset TEXT NOT NULL, amount TEXT NOT NULL, members TEXT NOT NULL, first_valid TEXT NOT NULL,
    last_valid TEXT NOT NULL, fee_micro_algos TEXT NOT NULL, round TEXT, error_reason TEXT, error_message TEXT,
    created_ms INTEGER NOT NULL) STRICT;
  CREATE INDEX pending_settlements ON settlements (created_ms) WHERE state = 'pending';
  INSERT INTO settlements VALUES ('OLD', 'pending', 'n', 'P', 'S', '1', '2', '["AQ=="]', '1', '2', '2000', NULL, NULL, NULL, 5);
  PRAGMA user_version = 1;`

test('migrates a file of the first version, whose settlements have no claimant', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const database = Sqlite.open(path)
  database.exec(versionOne)
  database.close()
  for (let time = 0; time < 2; time++) {
    const store = new SqliteSettlements(path)
    const old = store.get('OLD')!
    assert.deepEqual([old.claimant, old.createdMs, old.feeMicroAlgos], [undefined, 5, 2_000n])
    if (time === 0) await store.claim({ ...old, transactionId: 'NEW', claimant: 'gate' }, {})
    assert.equal(store.get('NEW')!.claimant, 'gate')
    store.close()
  }
})

test('errors name the file, the problem and the fix', async (t) => {
  const directory = directoryFor(t)
  const path = join(directory, 'settlements.db')
  const failed = (text: string) => ({ code: 'store_failed', message: `the store ${path}: ${text}`, hint: /./ })
  writeFileSync(path, 'this is a text of more than a hundred bytes. '.repeat(10))
  assert.throws(() => new SqliteSettlements(path), failed('it is not a database'))
  rmSync(path)
  const missing = join(directory, 'missing', 'x.db')
  assert.throws(() => new SqliteSettlements(missing), { code: 'store_failed', message: new RegExp(missing) })
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  const texts = { network: 'n', payer: 'P', payTo: 'S', asset: '1', amount: '1' }
  const rounds = { firstValid: 1n, lastValid: 2n, feeMicroAlgos: 0n, createdMs: 1 }
  const breaker = Sqlite.open(path)
  breaker.exec(`CREATE TRIGGER full BEFORE INSERT ON settlements BEGIN SELECT RAISE(ABORT, 'disk is full'); END`)
  breaker.close()
  const claim = store.claim({ transactionId: 'T', state: 'pending', group: [], ...texts, ...rounds }, {})
  await assert.rejects(claim, { code: 'store_failed', message: new RegExp(path) })
  assert.equal(store.get('T'), undefined)
})

test('names a file that cannot be opened', (t) => {
  // A directory, because root may open every file.
  const path = join(directoryFor(t), 'settlements.db')
  mkdirSync(path)
  assert.throws(() => new SqliteSettlements(path), {
    code: 'store_failed',
    message: `the store ${path}: it is not a file`,
  })
})

test('ping reports whether the file could be written now', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  await store.ping()
  const other = Sqlite.open(path)
  t.after(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const blocked = store.ping()
  await assert.rejects(blocked, /another process holds its lock/)
  other.exec('ROLLBACK')
  await store.ping()
})

test('ping reports a file that can be locked, but not written', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  const other = Sqlite.open(path)
  t.after(() => other.close())
  const tables = other.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]
  for (const { name } of tables) {
    for (const event of ['INSERT', 'UPDATE']) {
      other.exec(`CREATE TRIGGER full_${name}_${event} BEFORE ${event} ON ${name}
        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`)
    }
  }
  await assert.rejects(store.ping(), { code: 'store_failed' })
  await assert.rejects(store.ping(), { code: 'store_failed' }, 'also the next time')
  for (const { name } of tables) {
    for (const event of ['INSERT', 'UPDATE']) other.exec(`DROP TRIGGER full_${name}_${event}`)
  }
  await store.ping()
  const { sum } = other.prepare("SELECT sum(count) AS sum FROM settlement_rates WHERE name = 'ping'").get() as {
    sum: number
  }
  for (let count = 0; count < 5; count++) await store.ping()
  const again = other.prepare("SELECT sum(count) AS sum FROM settlement_rates WHERE name = 'ping'").get() as {
    sum: number
  }
  assert.equal(again.sum, sum, 'does not write with every check')
})

const pendingOne: Settlement = {
  ...{ transactionId: 'ONE', group: [], network: 'n', payer: 'P', payTo: 'S', asset: '1', amount: '1' },
  ...{ firstValid: 1n, lastValid: 2n, feeMicroAlgos: 5n, createdMs: 1 },
  state: 'pending',
}
const settledInFour = { state: 'settled', round: 4n } as const

function refuse(error: unknown): never {
  throw error
}

test('settleSoon is visible in this store immediately, and in others with the next change', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const [store, other] = [new SqliteSettlements(path), new SqliteSettlements(path)]
  t.after(() => store.close())
  t.after(() => other.close())
  const limits = { pendingPerPayer: 1, feesInAll: 9n }
  await store.claim(pendingOne, limits)
  store.settleSoon('ONE', settledInFour, refuse)
  assert.deepEqual([store.get('ONE')!.state, store.get('ONE')!.round], ['settled', 4n])
  assert.equal(other.get('ONE')!.state, 'pending')
  assert.equal((await store.claim(pendingOne, limits)).type, 'known')
  assert.deepEqual([other.get('ONE')!.state, other.get('ONE')!.round], ['settled', 4n])
  // The fee counts once, and the settlement is not pending.
  const free = { payer: 'P', payTo: 'S', feeMicroAlgos: 0n }
  assert.equal(store.check({ ...free, feeMicroAlgos: 4n }, limits), undefined)
  assert.equal(store.check({ ...free, feeMicroAlgos: 5n }, limits), 'feesInAll')
})

test('settleSoon counts against no limit of pending settlements, and is recorded without another change', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const [store, other] = [new SqliteSettlements(path), new SqliteSettlements(path)]
  t.after(() => other.close())
  const limits = { pendingPerPayer: 1, pendingPerPayTo: 1 }
  for (const transactionId of ['ONE', 'TWO', 'THREE']) {
    if (transactionId !== 'TWO') assert.equal(store.check(pendingOne, limits), undefined)
    assert.equal((await store.claim({ ...pendingOne, transactionId }, limits)).type, 'recorded')
    store.settleSoon(transactionId, settledInFour, refuse)
  }
  assert.deepEqual(store.pending(), [])
  await store.claim({ ...pendingOne, transactionId: 'FOUR' }, {})
  store.settleSoon('FOUR', settledInFour, refuse)
  while (other.get('FOUR')!.state === 'pending') await new Promise((resolve) => setTimeout(resolve, 5))
  await store.claim({ ...pendingOne, transactionId: 'FIVE' }, {})
  store.settleSoon('FIVE', settledInFour, refuse)
  // A failure that is found later does not return the fee.
  await store.finish('FIVE', { state: 'failed' })
  assert.equal(store.get('FIVE')!.state, 'settled')
  await store.claim({ ...pendingOne, transactionId: 'SIX' }, {})
  store.settleSoon('SIX', settledInFour, refuse)
  store.close()
  assert.equal(other.get('SIX')!.state, 'settled')
})

test('settleSoon reports a failed write once, retries it, and blocks no claim', async (t) => {
  const path = join(directoryFor(t), 'settlements.db')
  const store = new SqliteSettlements(path)
  t.after(() => store.close())
  const breaker = Sqlite.open(path)
  t.after(() => breaker.close())
  await store.claim(pendingOne, {})
  breaker.exec(`CREATE TRIGGER full BEFORE UPDATE ON settlements BEGIN SELECT RAISE(ABORT, 'disk is full'); END`)
  const errors: unknown[] = []
  store.settleSoon('ONE', settledInFour, (error) => errors.push(error))
  assert.deepEqual(store.pending(), [])
  assert.deepEqual(store.pending(), [])
  assert.match(String(errors), /^StoreError: the store .*$/)
  assert.equal(store.get('ONE')!.state, 'settled')
  assert.equal((await store.claim({ ...pendingOne, transactionId: 'TWO' }, {})).type, 'recorded')
  const stateOnDisk = breaker.prepare("SELECT state FROM settlements WHERE transaction_id = 'ONE'")
  assert.deepEqual({ ...(stateOnDisk.get() as object) }, { state: 'pending' })
  breaker.exec('DROP TRIGGER full')
  while ((stateOnDisk.get() as { state: string }).state === 'pending') await new Promise((r) => setTimeout(r, 20))
  assert.equal(errors.length, 1)
})

test('opens a file that another process completes and closes while it is read', (t) => {
  const [path, made] = ['settlements.db', 'made.db'].map((name) => join(directoryFor(t), name)) as [string, string]
  new SqliteSettlements(made).close()
  const copier = Sqlite.openAny(made)
  copier.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  copier.close()
  const whole = readFileSync(made)
  // The other process has copied only a part of its journal.
  writeFileSync(path, Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096)]))
  let isWhole = false
  const { existsSync } = fs
  t.after(() => syncBuiltinESMExports())
  // The store looks for journals after it has read the file.
  t.mock.method(fs, 'existsSync', (other: string) => {
    if (other === `${path}-wal` && !isWhole) {
      writeFileSync(path, whole)
      isWhole = true
    }
    return existsSync(other)
  })
  syncBuiltinESMExports()
  new SqliteSettlements(path).close()
  t.mock.restoreAll()
  assert.ok(isWhole)
})
