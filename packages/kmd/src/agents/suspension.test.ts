/** A state database that was rolled back or damaged does not restore agents' budgets: the agents wait for the owner. */
import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HeadCopy } from '../audit/AuditLog.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { type Fixture, limit, openAgents, pay, walletId } from './AgentFixture.test.helper.js'

type Rolled = { directory: string; token: string; id: string; backup: string }

const head = HeadCopy.fileName

/** An agent with a limit of 100 that had spent 50 when the backup was made, and 100 when the daemon ended. */
async function rollBack(t: TestContext, { restored = ['latchkey_state.db'] } = {}): Promise<Rolled> {
  const first = openAgents(t)
  const { id, token } = await first.create([limit('total', 100n)])
  await first.sign(token, pay(50n))
  await first.close()
  const { directory } = first
  const backup = temporaryDirectory(t)
  cpSync(directory, backup, { recursive: true })
  const second = openAgents(t, directory)
  await second.sign(token, pay(50n))
  await second.close()
  for (const name of restored) restore(backup, directory, name)
  return { directory, token, id, backup }
}

function restore(from: string, to: string, name: string): void {
  for (const end of ['-wal', '-shm']) rmSync(join(to, `${name}${end}`), { force: true })
  if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name))
}

async function eventsOf({ audit }: Fixture): Promise<string[]> {
  return (await audit.search({ afterNumber: 0, count: 1_000 })).records.map(({ event }) => event)
}

const suspended = { code: 'agent_suspended', status: 403 } as const

test('an older state database suspends agents until the owner confirms, even across restarts', async (t) => {
  const { directory, token, id } = await rollBack(t)
  const state = openAgents(t, directory)
  await assert.rejects(state.sign(token, pay(50n)), suspended)
  assert.deepEqual((await eventsOf(state)).slice(2), ['log_damaged', 'agent_suspended'])
  assert.equal(state.agents.find(id).state, 'suspended')
  assert.match(
    state.agents.find(id).suspendedReason ?? '',
    /it ends with record 2, but its copy of the head names record 3/,
  )
  assert.equal(state.agents.budget(id)[0]!.used, 50n, 'nothing was counted')
  await state.close()

  const again = openAgents(t, directory)
  await assert.rejects(again.sign(token, pay(50n)), suspended)
  assert.equal((await eventsOf(again)).filter((event) => event === 'log_damaged').length, 1)
  const confirmed = await again.agents.confirm(walletId)
  assert.deepEqual(
    confirmed.map((agent) => [agent.id, agent.state, agent.suspendedReason]),
    [[id, 'active', undefined]],
  )
  await again.sign(token, pay(50n))
  await assert.rejects(again.sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
  await again.close()

  const last = openAgents(t, directory)
  await assert.rejects(last.sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
  const { records } = await last.audit.search({ count: 1, events: ['agent_confirmed'] })
  assert.deepEqual(records[0]?.detail?.['used'], ['0.00005 ALGO of 0.0001 ALGO/total'])
})

test('the owner is notified at the start, before any agent sends a request', async (t) => {
  const { directory, id } = await rollBack(t)
  const reasons: string[] = []
  const state = openAgents(t, directory, { onDamage: (reason) => reasons.push(reason) })
  await state.check()
  assert.equal(state.agents.find(id).state, 'suspended')
  assert.equal(reasons.length, 1)
})

test('a request in the same commit as the discovery is not signed', async (t) => {
  const { directory, token } = await rollBack(t)
  const state = openAgents(t, directory)
  const { audit, sign } = state
  const results = await Promise.allSettled([
    sign(token, pay(1n)),
    audit.record({ event: 'console_opened', actor: { type: 'console' } }),
    sign(token, pay(1n)),
  ])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? 'done' : (result.reason as { code: string }).code)),
    ['agent_suspended', 'done', 'agent_suspended'],
  )
  assert.equal((await eventsOf(state)).includes('transaction_signed', 2), false)
})

test('damage found while the record of a signature is written prevents the signature', async (t) => {
  const first = openAgents(t)
  const { token } = await first.create([limit('total', 100n)])
  await first.sign(token, pay(1n))
  // Like after a failed sync: the file is reopened and differs.
  new HeadCopy(join(first.directory, head)).create({ number: 99, hash: Buffer.alloc(32) })
  const blocked = first.database.change(() => first.audit.forgetHead())
  const signing = first.sign(token, pay(1n))
  await blocked
  await assert.rejects(signing, suspended)
})

test('a missing or damaged copy of the head also suspends agents', async (t) => {
  for (const change of ['missing', 'damaged'] as const) {
    const { directory, token } = await rollBack(t)
    rmSync(join(directory, head))
    if (change === 'damaged') copyFileSync(join(directory, 'latchkey_state.db'), join(directory, head))
    const state = openAgents(t, directory)
    await assert.rejects(state.sign(token, pay(50n)), suspended, change)
  }
})

test('a daemon killed before it notes the new head suspends agents again at the next start, but only once', async (t) => {
  const { directory, token, backup } = await rollBack(t)
  copyFileSync(join(directory, head), join(backup, 'newer.head'))
  const killed = openAgents(t, directory)
  await assert.rejects(killed.sign(token, pay(50n)), suspended)
  await killed.close()
  copyFileSync(join(backup, 'newer.head'), join(directory, head))
  const second = openAgents(t, directory)
  await assert.rejects(second.sign(token, pay(50n)), suspended)
  await second.agents.confirm(walletId)
  await second.sign(token, pay(1n))
  await second.close()
  const third = openAgents(t, directory)
  await third.sign(token, pay(1n))
})

test('a paused agent stays paused after the confirmation, and one revoked since can be revoked again', async (t) => {
  const first = openAgents(t)
  const paused = await first.create([limit('total', 100n)], { name: 'paused' })
  const revoked = await first.create([limit('total', 100n)], { name: 'revoked' })
  await first.agents.pause(paused.id)
  await first.close()
  const backup = temporaryDirectory(t)
  cpSync(first.directory, backup, { recursive: true })
  const second = openAgents(t, first.directory)
  await second.agents.revoke(revoked.id)
  await second.close()
  restore(backup, first.directory, 'latchkey_state.db')

  const { agents, sign, check } = openAgents(t, first.directory)
  await check()
  assert.deepEqual(
    agents.list().map(({ state }) => state),
    ['suspended', 'suspended'],
  )
  await assert.rejects(sign(revoked.token, pay(1n)), suspended)
  await agents.revoke(revoked.id)
  assert.equal(agents.find(revoked.id).state, 'revoked')
  await agents.confirm(walletId)
  assert.equal(agents.find(paused.id).state, 'paused')
  await assert.rejects(sign(paused.token, pay(1n)), { code: 'agent_paused' })
  await assert.rejects(sign(revoked.token, pay(1n)), { code: 'agent_ended' })
})

test('resuming one agent confirms only that agent, and agents created later are not affected', async (t) => {
  const { directory, token, id } = await rollBack(t)
  const { agents, sign, create, check } = openAgents(t, directory)
  await check()
  const other = await create([limit('total', 100n)], { name: 'other' })
  await sign(other.token, pay(1n))
  await assert.rejects(sign(token, pay(1n)), suspended)
  assert.deepEqual(await agents.confirm('another wallet'), [])
  await assert.rejects(sign(token, pay(1n)), suspended)
  await agents.resume(id)
  await sign(token, pay(1n))
})

test('files that were restored together, or moved, suspend nothing: this cannot be detected', async (t) => {
  for (const restored of [['latchkey_state.db', head], []]) {
    const { directory, token } = await rollBack(t, { restored })
    const { sign } = openAgents(t, directory)
    if (restored.length > 0) await sign(token, pay(50n))
    else await assert.rejects(sign(token, pay(50n)), { code: 'agent_limit_exceeded' })
  }
})
