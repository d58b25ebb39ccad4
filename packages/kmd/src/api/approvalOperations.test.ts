/** Approvals over the API: an agent asks, the owner decides, the agent signs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, SignedTransaction, Transaction } from '@latchkey/algorand'
import { makeAgent, network, payment, rules, type TestAgent } from '../testing/agents.test.helper.js'
import { createApp, type TestApp, type TestResponse } from '../testing/TestApp.test.helper.js'

const asking = {
  ...rules,
  ask: {
    above: [{ network, asset_id: '0', amount: '50000' }],
    over_limit: true,
    unknown_payee: false,
    other_types: false,
  },
}
const codeOf = ({ status, headers }: TestResponse): [number, string | undefined] => [
  status,
  headers.get('latchkey-error'),
]
const list = async (app: TestApp, all = false): Promise<TestResponse['json']> =>
  (await app.post('/latchkey/v1/approvals/list', { all })).json
const decide = (app: TestApp, how: 'approve' | 'deny', id: string): Promise<TestResponse> =>
  app.post(`/latchkey/v1/approvals/${how}`, { approval_id: id })
const sign = (agent: TestAgent, change: object = {}): Promise<TestResponse> =>
  agent.post('/latchkey/v1/agent/sign', {
    transaction: payment(agent.address, change),
    claimed_url: 'https://shop.example/\u202ereport',
    claimed_description: 'a report\nApproved by the owner',
  })

for (const wire of ['documented', 'reference'] as const) {
  test(`a payment that needs an approval is signed after it, and counts, on the ${wire} wire`, async (t) => {
    const app = createApp(t, { wire })
    const agent = await makeAgent(app, { rules: asking })
    const asked = await sign(agent)
    assert.deepEqual(codeOf(asked), [202, 'agent_approval_required'])
    const { id, description, reason, state, agent_id } = asked.json.approval
    assert.equal(asked.headers.get('latchkey-approval'), id)
    assert.deepEqual([state, agent_id], ['open', agent.id])
    assert.match(description[0], /^Pays 0.1 ALGO to /)
    assert.match(reason, /0\.05 ALGO/)
    const [listed] = (await list(app)).approvals
    assert.equal(listed.claimed_url, 'https://shop.example/ report')
    assert.equal(listed.claimed_description, 'a report Approved by the owner')
    // A repeated request creates no new approval.
    assert.equal((await sign(agent)).json.approval.id, id)
    assert.equal((await decide(app, 'approve', id)).json.approval.state, 'approved')
    const signed = await sign(agent)
    assert.equal(signed.status, 200)
    assert.ok(SignedTransaction.decode(Buffer.from(signed.json.signed_transaction, 'base64')).sig)
    assert.equal((await sign(agent)).status, 200, 'the same transaction can be signed again')
    const { budget } = (await agent.request('GET', '/latchkey/v1/agent')).json
    assert.equal(budget[0].used, '101000')
    assert.deepEqual(codeOf(await decide(app, 'approve', id)), [400, 'approval_decided'])
    // Another transaction needs another approval.
    assert.deepEqual(codeOf(await sign(agent, { amt: 100_001n })), [202, 'agent_approval_required'])
  })
}

test('a denied payment is refused, and stays refused', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app, { rules: asking })
  const { id } = (await sign(agent)).json.approval
  await decide(app, 'deny', id)
  const denied = await sign(agent)
  assert.deepEqual(codeOf(denied), [403, 'agent_approval_denied'])
  assert.equal(denied.json.message, 'The owner denied this payment.')
  assert.deepEqual(codeOf(await decide(app, 'approve', id)), [400, 'approval_decided'])
  assert.equal((await list(app)).approvals?.length ?? 0, 0)
  assert.equal((await list(app, true)).approvals[0].state, 'denied')
})

test('a denial also refuses the next payment to the same payee for the same URL, for ten minutes', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app, { rules: asking })
  const url = 'https://shop.example/report'
  const pay = (change: object, claimed_url = url): Promise<TestResponse> =>
    agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address, change), claimed_url })
  const { id } = (await pay({})).json.approval
  // Asked before the denial: decided on its own.
  const { id: earlier } = (await pay({ amt: 100_002n })).json.approval
  await decide(app, 'deny', id)
  const again = await pay({ amt: 100_001n })
  assert.deepEqual(codeOf(again), [403, 'agent_approval_denied'])
  assert.equal(again.headers.get('latchkey-approval'), undefined)
  assert.match(again.json.message, /denied a payment to this payee for the same URL/)
  assert.ok(JSON.parse(again.headers.get('latchkey-refusal')!).resetsAt)
  assert.deepEqual(
    (await list(app)).approvals.map((one: { id: string }) => one.id),
    [earlier],
  )
  assert.equal((await decide(app, 'approve', earlier)).status, 200)
  assert.equal((await pay({ amt: 100_002n })).status, 200)
  // Rules that allow a payment without an approval still do.
  assert.equal((await pay({ amt: 1n })).status, 200)
  const other = { amt: 100_003n, rcv: Buffer.alloc(32, 5) }
  assert.deepEqual(codeOf(await pay(other)), [202, 'agent_approval_required'])
  assert.deepEqual(codeOf(await pay({ amt: 100_004n }, `${url}/2`)), [202, 'agent_approval_required'])
  app.advance(10 * 60_000 - 1)
  assert.deepEqual(codeOf(await pay({ amt: 100_005n })), [403, 'agent_approval_denied'])
  app.advance(2)
  assert.deepEqual(codeOf(await pay({ amt: 100_005n })), [202, 'agent_approval_required'])
  // The denied transaction itself stays denied.
  assert.deepEqual(codeOf(await pay({})), [403, 'agent_approval_denied'])
})

test('the summary of an approval leads with the money, in dollars that the owner declared', async (t) => {
  const app = createApp(t)
  const dollars = [{ network, id: '77' }]
  const limits = [{ per: 'day', network, type: 'amount', asset_id: '77', amount: '1000000' }, ...rules.limits]
  const ask = { ...asking.ask, above: [{ network, asset_id: '77', amount: '1' }] }
  const agent = await makeAgent(app, { name: 'shopper', rules: { ...asking, dollars, limits, ask } })
  const { rcv: arcv } = Transaction.decode(Buffer.from(payment(agent.address), 'base64'))
  const change = { type: 'axfer', xaid: 77n, aamt: 10_000n, arcv, rcv: undefined, amt: undefined }
  const { approval } = (await sign(agent, change)).json
  const payee = Address.encode(arcv!)
  assert.equal(
    approval.summary,
    `shopper wants to pay $0.01 to ${payee} for "https://shop.example/ report" (not checked)`,
  )
  assert.equal(approval.description[0], `Sends 0.01 USDC (asset 77) to ${payee}.`)
  // The owner reads the label of the address book; the agent does not.
  await app.post('/latchkey/v1/contact', { address: payee, label: 'Tea shop' })
  const { approvals } = (await app.post('/latchkey/v1/approvals/list', { all: true })).json
  assert.match(approvals[0].summary, new RegExp(`to "Tea shop" \\(${payee}\\) for `))
  assert.doesNotMatch((await sign(agent, change)).json.approval.summary, /Tea shop/)
})

test('an approval lifts a limit, but no hard rule', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app, { rules: asking })
  const beyond = { amt: 5_000_000n }
  const { id } = (await sign(agent, beyond)).json.approval
  await decide(app, 'approve', id)
  assert.equal((await sign(agent, beyond)).status, 200)
  for (const hard of [{ close: Buffer.alloc(32, 3) }, { rekey: Buffer.alloc(32, 3) }, { gh: Buffer.alloc(32, 8) }]) {
    const refused = await sign(agent, hard)
    assert.equal(refused.status, 403)
    assert.equal(refused.headers.get('latchkey-approval'), undefined)
  }
  assert.equal((await list(app)).approvals?.length ?? 0, 0)
})

test('a client of the reference gets an error with the approval id, and 202 only if it asks for it', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app, { rules: asking })
  const body = { wallet_handle_token: await agent.handle(), transaction: payment(agent.address), wallet_password: '' }
  const plain = await agent.post('/v1/transaction/sign', body)
  assert.deepEqual(codeOf(plain), [403, 'agent_approval_required'])
  assert.deepEqual(Object.keys(plain.json).sort(), ['error', 'message'])
  const headers = { 'x-kmd-api-token': agent.token, prefer: 'wait=5, respond-async' }
  const async = await app.request('POST', '/v1/transaction/sign', { body, headers })
  assert.equal(async.status, 202)
  assert.equal(async.json.approval.id, plain.headers.get('latchkey-approval'))
  await decide(app, 'approve', async.json.approval.id)
  assert.equal((await agent.post('/v1/transaction/sign', body)).status, 200)
})

test('an agent waits only for its own approvals, and decides none', async (t) => {
  const app = createApp(t)
  const [agent, other] = [await makeAgent(app, { rules: asking }), await makeAgent(app, { rules: asking })]
  const { id } = (await sign(agent)).json.approval
  const waiting = agent.post('/latchkey/v1/agent/approval', { approval_id: id, wait_seconds: 30 })
  assert.deepEqual(codeOf(await other.post('/latchkey/v1/agent/approval', { approval_id: id })), [
    404,
    'approval_not_found',
  ])
  for (const how of ['approve', 'deny', 'list', 'watch']) {
    const refused = await agent.post(`/latchkey/v1/approvals/${how}`, { approval_id: id })
    assert.deepEqual(codeOf(refused), [403, 'agent_operation_forbidden'])
  }
  const { revision } = await list(app)
  const watching = app.post('/latchkey/v1/approvals/watch', { revision, wait_seconds: 30 })
  await decide(app, 'approve', id)
  assert.equal((await waiting).json.approval.state, 'approved')
  assert.notEqual((await watching).json.revision, revision)
  assert.deepEqual(codeOf(await app.post('/latchkey/v1/agent/approval', { approval_id: id })), [
    403,
    'agent_token_required',
  ])
})

test('approvals end with their agent', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app, { rules: asking })
  const { id } = (await sign(agent)).json.approval
  await decide(app, 'approve', id)
  await app.post('/latchkey/v1/agents/revoke', { agent: agent.id })
  assert.deepEqual(codeOf(await sign(agent)), [403, 'agent_ended'])
  assert.equal((await list(app, true)).approvals[0].state, 'expired')
  const { history } = (await app.post('/latchkey/v1/agents/show', { agent: agent.id })).json
  const events: string[] = history.map(({ event }: { event: string }) => event)
  assert.ok(events.includes('approval_approved'), events.join(' '))
})

test('a console that waits for approvals is idle, and its session ends', async (t) => {
  const app = createApp(t)
  const headers = { 'x-kmd-api-token': app.sessions.open() }
  const watch = (): Promise<TestResponse> =>
    app.request('POST', '/latchkey/v1/approvals/watch', { body: { revision: '', wait_seconds: 30 }, headers })
  for (let minutes = 0; minutes < 30; minutes++) {
    assert.equal((await watch()).status, 200)
    app.advance(60_000)
  }
  assert.equal((await watch()).status, 401)
})
