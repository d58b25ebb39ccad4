/** Every edit of the log is detected: 1,000 random ones, and, with an anchor, even the replacement of the whole log. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import * as Sqlite from '@latchkey/system/sqlite'
import { openState } from '../state/openState.js'
import { fuzzRuns, temporaryDirectory } from '../testing/TestApp.test.helper.js'
import * as AnchorNote from './AnchorNote.js'
import { type AuditEvent, type Head, hashOf, type Problem } from './AuditChain.js'
import { AuditFile } from './AuditFile.js'
import { HeadCopy } from './AuditLog.js'
import type { LogReader } from './searchLog.js'
import { verifyLog } from './verifyLog.js'

const databaseName = 'latchkey_state.db'
const records = 40

/** The same numbers in every run. A failure names its seed. */
function random(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 12_345
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

function eventOf(index: number): AuditEvent {
  const actor =
    index % 3 === 0
      ? ({ type: 'agent', id: `agent${index % 2}`, name: 'shopper' } as const)
      : ({ type: 'owner' } as const)
  return {
    event: 'transaction_signed',
    actor,
    wallet: `wallet${index % 5}`,
    detail: { amount: `${index * 7}`, text: 'größer €' },
  }
}

/** A closed log. `running` has its files as they were while it was open. */
async function makeLog(t: TestContext, change = 0): Promise<{ directory: string; anchor: Head; running: Files }> {
  const directory = temporaryDirectory(t)
  const { audit, close } = openState({ directory, now: () => 1_000_000 + change })
  for (let index = 0; index < records - 2; index++) await audit.record(eventOf(index))
  const anchor = { ...audit.head() }
  const { number, hash } = AnchorNote.read(AnchorNote.write(anchor))!
  const detail = { number: `${number}`, hash: Buffer.from(hash).toString('hex'), network: 'n', round: '7' }
  await audit.record({ event: 'log_anchored', actor: { type: 'owner' }, transaction: 'T', address: 'A', detail })
  await audit.record(eventOf(records))
  const running = filesOf(directory, [databaseName, `${databaseName}-wal`])
  await close()
  return { directory, anchor, running }
}

type Files = ReadonlyMap<string, Buffer>

function filesOf(directory: string, names: readonly string[]): Files {
  return new Map([...names, HeadCopy.fileName].map((name) => [name, readFileSync(join(directory, name))]))
}

async function verifyDirectory(directory: string, anchors: readonly Head[] = []): Promise<Problem | undefined> {
  const file = AuditFile.open(directory)
  try {
    const checkpoints = anchors.map((anchor) => ({ ...anchor, source: 'the anchor' }))
    return (await file.verify({ checkpoints })).problem
  } finally {
    file.close()
  }
}

type Database = Sqlite.Database
type Row = {
  number: number
  at_ms: number
  previous: Uint8Array
  record: string
  hash: Uint8Array
  agent: string | null
}

const rowAt = (database: Database, number: number): Row =>
  database.prepare('SELECT * FROM audit WHERE number = ?').get(number) as Row

function insert(database: Database, row: Row): void {
  database
    .prepare('INSERT INTO audit (number, at_ms, previous, record, hash, agent) VALUES (?, ?, ?, ?, ?, ?)')
    .run(row.number, row.at_ms, row.previous, row.record, row.hash, row.agent)
}

/** Relinks the rows from `from` on, as an attacker who can compute hashes would. */
function relink(database: Database, from: number): void {
  const rows = database.prepare('SELECT * FROM audit WHERE number >= ? ORDER BY number').all(from) as Row[]
  let previous = from === 1 ? new Uint8Array(32) : rowAt(database, from - 1).hash
  for (const { number, at_ms: atMs, record } of rows) {
    const hash = hashOf({ number, atMs, previous, record })
    database.prepare('UPDATE audit SET previous = ?, hash = ? WHERE number = ?').run(previous, hash, number)
    previous = hash
  }
  noteHead(database)
}

function noteHead(database: Database): void {
  database.exec(
    'DELETE FROM audit_head; INSERT INTO audit_head SELECT 1, number, hash FROM audit ORDER BY number DESC LIMIT 1',
  )
}

function flipped(bytes: Uint8Array, pick: (below: number) => number): Buffer {
  const changed = Buffer.from(bytes)
  const at = pick(changed.length)
  changed[at] = changed[at]! ^ (1 << pick(8))
  return changed
}

type Edit = (database: Database, pick: (below: number) => number) => void

const any = (pick: (below: number) => number): number => 1 + pick(records)

const edits: { readonly [name: string]: Edit } = {
  'a bit of the text': (database, pick) => {
    const number = any(pick)
    const text = flipped(Buffer.from(rowAt(database, number).record), pick)
    database.prepare('UPDATE audit SET record = CAST(? AS TEXT) WHERE number = ?').run(text, number)
  },
  'a bit of the hash': (database, pick) => {
    const number = any(pick)
    database
      .prepare('UPDATE audit SET hash = ? WHERE number = ?')
      .run(flipped(rowAt(database, number).hash, pick), number)
  },
  'a bit of the hash before': (database, pick) => {
    const number = any(pick)
    const previous = flipped(rowAt(database, number).previous, pick)
    database.prepare('UPDATE audit SET previous = ? WHERE number = ?').run(previous, number)
  },
  'the time': (database, pick) => {
    const by = (pick(2) === 0 ? 1 : -1) * (1 + pick(1_000_000))
    database.prepare('UPDATE audit SET at_ms = at_ms + ? WHERE number = ?').run(by, any(pick))
  },
  'a time that is no number of a clock': (database, pick) => {
    database
      .prepare(`UPDATE audit SET at_ms = ${pick(2) === 0 ? '-5' : '9223372036854775807'} WHERE number = ?`)
      .run(any(pick))
  },
  'the number': (database, pick) => {
    database.prepare('UPDATE audit SET number = ? WHERE number = ?').run(records + 1 + pick(100), any(pick))
  },
  'the agent that it is filed under': (database, pick) => {
    const number = any(pick)
    const agent = rowAt(database, number).agent === null ? 'agent0' : null
    database.prepare('UPDATE audit SET agent = ? WHERE number = ?').run(agent, number)
  },
  'a line taken away': (database, pick) => void database.prepare('DELETE FROM audit WHERE number = ?').run(any(pick)),
  'a line taken away, and the others moved up': (database, pick) => {
    const number = 1 + pick(records - 1)
    database.prepare('DELETE FROM audit WHERE number = ?').run(number)
    for (let next = number + 1; next <= records; next++) {
      database.prepare('UPDATE audit SET number = ? WHERE number = ?').run(next - 1, next)
    }
    noteHead(database)
  },
  "two lines in each other's place": (database, pick) => {
    const first = any(pick)
    const second = 1 + ((first + pick(records - 1)) % records)
    database.prepare('UPDATE audit SET number = -1 WHERE number = ?').run(first)
    database.prepare('UPDATE audit SET number = ? WHERE number = ?').run(first, second)
    database.prepare('UPDATE audit SET number = ? WHERE number = -1').run(second)
  },
  'a line inserted': (database, pick) => {
    const number = any(pick)
    const copy = rowAt(database, any(pick))
    for (let next = records; next >= number; next--) {
      database.prepare('UPDATE audit SET number = ? WHERE number = ?').run(next + 1, next)
    }
    insert(database, { ...copy, number })
  },
  'a line added at the end, or before the first': (database, pick) => {
    const last = rowAt(database, records)
    const number = pick(2) === 0 ? records + 1 : -pick(2)
    const hash = hashOf({ number: Math.max(0, number), atMs: last.at_ms, previous: last.hash, record: last.record })
    insert(database, { ...last, number, previous: last.hash, hash })
  },
  'the end cut off': (database, pick) => void database.prepare('DELETE FROM audit WHERE number > ?').run(pick(records)),
  'the end cut off, and the head with it': (database, pick) => {
    database.prepare('DELETE FROM audit WHERE number > ?').run(pick(records))
    noteHead(database)
  },
  'the end replaced, with the right hashes': (database, pick) => {
    const number = any(pick)
    database.prepare("UPDATE audit SET record = replace(record, 'wallet', 'Wallet') WHERE number = ?").run(number)
    database
      .prepare("UPDATE audit SET record = replace(record, 'log_anchored', 'key_exported') WHERE number = ?")
      .run(number)
    relink(database, number)
  },
  'a line replaced, with its right hash': (database, pick) => {
    const { number, at_ms: atMs, previous, record } = rowAt(database, any(pick))
    const changed = record.replace('"wallet', '"Wallet').replace('log_anchored', 'key_exported')
    const hash = hashOf({ number, atMs, previous, record: changed })
    database.prepare('UPDATE audit SET record = ?, hash = ? WHERE number = ?').run(changed, hash, number)
  },
  'the note of the head': (database, pick) => {
    if (pick(2) === 0) database.prepare('UPDATE audit_head SET number = ?').run(pick(records))
    else database.prepare('UPDATE audit_head SET hash = ?').run(flipped(rowAt(database, records).hash, pick))
  },
  'the note of the head taken away': (database) => database.exec('DELETE FROM audit_head'),
  'a view in the place of the table': (database) => {
    database.exec(
      'DROP TABLE audit; CREATE VIEW audit AS WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n) SELECT number, 0 AS at_ms, zeroblob(32) AS previous, 1 AS record, zeroblob(32) AS hash, NULL AS agent FROM n',
    )
  },
}

test('1,000 random edits of the rows are all detected', async (t) => {
  const { directory } = await makeLog(t)
  assert.equal(await verifyDirectory(directory), undefined)
  const copy = HeadCopy.read(join(directory, HeadCopy.fileName))
  const database = Sqlite.open(join(directory, databaseName))
  t.after(() => Sqlite.close(database))
  // Without cached prepared statements, which would keep the table that an edit drops.
  const reader: LogReader = { statement: (sql) => database.prepare(sql) }
  const found = new Map<string, number>()
  const names = Object.keys(edits)
  for (let run = 0; run < fuzzRuns(800); run++) {
    const pick = random(run)
    const name = names[run % names.length]!
    database.exec('BEGIN')
    edits[name]!(database, pick)
    const { problem } = await verifyLog(reader, { copy })
    database.exec('ROLLBACK')
    assert.ok(problem !== undefined, `run ${run}: ${name} was not found`)
    found.set(problem.type, (found.get(problem.type) ?? 0) + 1)
  }
  assert.equal((await verifyLog(reader, { copy })).problem, undefined)
  for (const type of ['altered', 'missing', 'broken_link', 'truncated', 'replaced', 'unreadable'])
    assert.ok(found.has(type), type)
})

function write(directory: string, files: Files): string {
  mkdirSync(directory)
  for (const [name, bytes] of files) writeFileSync(join(directory, name), bytes)
  return directory
}

test('flipped bits and truncations of the files themselves are detected', async (t) => {
  const { directory, running } = await makeLog(t)
  const closed = filesOf(directory, [databaseName])
  const broken = temporaryDirectory(t)
  const texts = Array.from({ length: records - 3 }, (_, index) => `"amount":"${index * 7}"`)
  for (const isInDatabase of [false, true]) {
    // A closed log is entirely in the database, an open one in its write-ahead log.
    const files = isInDatabase ? closed : running
    assert.equal(await verifyDirectory(write(join(broken, `${isInDatabase}`), files)), undefined)
    const name = isInDatabase ? databaseName : `${databaseName}-wal`
    for (let run = 0; run < 40; run++) {
      const pick = random(run + 5_000)
      const changed = Buffer.from(files.get(name)!)
      const text = texts[pick(texts.length)]!
      const at = changed.indexOf(text) + pick(text.length)
      assert.ok(at >= text.length)
      changed[at] = changed[at]! ^ (1 << pick(8))
      const kept = pick(4) === 0 ? files.get(name)!.subarray(0, at) : changed
      const target = write(join(broken, `${isInDatabase} ${run}`), new Map([...files, [name, kept]]))
      const problem = await verifyDirectory(target).catch((error: Error) => error)
      assert.ok(problem !== undefined, `run ${run} in ${name}`)
      // Garbage-collected statements release their files in a later turn of the event loop.
      await setImmediate()
    }
  }
})

test('the copy of the head is compared, and its absence is detected', async (t) => {
  const { directory } = await makeLog(t)
  const file = join(directory, HeadCopy.fileName)
  writeFileSync(file, 'nothing')
  assert.equal((await verifyDirectory(directory))?.type, 'truncated')
  new HeadCopy(file).create({ number: records, hash: new Uint8Array(32).fill(1) })
  assert.equal((await verifyDirectory(directory))?.type, 'replaced')
  new HeadCopy(file).create({ number: records + 1, hash: new Uint8Array(32).fill(1) })
  assert.equal((await verifyDirectory(directory))?.type, 'truncated')
})

test('with an anchor, even the replacement of the whole log is detected', async (t) => {
  const { anchor } = await makeLog(t)
  const other = await makeLog(t, 1)
  assert.equal(await verifyDirectory(other.directory), undefined, 'every hash of it is right')
  assert.deepEqual(
    [(await verifyDirectory(other.directory, [anchor]))?.type, await verifyDirectory(other.directory, [other.anchor])],
    ['replaced', undefined],
  )
  for (let run = 0; run < 50; run++) {
    const pick = random(run + 9_000)
    const { directory } = run % 10 === 0 ? await makeLog(t) : other
    const database = Sqlite.open(join(directory, databaseName))
    const number = 1 + pick(anchor.number)
    database.exec('BEGIN')
    database.prepare("UPDATE audit SET record = replace(record, 'amount', 'Amount') WHERE number = ?").run(number)
    relink(database, number)
    const reader: LogReader = { statement: (sql) => database.prepare(sql) }
    const last = rowAt(database, records)
    // The log's own anchor is made to match as well.
    const own = rowAt(database, anchor.number)
    const anchored = rowAt(database, records - 1).record.replace(
      /"hash":"[0-9a-f]{64}"/,
      `"hash":"${Buffer.from(own.hash).toString('hex')}"`,
    )
    database.prepare('UPDATE audit SET record = ? WHERE number = ?').run(anchored, records - 1)
    relink(database, records - 1)
    const copy = { number: records, hash: rowAt(database, records).hash }
    assert.notDeepEqual(copy.hash, last.hash)
    assert.equal((await verifyLog(reader, { copy })).problem, undefined, `run ${run}: all of it agrees`)
    const checkpoints = [{ ...anchor, source: 'the anchor' }]
    assert.equal((await verifyLog(reader, { copy, checkpoints })).problem?.type, 'replaced', `run ${run}`)
    database.exec('ROLLBACK')
    Sqlite.close(database)
  }
})
