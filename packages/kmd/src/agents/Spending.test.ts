import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limit, openAgents, pay } from './AgentFixture.test.helper.js'

type Row = { record: string }

test('a flood of refusals and repeats leaves few records, and the next states how many were omitted', async (t) => {
  const { create, sign, database, clock, agents } = openAgents(t)
  const { token } = await create([limit('total', 100n)])
  const payment = pay(10n)
  for (let times = 0; times < 50; times++) await sign(token, payment)
  for (let times = 0; times < 200; times++)
    await assert.rejects(sign(token, pay(1_000n)), { code: 'agent_limit_exceeded' })
  const records = (): { event: string; detail: { left_out?: string } }[] =>
    (database.statement('SELECT record FROM audit ORDER BY number').all() as Row[]).map(({ record }) =>
      JSON.parse(record),
    )
  const afterFlood = records().length
  assert.ok(afterFlood < 40, `${afterFlood} records`)
  await sign(token, pay(10n))
  assert.equal(records().length, afterFlood + 1, 'what counts is always recorded')
  clock.nowMs += 60_000
  await agents.tidy()
  const last = records().at(-1)!
  assert.equal(last.event, 'signature_refused')
  assert.equal(last.detail.left_out, String(49 + 200 - 30))
  await agents.tidy()
  assert.equal(records().length, afterFlood + 2)
})
