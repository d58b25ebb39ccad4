/** Approvals and concurrent events: the agent's own requests, its end, and a disk that accepts no writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, limit, openAgents, pay } from '../AgentFixture.test.helper.js'

const owner = { type: 'owner' } as const
const ask = { above: [], overLimit: true, unknownPayee: false, otherTypes: false }

/** An agent that needs an approval for everything, and a payment that it has requested. */
async function asked(fixture: Fixture) {
  const { create, sign, approvals } = fixture
  const { id, token } = await create([limit('total', 0n)], { ask })
  const payment = pay(10n)
  await assert.rejects(sign(token, payment), { code: 'agent_approval_required' })
  const [approval] = approvals.list({ onlyOpen: true })
  const used = (): bigint => fixture.agents.budget(id)[0]!.used
  return { id, token, payment, approvalId: approval!.id, used, signAgain: () => sign(token, payment) }
}

const codes = (results: readonly PromiseSettledResult<unknown>[]): string[] =>
  results.map((result) => (result.status === 'fulfilled' ? 'ok' : (result.reason as { code: string }).code))

test('if the owner approves and the agent repeats its request in one commit, it is signed and counted once', async (t) => {
  const fixture = openAgents(t)
  const { approvalId, used, signAgain } = await asked(fixture)
  const { approvals } = fixture
  const results = await Promise.allSettled([
    ...[approvals.approve(approvalId, owner), approvals.deny(approvalId, owner)],
    ...[signAgain(), signAgain(), signAgain()],
  ])
  assert.deepEqual(codes(results), ['ok', 'approval_decided', 'ok', 'ok', 'ok'])
  assert.equal(approvals.get(approvalId).state, 'used')
  assert.equal(used(), 10n)
})

test('a request before the approval still asks, and one after a denial is refused', async (t) => {
  const fixture = openAgents(t)
  const { approvalId, signAgain, used } = await asked(fixture)
  const { approvals } = fixture
  const results = await Promise.allSettled([signAgain(), approvals.deny(approvalId, owner), signAgain()])
  assert.deepEqual(codes(results), ['agent_approval_required', 'ok', 'agent_approval_denied'])
  assert.equal(used(), 0n)
})

test('an agent that is revoked, paused or rotated in the same commit signs nothing', async (t) => {
  const fixture = openAgents(t)
  const { approvals, agents } = fixture
  const { id, approvalId, signAgain, used } = await asked(fixture)
  const paused = await Promise.allSettled([approvals.approve(approvalId, owner), agents.pause(id), signAgain()])
  assert.deepEqual(codes(paused), ['ok', 'ok', 'agent_paused'])
  await agents.resume(id)
  const revoked = await Promise.allSettled([signAgain(), agents.revoke(id), approvals.deny(approvalId, owner)])
  // The payment was counted, and then the agent ended: the end takes precedence.
  assert.deepEqual(codes(revoked), ['agent_ended', 'ok', 'approval_decided'])
  assert.equal(used(), 10n)
})

test('an approval after the agent has ended is rejected, and a revoked agent leaves none open', async (t) => {
  const fixture = openAgents(t)
  const { approvals, agents } = fixture
  const { id, approvalId } = await asked(fixture)
  const results = await Promise.allSettled([agents.revoke(id), approvals.approve(approvalId, owner)])
  assert.deepEqual(codes(results), ['ok', 'approval_decided'])
  assert.deepEqual(approvals.list({ onlyOpen: true }), [])
})

test("an approval that expires between the agent's two requests signs nothing", async (t) => {
  const fixture = openAgents(t)
  const { approvals, clock } = fixture
  const { approvalId, signAgain, used } = await asked(fixture)
  const { expiresAtMs } = await approvals.approve(approvalId, owner)
  clock.nowMs = expiresAtMs + 1
  await assert.rejects(signAgain(), { code: 'agent_approval_required' })
  const [again] = approvals.list({ onlyOpen: true })
  assert.notEqual(again!.id, approvalId)
  await assert.rejects(approvals.approve(approvalId, owner), { code: 'approval_not_found' })
  assert.equal(used(), 0n)
})

test('an approval used in a failed commit is still available, and is used once', async (t) => {
  const fixture = openAgents(t)
  const { approvals, database } = fixture
  const { approvalId, signAgain, used } = await asked(fixture)
  await approvals.approve(approvalId, owner)
  const fail = database.change(() => {
    database.statement('UPDATE approvals SET claimed_url = ?').run('half')
    database.statement('UPDATE approvals SET state = ?').run('refused by SQLite')
  })
  assert.deepEqual(codes(await Promise.allSettled([signAgain(), fail])), ['state_not_written', 'state_not_written'])
  assert.equal(approvals.get(approvalId).state, 'approved')
  assert.equal(used(), 0n)
  assert.deepEqual(codes(await Promise.allSettled([signAgain(), signAgain()])), ['ok', 'ok'])
  assert.equal(approvals.get(approvalId).state, 'used')
  assert.equal(used(), 10n)
})
