/** Sums that are read from the file in pieces, while other operations change them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DatabaseSync } from '@photostructure/sqlite'
import {
  count,
  type Fixture,
  keyOf,
  limit,
  network,
  openAgents,
  pay,
  rulesOf,
  transfer,
  usdc,
  walletId,
} from './AgentFixture.test.helper.js'

const dayMs = 86_400_000

/** Adds reservations of 1 microAlgo to agent 1, over the last 40 days, while the daemon is stopped. */
function fill(file: string, nowMs: number, records: number): void {
  const database = new DatabaseSync(file)
  database.exec('BEGIN')
  const insert = database.prepare('INSERT INTO reservations VALUES (1, ?, ?, ?, 1, 1, ?, NULL, 1, 0, 0, 0, NULL)')
  const next = database.prepare('SELECT MAX(number) AS last FROM reservations WHERE agent = 1').get() as {
    last: number
  }
  database.exec('DELETE FROM reservations')
  const total = records + (next.last ?? 0)
  for (let at = 0; at < total; at++) {
    const id = Buffer.alloc(32)
    id.writeUInt32BE(at, 0)
    insert.run(at + 1, id, nowMs - 40 * dayMs + Math.floor((at / total) * 40 * dayMs), 100 + at)
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

async function filled(t: Parameters<typeof openAgents>[0], records: number) {
  const first = openAgents(t)
  const limits = [limit('total', 10n ** 12n), limit('30days', 10n ** 12n), count('day', 1_000_000)]
  const { id, token } = await first.create(limits)
  await first.sign(token, pay(1n))
  await first.close()
  fill(first.stateFile, first.clock.nowMs, records)
  return { fixture: openAgents(t, first.directory), id, token, limits }
}

/** What one turn of the event loop reads: rows that reach JavaScript, and rows that SQLite sums. */
type Reading = { rows: number; summed: number }

/** What is read of reservations in each turn of the event loop that reads any, until the work is done. */
async function readings(t: TestContext, { database }: Fixture, work: () => Promise<unknown>): Promise<Reading[]> {
  let [turn, isDone] = [0, false]
  const next = (): void => {
    turn++
    if (!isDone) setImmediate(next)
  }
  setImmediate(next)
  const byTurn = new Map<number, Reading>()
  const note = (rows: number, summed: number): void => {
    const reading = byTurn.get(turn) ?? { rows: 0, summed: 0 }
    byTurn.set(turn, { rows: reading.rows + rows, summed: reading.summed + summed })
  }
  const statement = database.statement.bind(database)
  const mocked = t.mock.method(database, 'statement', (sql: string) => {
    const prepared = statement(sql)
    const [isSum, isRows] = [
      sql.startsWith('SELECT SUM('),
      /^SELECT .*\bat_ms\b.* FROM reservations .*ORDER BY number$/,
    ]
    if (!isSum && !isRows.test(sql)) return prepared
    return {
      setReadBigInts: (isRead: boolean) => prepared.setReadBigInts(isRead),
      get: (agent: number, from: number, to: number, ...rest: string[]) => {
        note(1, to - from)
        return prepared.get(agent, from, to, ...rest)
      },
      all: (...values: number[]) => {
        const rows = prepared.all(...values)
        note(rows.length, 0)
        return rows
      },
    } as unknown as typeof prepared
  })
  await work()
  isDone = true
  mocked.mock.restore()
  return [...byTurn.values()]
}

/** No turn reads much, and few rows reach JavaScript, whatever their number in the file. */
function assertInPieces(turns: readonly Reading[]): void {
  assert.ok(turns.length >= 6, `${turns.length} turns`)
  for (const { rows, summed } of turns) {
    assert.ok(summed <= 10_000, `${summed} rows summed in a turn`)
    assert.ok(rows <= 1_000, `${rows} rows read in a turn`)
  }
  const rows = turns.reduce((sum, turn) => sum + turn.rows, 0)
  assert.ok(rows <= 3_000, `${rows} rows read`)
}

test('the sums for the first signature after a start are read in pieces, and match the file', async (t) => {
  const { fixture, id, token } = await filled(t, 20_000)
  assertInPieces(await readings(t, fixture, () => fixture.sign(token, pay(1n))))
  const [total, month, day] = fixture.agents.budget(id).map(({ used }) => used)
  assert.equal(total, 20_002n)
  assert.ok(month! > 14_900n && month! < 15_100n, `${month}`)
  assert.ok(day! > 450n && day! < 550n, `${day}`)
})

test('a change of rules keeps the sums still needed, and reads others in pieces', async (t) => {
  const { fixture, id, token, limits } = await filled(t, 20_000)
  await fixture.sign(token, pay(1n))
  await fixture.agents.setRules(id, { rules: rulesOf([...limits, limit('week', 10n ** 12n)]) })
  // Its window ends within a block that is not in memory yet.
  const atEdge = await readings(t, fixture, () => fixture.sign(token, pay(1n)))
  assert.ok(atEdge.every(({ rows, summed }) => rows <= 1_000 && summed === 0))
  assert.deepEqual(await readings(t, fixture, () => fixture.sign(token, pay(1n))), [])
  assert.equal(fixture.agents.budget(id)[0]!.used, 20_004n)
  await fixture.agents.setRules(id, { rules: rulesOf([...limits, limit('day', 5n, 77n)]) })
  assertInPieces(await readings(t, fixture, () => fixture.sign(token, pay(1n))))
  assert.equal(fixture.agents.budget(id)[0]!.used, 20_005n)
})

for (const how of ['confirm', 'resume'] as const) {
  test(`the sums for the record of a confirmation are read in pieces: ${how}`, async (t) => {
    const { fixture, id, token } = await filled(t, 20_000)
    await fixture.database.change(() => fixture.agents.suspendAll('the log was replaced'))
    assertInPieces(await readings(t, fixture, () => fixture.agents[how](how === 'confirm' ? walletId : id)))
    await fixture.sign(token, pay(1n))
    assert.equal(fixture.agents.budget(id)[0]!.used, 20_002n)
  })
}

test('each signature after a restart reads few rows as windows move over old reservations', async (t) => {
  const { fixture, id, token } = await filled(t, 20_000)
  await fixture.sign(token, pay(1n))
  const { nowMs } = fixture.clock
  for (const days of [1, 2, 10, 35]) {
    fixture.clock.nowMs = nowMs + days * dayMs
    const turns = await readings(t, fixture, () => fixture.sign(token, pay(1n)))
    const rows = turns.reduce((sum, turn) => sum + turn.rows, 0)
    assert.ok(rows <= 2_000, `${rows} rows after ${days} days`)
  }
  const [total, month] = fixture.agents.budget(id).map(({ used }) => used)
  assert.deepEqual([total, month], [20_006n, 2n])
})

test('a limit on an asset whose sum exceeds 64 bits counts it exactly', async (t) => {
  const fixture = openAgents(t)
  const payees = [1, 2, 3, 4].map(keyOf)
  const { id, token } = await fixture.create(payees.map(({ address }) => limit('day', 2n ** 63n - 1n, usdc, address)))
  for (const { publicKey } of payees) await fixture.sign(token, transfer(2n ** 62n, { arcv: publicKey }))
  await fixture.agents.setRules(id, { rules: rulesOf([limit('day', 100n, usdc)]) })
  await assert.rejects(fixture.sign(token, transfer(100n)), { code: 'agent_limit_exceeded' })
  assert.equal(fixture.agents.budget(id)[0]!.used, 2n ** 64n)
})

test('the budget of an ended agent can be shown while its reservations are deleted', async (t) => {
  const { fixture, id, token } = await filled(t, 3_000)
  await fixture.sign(token, pay(1n))
  await fixture.agents.revoke(id)
  await fixture.agents.tidy()
  fixture.clock.nowMs += 15 * dayMs
  assert.equal(fixture.agents.budget(id).length, 3)
})

test('rules that change while the sums are read apply to the signature', async (t) => {
  const { fixture, id, token } = await filled(t, 20_000)
  const signing = fixture.sign(token, pay(1n))
  const refused = assert.rejects(signing, { code: 'agent_limit_exceeded' })
  await new Promise((resolve) => setImmediate(resolve))
  await fixture.agents.setRules(id, { rules: rulesOf([limit('total', 20_001n)]) })
  await refused
})

test('signatures that wait for the same sums all count, once each', async (t) => {
  const { fixture, id, token } = await filled(t, 5_000)
  await Promise.all(Array.from({ length: 20 }, () => fixture.sign(token, pay(1n))))
  assert.equal(fixture.agents.budget(id)[0]!.used, 5_021n)
})

test('reservations returned while the sums are read are not counted', async (t) => {
  const { fixture, id, token } = await filled(t, 20_000)
  const { spending } = fixture.agents
  const stored = fixture.agents.live[0]!
  const over = spending.over(stored.number, { network, lastValid: 10n ** 9n, after: 0, count: 400 })
  assert.equal(over.length, 400)
  const signing = fixture.sign(token, pay(1n))
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  await spending.giveBack(stored, over)
  await signing
  assert.equal(fixture.agents.budget(id)[0]!.used, 20_002n - 400n)
})

test('reservations of an ended agent are deleted except the last, and the agent can still be shown', async (t) => {
  const { fixture, id } = await filled(t, 3_000)
  const { agents, clock } = fixture
  const other = await fixture.create([limit('day', 1_000n)], { name: 'other' })
  await fixture.sign(other.token, pay(1n))
  await agents.revoke(id)
  const lastUsedAtMs = agents.find(id).lastUsedAtMs
  await agents.tidy()
  const rows = fixture.database.statement('SELECT agent, COUNT(*) AS rows FROM reservations GROUP BY agent').all()
  assert.deepEqual(
    rows.map((row) => Object.values(row as object)),
    [
      [1, 1],
      [2, 1],
    ],
  )
  assert.equal(agents.find(id).lastUsedAtMs, lastUsedAtMs)
  assert.ok(lastUsedAtMs! <= clock.nowMs)
  assert.equal(agents.budget(id).length, 3)
  assert.equal(agents.budget(other.id)[0]!.used, 1n)
})
