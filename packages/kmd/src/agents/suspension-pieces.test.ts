/** Suspending and confirming many agents takes many turns of the event loop, and a crash between two of them is safe. */
import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { HeadCopy } from '../audit/AuditLog.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { type Fixture, limit, openAgents, pay, walletId } from './AgentFixture.test.helper.js'

const agentCount = 90
const mostPerTurn = 20
const suspended = { code: 'agent_suspended' } as const

/** Agents whose log has lost its copy of the head, so that they are suspended at the next start. */
async function damaged(t: TestContext): Promise<{ directory: string; tokens: readonly string[] }> {
  const { create, close, directory } = openAgents(t)
  const names = Array.from({ length: agentCount }, (_, index) => `agent ${index}`)
  const granted = await Promise.all(names.map((name) => create([limit('total', 100n)], { name })))
  await close()
  rmSync(join(directory, HeadCopy.fileName))
  return { directory, tokens: granted.map(({ token }) => token) }
}

type Counted = { readonly mostPerTurn: number; readonly turns: number; readonly records: number }

/** Counts the audit records that are written in one turn of the event loop until the work is done. */
async function countRecords(t: TestContext, { database }: Fixture, work: () => Promise<unknown>): Promise<Counted> {
  let [turn, isDone] = [0, false]
  const next = (): void => {
    turn++
    if (!isDone) setImmediate(next)
  }
  setImmediate(next)
  const perTurn = new Map<number, number>()
  const statement = database.statement.bind(database)
  const mocked = t.mock.method(database, 'statement', (sql: string) => {
    if (sql.startsWith('INSERT INTO audit (')) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
    return statement(sql)
  })
  await work()
  isDone = true
  mocked.mock.restore()
  const counts = [...perTurn.values()]
  return { mostPerTurn: Math.max(...counts), turns: counts.length, records: counts.reduce((sum, one) => sum + one, 0) }
}

function copyOf(t: TestContext, directory: string): string {
  const copy = temporaryDirectory(t)
  cpSync(directory, copy, { recursive: true })
  return copy
}

function states({ agents }: Fixture): { [state: string]: number } {
  const counts: { [state: string]: number } = {}
  for (const { state } of agents.list()) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

async function countEvents({ audit }: Fixture, event: 'log_damaged' | 'agent_suspended'): Promise<number> {
  return (await audit.search({ afterNumber: 0, count: 1_000, events: [event] })).records.length
}

test('a suspension and a confirmation write a few records per turn', async (t) => {
  const { directory, tokens } = await damaged(t)
  const state = openAgents(t, directory)
  const suspension = await countRecords(t, state, () => state.check())
  assert.equal(suspension.records, agentCount + 1, 'one for each agent, and one for the damage')
  assert.ok(suspension.mostPerTurn <= mostPerTurn, `${suspension.mostPerTurn} records in a turn`)
  assert.deepEqual(states(state), { suspended: agentCount })
  const confirmation = await countRecords(t, state, () => state.agents.confirm(walletId))
  assert.equal(confirmation.records, agentCount)
  assert.ok(confirmation.mostPerTurn <= mostPerTurn, `${confirmation.mostPerTurn} records in a turn`)
  assert.deepEqual(states(state), { active: agentCount })
  await state.sign(tokens.at(-1)!, pay(1n))
})

test('every agent is suspended from the first turn of a suspension on', async (t) => {
  const { directory, tokens } = await damaged(t)
  const state = openAgents(t, directory)
  const checking = state.check()
  while (!state.audit.isCompared) await nextTurn()
  assert.deepEqual(states(state), { suspended: agentCount })
  for (const token of [tokens[0]!, tokens.at(-1)!]) await assert.rejects(state.sign(token, pay(1n)), suspended)
  await checking
  assert.equal(await countEvents(state, 'agent_suspended'), agentCount)
})

test('a daemon killed during a suspension suspends all agents at its next start', async (t) => {
  const { directory, tokens } = await damaged(t)
  const killed = openAgents(t, directory)
  const checking = killed.check()
  while (!killed.audit.isCompared) await nextTurn()
  const next = openAgents(t, copyOf(t, directory))
  await checking
  await assert.rejects(next.sign(tokens[0]!, pay(1n)), suspended)
  assert.deepEqual(states(next), { suspended: agentCount })
  assert.deepEqual(
    [await countEvents(next, 'log_damaged'), await countEvents(next, 'agent_suspended')],
    [1, agentCount],
    'nothing is left of the first suspension',
  )
})

test('a daemon killed during a confirmation leaves the other agents suspended', async (t) => {
  const { directory, tokens } = await damaged(t)
  const killed = openAgents(t, directory)
  await killed.check()
  const confirming = killed.agents.confirm(walletId)
  while (states(killed)['active'] === undefined) await nextTurn()
  const copies: string[] = []
  killed.database.listen({ onCommit: () => copies.push(copyOf(t, directory)) })
  await confirming
  const next = openAgents(t, copies[1]!)
  const { active = 0, suspended: left = 0 } = states(next)
  assert.ok(active > 0 && left > 0, `${active} active, ${left} suspended`)
  assert.equal(active + left, agentCount)
  await assert.rejects(next.sign(tokens.at(-1)!, pay(1n)), suspended)
  await next.agents.confirm(walletId)
  await next.sign(tokens.at(-1)!, pay(1n))
})

test('a suspension during a confirmation is not confirmed with it', async (t) => {
  const { directory, tokens } = await damaged(t)
  const state = openAgents(t, directory)
  await state.check()
  const confirming = state.agents.confirm(walletId)
  while (states(state)['active'] === undefined) await nextTurn()
  await state.database.change(() => state.agents.suspendAll('the log was replaced again'))
  await confirming
  assert.deepEqual(states(state), { suspended: agentCount })
  await assert.rejects(state.sign(tokens[0]!, pay(1n)), suspended)
})
