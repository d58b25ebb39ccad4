import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Sqlite from '@latchkey/system/sqlite'
import { openState, type State } from '../state/openState.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import {
  type AuditEvent,
  ChainCheck,
  canonical,
  type Head,
  maxRecordBytes,
  type Problem,
  parse,
  type Row,
} from './AuditChain.js'
import { HeadCopy } from './AuditLog.js'

const event = (wallet: string): AuditEvent => ({ event: 'wallet_unlocked', actor: { type: 'owner' }, wallet })

function open(t: TestContext, directory: string, now?: () => number): State {
  const state = openState({ directory, now })
  t.after(() => state.close())
  return state
}

function rowsOf(directory: string): (Row & { number: number; at_ms: number; text: string })[] {
  const database = Sqlite.open(join(directory, 'latchkey_state.db'))
  try {
    const sql = 'SELECT number, at_ms, previous, CAST(record AS BLOB) AS record, record AS text, hash, agent FROM audit'
    return database.prepare(`${sql} ORDER BY number`).all() as ReturnType<typeof rowsOf>
  } finally {
    Sqlite.close(database)
  }
}

function check(directory: string): Problem | undefined {
  const chain = new ChainCheck()
  for (const row of rowsOf(directory)) {
    const problem = chain.add(row)
    if (problem !== undefined) return problem
  }
  return chain.end()
}

const events = (directory: string): (string | undefined)[] => rowsOf(directory).map(({ text }) => parse(text)?.event)

test('no file is created before the first record', async (t) => {
  const directory = temporaryDirectory(t)
  const { audit } = open(t, directory)
  assert.equal(audit.head().number, 0)
  assert.deepEqual(readdirSync(directory), [])
  await audit.record(event('one'))
  assert.deepEqual(readdirSync(directory).sort(), [
    ...['latchkey_audit.head', 'latchkey_state.db', 'latchkey_state.db-shm', 'latchkey_state.db-wal'],
  ])
  for (const file of readdirSync(directory)) assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600, file)
})

test('records of any number of transactions are one chain, even after a restart', async (t) => {
  const directory = temporaryDirectory(t)
  const first = open(t, directory)
  await Promise.all(['a', 'b', 'c'].map((wallet) => first.audit.record(event(wallet))))
  await first.audit.record(event('d'))
  first.close()
  const second = open(t, directory)
  await second.audit.record(event('e'))
  assert.equal(check(directory), undefined)
  assert.deepEqual(
    rowsOf(directory).map(({ number, text }) => [number, parse(text)!.wallet]),
    ['a', 'b', 'c', 'd', 'e'].map((wallet, index) => [index + 1, wallet]),
  )
  assert.equal(second.audit.head().number, 5)
})

test('a transaction that was rolled back leaves no trace in the chain', async (t) => {
  const directory = temporaryDirectory(t)
  const { audit, database } = open(t, directory)
  await audit.record(event('one'))
  const failing = database.change(() => {
    audit.append(event('lost'))
    database.statement('INSERT INTO audit_head (id, number, hash) VALUES (2, 1, zeroblob(32))').run()
  })
  await assert.rejects(failing, { code: 'state_not_written' })
  await audit.record(event('two'))
  assert.equal(check(directory), undefined)
  assert.deepEqual(
    rowsOf(directory).map(({ text }) => parse(text)!.wallet),
    ['one', 'two'],
  )
})

test('the time of the log stands still while the clock is set back', async (t) => {
  const directory = temporaryDirectory(t)
  let nowMs = 5_000
  const first = open(t, directory, () => nowMs)
  await first.audit.record(event('one'))
  nowMs = 1_000
  await first.audit.record(event('two'))
  first.close()
  const { audit } = open(t, directory, () => nowMs)
  await audit.record(event('three'))
  nowMs = 6_000
  await audit.record(event('four'))
  assert.deepEqual(
    rowsOf(directory).map(({ at_ms }) => at_ms),
    [5_000, 5_000, 5_000, 6_000],
  )
})

test('untrusted texts are bounded, and a record is read back as hashed', async (t) => {
  const directory = temporaryDirectory(t)
  const { audit } = open(t, directory)
  const long = Array.from({ length: 100 }, () => '\u20ac'.repeat(5_000))
  const detail = { claimed_url: 'x'.repeat(5_000), half: 'a\ud800b', zero: '\0"\\' }
  await audit.record({ event: 'signature_refused', actor: { type: 'agent', id: 'i', name: 'n'.repeat(9_999) }, detail })
  await audit.record({
    ...event('w'),
    detail: Object.fromEntries(long.map((text, index) => [`m${index}`, [text, text, ...long]])),
  })
  assert.equal(check(directory), undefined)
  const [bounded, cut] = rowsOf(directory).map(({ text }) => text)
  assert.ok(Buffer.byteLength(bounded!) <= maxRecordBytes && Buffer.byteLength(cut!) < 1_000)
  assert.equal(canonical(parse(bounded!)!), bounded)
  const read = JSON.parse(bounded!)
  assert.deepEqual([read.detail.claimed_url.length, read.detail.half], [1024, 'a\ufffdb'])
})

test('records missing at the end when the daemon starts are recorded as missing', async (t) => {
  const damages: [name: string, damage: (directory: string) => void][] = [
    [
      'it ends with record 3, but the table audit_head names record 5',
      (directory) => sql(directory, 'DELETE FROM audit WHERE number > 3'),
    ],
    [
      'it ends with record 3, but its copy of the head names record 5',
      (directory) => {
        sql(directory, 'DELETE FROM audit WHERE number > 3')
        sql(directory, 'UPDATE audit_head SET number = 3, hash = (SELECT hash FROM audit WHERE number = 3)')
      },
    ],
    ['its copy of the head is missing', (directory) => rmSync(join(directory, HeadCopy.fileName))],
    ['its copy of the head is damaged', (directory) => writeFileSync(join(directory, HeadCopy.fileName), 'nothing')],
    [
      'it ends with record 0, but its copy of the head names record 5',
      (directory) => rmSync(join(directory, 'latchkey_state.db')),
    ],
  ]
  for (const [reason, damage] of damages) {
    const directory = temporaryDirectory(t)
    const first = open(t, directory)
    for (const wallet of ['a', 'b', 'c', 'd', 'e']) await first.audit.record(event(wallet))
    first.close()
    damage(directory)
    const { audit } = open(t, directory)
    await audit.record(event('f'))
    await audit.record(event('g'))
    assert.deepEqual(events(directory).slice(-3), ['log_damaged', 'wallet_unlocked', 'wallet_unlocked'])
    const problem = check(directory)
    assert.equal(problem?.type, 'damage_recorded')
    assert.ok(problem.message.includes(reason), problem.message)
  }
})

test('a copy of the head that is older than the log is updated silently', async (t) => {
  const directory = temporaryDirectory(t)
  const first = open(t, directory)
  await first.audit.record(event('a'))
  const { hash } = first.audit.head()
  await first.audit.record(event('b'))
  first.close()
  new HeadCopy(join(directory, HeadCopy.fileName)).create({ number: 1, hash })
  const { audit } = open(t, directory)
  await audit.record(event('c'))
  assert.equal(check(directory), undefined)
  const { number, hash: last } = audit.head()
  assert.deepEqual(HeadCopy.read(join(directory, HeadCopy.fileName)), { number, hash: Buffer.from(last) })
})

test('a torn write of the copy leaves the previous one', async (t) => {
  const directory = temporaryDirectory(t)
  const file = join(directory, HeadCopy.fileName)
  assert.equal(HeadCopy.read(file), 'missing')
  const copy = new HeadCopy(file)
  const head = (number: number) => ({ number, hash: Buffer.alloc(32, number) })
  copy.create(head(1))
  for (let number = 2; number < 10; number++) {
    copy.write(head(number))
    assert.equal((HeadCopy.read(file) as Head).number, number)
  }
  copy.close()
  const bytes = readFileSync(file)
  for (let at = 0; at < 256; at++) {
    const torn = Buffer.from(bytes)
    // The ninth write is in the first slot.
    torn.fill(0, 0, at + 1)
    writeFileSync(file, torn)
    const read = HeadCopy.read(file)
    assert.notEqual(read, 'damaged')
    assert.equal((read as Head).number, 8)
  }
})

function sql(directory: string, statement: string): void {
  const database = Sqlite.open(join(directory, 'latchkey_state.db'))
  database.exec(statement)
  Sqlite.close(database)
}

test('a log in a directory that is not writable is not reported as damaged', async (t) => {
  const directory = temporaryDirectory(t)
  const { audit, close } = openState({ directory })
  await audit.record(event('one'))
  await close()
  const copy = temporaryDirectory(t)
  for (const name of ['latchkey_state.db', 'latchkey_audit.head']) {
    writeFileSync(join(copy, name), readFileSync(join(directory, name)), { mode: 0o444 })
  }
  chmodSync(copy, 0o555)
  const program = `
    import * as Sqlite from '@latchkey/system/sqlite'
    import { AuditFile } from ${JSON.stringify(new URL('./AuditFile.js', import.meta.url).href)}
    // Loads SQLite while it can be read: another user cannot enter a clone below /root.
    Sqlite.close(Sqlite.open(':memory:'))
    // Root may write anywhere.
    if (process.geteuid() === 0) process.seteuid(65534)
    const file = AuditFile.open(${JSON.stringify(copy)})
    console.log((await file.verify()).problem)`
  const opened = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  chmodSync(copy, 0o700)
  assert.match(opened.stderr, /readonly database|unable to open/)
  assert.equal(opened.stdout, '')
})
