/** An approval lifts only the rules that the owner saw. A denial holds regardless of later rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import type { AskRules } from '@latchkey/kmd-api/rules'
import { rulesOf as grant, limit, network, openAgents, pay, payee, stranger } from '../AgentFixture.test.helper.js'
import { reasonOf, rulesOf } from './Approval.js'

const owner = { type: 'owner' } as const
const dayMs = 24 * 3_600_000

function asks(rules: Partial<AskRules>): AskRules {
  return { above: [], overLimit: false, unknownPayee: false, otherTypes: false, ...rules }
}

const above = (amount: bigint) => ({ network, assetId: 0n, amount })

type Fixture = ReturnType<typeof openAgents>

/** Requests a signature, and returns the id of the approval that it needs. */
async function ask({ sign }: Fixture, token: string, transaction: Transaction.Canonical): Promise<string> {
  const error = await sign(token, transaction).then(
    () => assert.fail('it was signed'),
    (thrown: { code: string; headers?: readonly string[] }) => thrown,
  )
  assert.equal(error.code, 'agent_approval_required')
  const headers = error.headers ?? []
  return headers[headers.indexOf('Latchkey-Approval') + 1]!
}

test('approvals given before a limit was reached do not lift the limit', async (t) => {
  const fixture = openAgents(t)
  const { approvals, agents, sign } = fixture
  const ask10 = asks({ above: [above(10n)], overLimit: true })
  const { id, token } = await fixture.create([limit('day', 100n)], { ask: ask10 })
  const payments = Array.from({ length: 5 }, () => pay(90n))
  const ids: string[] = []
  for (const payment of payments) ids.push(await ask(fixture, token, payment))
  for (const approvalId of ids) {
    assert.deepEqual(rulesOf(approvals.get(approvalId)), ['ask above 0.00001 ALGO'])
    await approvals.approve(approvalId, owner)
  }
  await sign(token, payments[0]!)
  for (const [index, payment] of payments.entries()) {
    if (index === 0) continue
    const again = await ask(fixture, token, payment)
    assert.notEqual(again, ids[index], 'a decision about the earlier approval cannot lift the limit')
    const shown = approvals.get(again)
    assert.deepEqual(rulesOf(shown), ['0.0001 ALGO/day', 'ask above 0.00001 ALGO'])
    assert.match(
      reasonOf(shown),
      /is left of the limit 0\.0001 ALGO\/day\..*above 0\.00001 ALGO needs the owner's approval/,
    )
  }
  assert.equal(agents.budget(id)[0]!.used, 90n)
})

test('an approval that showed the limit lifts it, even after more was spent', async (t) => {
  const fixture = openAgents(t)
  const { approvals, sign } = fixture
  const { token } = await fixture.create([limit('day', 100n)], { ask: asks({ overLimit: true }) })
  await sign(token, pay(90n))
  const [first, second] = [pay(20n), pay(30n)]
  for (const payment of [first, second]) await approvals.approve(await ask(fixture, token, payment), owner)
  await sign(token, first)
  await sign(token, second)
})

test('a limit that the owner lowered after the approval needs a new approval', async (t) => {
  const fixture = openAgents(t)
  const { approvals, agents, sign } = fixture
  const ask10 = asks({ above: [above(10n)], overLimit: true })
  const { id, token } = await fixture.create([limit('day', 100n)], { ask: ask10 })
  const payment = pay(90n)
  await approvals.approve(await ask(fixture, token, payment), owner)
  await agents.setRules(id, { rules: grant([limit('day', 50n)], { ask: ask10 }) })
  const again = await ask(fixture, token, payment)
  assert.deepEqual(rulesOf(approvals.get(again)), ['0.00005 ALGO/day', 'ask above 0.00001 ALGO'])
  await approvals.approve(again, owner)
  await sign(token, payment)
})

test('a payee list that the owner set after the approval needs a new approval', async (t) => {
  const fixture = openAgents(t)
  const { approvals, agents } = fixture
  const ask10 = asks({ above: [above(10n)], unknownPayee: true })
  const { id, token } = await fixture.create([limit('day', 100n)], { ask: ask10 })
  const payment = pay(90n)
  await approvals.approve(await ask(fixture, token, payment), owner)
  const payees = { allow: [stranger.address], deny: [] }
  await agents.setRules(id, { rules: grant([limit('day', 100n)], { ask: ask10, payees }) })
  assert.deepEqual(rulesOf(approvals.get(await ask(fixture, token, payment))), ['pay-to', 'ask above 0.00001 ALGO'])
})

test('an approval that does not cover the rules is replaced, and its end is recorded', async (t) => {
  const fixture = openAgents(t)
  const { approvals, sign, audit } = fixture
  const ask10 = asks({ above: [above(10n)], overLimit: true })
  const { token } = await fixture.create([limit('day', 100n)], { ask: ask10 })
  const payment = pay(90n)
  const first = await ask(fixture, token, payment)
  await approvals.approve(first, owner)
  const other = pay(20n)
  await approvals.approve(await ask(fixture, token, other), owner)
  await sign(token, other)
  const second = await ask(fixture, token, payment)
  assert.throws(() => approvals.get(first), { code: 'approval_not_found' })
  assert.equal(await ask(fixture, token, payment), second, 'the same one while it is open')
  const { records } = await audit.search({ count: 100, events: ['approval_expired'] })
  assert.deepEqual(
    records.map(({ detail }) => detail?.['approval']),
    [first],
  )
})

test('an approval survives a restart with every rule that it showed', async (t) => {
  const fixture = openAgents(t)
  const rules = asks({ above: [above(10n)], overLimit: true })
  const { token } = await fixture.create([limit('day', 100n)], { ask: rules })
  await fixture.sign(token, pay(10n))
  const payment = pay(95n)
  await fixture.approvals.approve(await ask(fixture, token, payment), owner)
  await fixture.close()
  const again = openAgents(t, fixture.directory)
  await again.sign(token, payment)
})

test('a denied payment stays denied when the limit that asked is available again', async (t) => {
  const fixture = openAgents(t)
  const { approvals, sign, clock } = fixture
  const { token } = await fixture.create([limit('day', 100n)], { ask: asks({ overLimit: true }) })
  await sign(token, pay(90n))
  const payment = pay(50n)
  await approvals.deny(await ask(fixture, token, payment), owner)
  clock.nowMs += dayMs + 1
  await assert.rejects(sign(token, payment), { code: 'agent_approval_denied' })
  await sign(token, pay(50n))
})

test('a denied payment stays denied when the owner widens the rules', async (t) => {
  const fixture = openAgents(t)
  const { approvals, agents, sign } = fixture
  const payees = { allow: [stranger.address], deny: [] }
  const { id, token } = await fixture.create([limit('day', 100n)], { ask: asks({ unknownPayee: true }), payees })
  const payment = pay(50n)
  await approvals.deny(await ask(fixture, token, payment), owner)
  await agents.setRules(id, {
    rules: grant([limit('day', 100n)], { payees: { allow: [payee.address], deny: [] } }),
  })
  await assert.rejects(sign(token, payment), { code: 'agent_approval_denied' })
  const decision = agents.test(id, payment)
  assert.equal(decision.type === 'refused' && decision.refusal.message, 'The owner denied this payment.')
})

test('a denied payment that is valid for one round stays denied, even after a restart', async (t) => {
  const fixture = openAgents(t)
  const { approvals, sign, clock } = fixture
  const { token } = await fixture.create([limit('day', 100n)], { ask: asks({ above: [above(10n)] }) })
  const payment = pay(50n, { fv: 1_800n, lv: 1_800n })
  const id = await ask(fixture, token, payment)
  await approvals.deny(id, owner)
  for (const passedMs of [3_000, dayMs, 29 * dayMs, 400 * dayMs]) {
    clock.nowMs += passedMs
    await assert.rejects(sign(token, payment), { code: 'agent_approval_denied' })
  }
  assert.equal(approvals.get(id).state, 'denied')
  await fixture.close()
  const again = openAgents(t, fixture.directory)
  again.clock.nowMs = clock.nowMs
  await again.approvals.resume()
  await assert.rejects(again.sign(token, payment), { code: 'agent_approval_denied' })
})

test('an open approval ends when the payment is signed without it', async (t) => {
  const fixture = openAgents(t)
  const { approvals, sign, clock } = fixture
  const { token } = await fixture.create([limit('hour', 100n)], { ask: asks({ overLimit: true }) })
  await sign(token, pay(90n))
  clock.nowMs += 3_590_000
  const payment = pay(50n)
  const id = await ask(fixture, token, payment)
  clock.nowMs += 10_001
  await sign(token, payment)
  assert.equal(approvals.get(id).state, 'expired')
  await assert.rejects(approvals.deny(id, owner), { code: 'approval_decided' })
})
