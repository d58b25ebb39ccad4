import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Network } from '@latchkey/algorand'
import { wires } from '@latchkey/kmd-api'
import { makeAgent, network, password, payment, rules } from '../testing/agents.test.helper.js'
import { createApp, type TestApp, type TestResponse } from '../testing/TestApp.test.helper.js'

const codeOf = ({ status, headers }: TestResponse): [number, string | undefined] => [
  status,
  headers.get('latchkey-error'),
]
const testnet = Network.testnet.genesisHash
const stranger = Address.encode(Buffer.alloc(32, 77))

/** A wallet with a key, and a request to create an agent for it. */
async function prepare(app: TestApp) {
  const { id, handle } = await app.unlocked('owner', password)
  const { address } = (await app.post('/v1/key', { wallet_handle_token: handle })).json
  const request = {
    ...{ name: 'shopper', wallet_id: id, wallet_password: password, addresses: [address] },
    ...{ rules, expires_at_ms: 0 },
  }
  const create = (change: object = {}) => app.post('/latchkey/v1/agents', { ...request, ...change })
  return { id, handle, address, create }
}

for (const wire of wires) {
  test(`an agent is created, listed and described, on the ${wire} wire`, async (t) => {
    const app = createApp(t, { wire })
    const { id, address, create } = await prepare(app)
    const expiresAtMs = Date.now() + 3_600_000
    const full = {
      networks: [network],
      limits: [
        ...rules.limits,
        { per: 'hour', network, type: 'count', count: 20 },
        { per: '30days', network, type: 'amount', asset_id: '9223372036854775807', amount: '9223372036854775807' },
        { per: 'total', network, type: 'amount', amount: '5', payee: stranger },
      ],
      payees: { allow: [stranger], deny: [address] },
      applications: [{ network, id: '12' }],
      opt_ins: [{ network, id: '13' }],
      dollars: [{ network, id: '9223372036854775807' }],
      max_fee_micro_algos: '2000',
      max_valid_rounds: 500,
      ask: {
        above: [{ network, asset_id: '0', amount: '100' }],
        over_limit: true,
        unknown_payee: true,
        other_types: true,
      },
    }
    const { status, json } = await create({ name: ' Café  bot ', rules: full, expires_at_ms: expiresAtMs })
    assert.equal(status, 200, json.message)
    assert.match(json.token, /^lka_[A-Za-z0-9_-]{60}$/)
    const { agent } = json
    assert.equal(agent.name, 'Café bot')
    assert.deepEqual(
      [agent.wallet_id, agent.wallet_name, agent.addresses, agent.state],
      [id, 'owner', [address], 'active'],
    )
    assert.equal(agent.expires_at_ms, expiresAtMs)
    assert.ok(agent.created_at_ms > 0 && agent.last_used_at_ms === 0 && agent.same_user === false)
    const blank = { asset_id: '', amount: '', count: 0, payee: '' }
    assert.deepEqual(agent.rules, {
      ...full,
      limits: [
        { ...blank, ...full.limits[0] },
        { ...blank, asset_id: '0', ...full.limits[1] },
        { ...blank, ...full.limits[2] },
        { ...blank, ...full.limits[3] },
        { ...blank, asset_id: '0', ...full.limits[4] },
      ],
      payees: { allow_all: false, ...full.payees },
    })
    assert.deepEqual((await app.request('GET', '/latchkey/v1/agents')).json.agents, [agent])
    for (const name of [agent.id, 'Café bot', 'café BOT']) {
      const shown = await app.post('/latchkey/v1/agents/show', { agent: name })
      assert.deepEqual(shown.json.agent, agent, name)
      assert.deepEqual(
        shown.json.budget
          .map((use: { text: string; used: string; left: string }) => [use.text, use.used, use.left])
          .slice(0, 4),
        [
          ['2 ALGO/day', '0', '2000000'],
          ['each 1 ALGO', '0', '1000000'],
          ['20 payments/hour', '0', '20'],
          ['$9,223,372,036,854.775807/30days', '0', '9223372036854775807'],
        ],
      )
    }
    const headers = { 'x-kmd-api-token': json.token }
    const own = await app.request('GET', '/latchkey/v1/agent', { headers })
    assert.equal(own.json.agent.id, agent.id)
    assert.ok(own.json.agent.last_used_at_ms > 0)
  })
}

test('a console session may create agents, with the password', async (t) => {
  const app = createApp(t)
  const { create, address, id } = await prepare(app)
  await create()
  const headers = { 'x-kmd-api-token': app.sessions.open() }
  const body = { name: 'other', wallet_id: id, wallet_password: 'wrong', addresses: [address], rules }
  const wrong = await app.request('POST', '/latchkey/v1/agents', { body, headers })
  assert.deepEqual(codeOf(wrong), [400, 'wrong_password'])
  const right = { ...body, wallet_password: password }
  assert.equal((await app.request('POST', '/latchkey/v1/agents', { body: right, headers })).status, 200)
})

const limit = rules.limits[0]!
const badRequests: { [member: string]: object } = {
  'name must': { name: '' },
  'name must have': { name: 'a'.repeat(65) },
  'name must have 1': { name: 'tab\tbed' },
  'name must have 1 to': { name: '\u202e' },
  'name must have 1 to 64': { name: stranger },
  'addresses must name': { addresses: [] },
  'addresses[0] must be an address': { addresses: ['nonsense'] },
  'addresses contains an address twice': { addresses: [stranger, stranger] },
  'addresses is too long': { addresses: Array(33).fill(stranger) },
  'expires_at_ms is in the past': { expires_at_ms: 1 },
  'expires_at_ms is too late': { expires_at_ms: Number.MAX_SAFE_INTEGER },
  'rules.networks must name': { rules: {} },
  'rules.networks[0] must be': { rules: { ...rules, networks: ['AAAA'] } },
  'rules.networks[0] must be a genesis hash': { rules: { ...rules, networks: [`${network.slice(0, -2)}x=`] } },
  'rules.networks contains': { rules: { ...rules, networks: [network, network] } },
  'rules.networks is too long': { rules: { ...rules, networks: Array(9).fill(network) } },
  'rules.limits must contain': { rules: { ...rules, limits: [] } },
  'rules.limits must contain at least one limit on an amount': {
    rules: { ...rules, limits: [{ per: 'day', network, type: 'count', count: 1 }] },
  },
  'rules.limits is too long': { rules: { ...rules, limits: Array(101).fill(limit) } },
  'rules.limits[1] restricts the same period, asset and payee as rules.limits[0]': {
    rules: { ...rules, limits: [limit, { ...limit, amount: '1' }] },
  },
  'rules.limits[0].per must be': { rules: { ...rules, limits: [{ ...limit, per: 'year' }] } },
  'rules.limits[0].per cannot': {
    rules: { ...rules, limits: [{ per: 'payment', network, type: 'count', count: 1 }] },
  },
  'rules.limits[0].network must be': { rules: { ...rules, limits: [{ ...limit, network: '' }] } },
  'rules.limits[0].type must be': { rules: { ...rules, limits: [{ ...limit, type: '' }] } },
  'rules.limits[0].amount must be': { rules: { ...rules, limits: [{ ...limit, amount: '-1' }] } },
  'rules.limits[0].amount must be a whole': { rules: { ...rules, limits: [{ ...limit, amount: '1.5' }] } },
  'rules.limits[0].amount must be a whole number': {
    rules: { ...rules, limits: [{ ...limit, amount: '9223372036854775808' }] },
  },
  'rules.limits[0].asset_id must be': { rules: { ...rules, limits: [{ ...limit, asset_id: 'usdc' }] } },
  'rules.limits[0].count is for': { rules: { ...rules, limits: [{ ...limit, count: 1 }] } },
  'rules.limits[1].amount is for': {
    rules: { ...rules, limits: [limit, { per: 'day', network, type: 'count', count: 1, amount: '1' }] },
  },
  'rules.limits[1].count must be': {
    rules: { ...rules, limits: [limit, { per: 'day', network, type: 'count', count: 10 ** 10 }] },
  },
  'rules.limits[0].payee must be': { rules: { ...rules, limits: [{ ...limit, payee: 'me' }] } },
  'rules.payees.allow must be absent': { rules: { ...rules, payees: { allow_all: true, allow: [stranger] } } },
  'rules.payees.allow[0] must be': { rules: { ...rules, payees: { allow: ['me'] } } },
  'rules.payees.deny[1] must be': { rules: { ...rules, payees: { deny: [stranger, 'me'] } } },
  'rules.payees.deny is too long': { rules: { ...rules, payees: { deny: Array(1_001).fill(stranger) } } },
  'rules.applications[0].id must not': { rules: { ...rules, applications: [{ network, id: '0' }] } },
  'rules.opt_ins[0].network must be': { rules: { ...rules, opt_ins: [{ network: 'x', id: '1' }] } },
  'rules.dollars[0].id must not': { rules: { ...rules, dollars: [{ network, id: '0' }] } },
  'rules.dollars is too long': { rules: { ...rules, dollars: Array(9).fill({ network, id: '1' }) } },
  'a network has at most one dollar': { rules: { ...rules, dollars: ['1', '2'].map((id) => ({ network, id })) } },
  'the dollar asset of this network is 10458941': {
    rules: { ...rules, networks: [network, testnet], dollars: [{ network: testnet, id: '1' }] },
  },
  'rules.max_fee_micro_algos must be': { rules: { ...rules, max_fee_micro_algos: 'low' } },
  'rules.max_valid_rounds must be': { rules: { ...rules, max_valid_rounds: 1_001 } },
  'rules.ask.above[0].amount must be': { rules: { ...rules, ask: { above: [{ network, amount: '' }] } } },
}

test('an invalid member is rejected by name', async (t) => {
  const app = createApp(t)
  const { create } = await prepare(app)
  for (const [message, change] of Object.entries(badRequests)) {
    const response = await create(change)
    assert.deepEqual(codeOf(response), [400, 'bad_agent'], message)
    assert.ok(response.json.message.startsWith(message), `${response.json.message}, not ${message}`)
  }
  const types = [
    { rules: 'all' },
    { rules: { ...rules, limits: 'all' } },
    { rules: { ...rules, more: 1 } },
    { name: {} },
  ]
  for (const change of types) assert.deepEqual(codeOf(await create(change)), [400, 'bad_body'], JSON.stringify(change))
  assert.deepEqual((await app.request('GET', '/latchkey/v1/agents')).json.agents ?? [], [])
})

test('without rules on payees, no address can be paid', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app, { rules: { ...rules, payees: undefined } })
  const refused = await agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address) })
  assert.deepEqual(codeOf(refused), [403, 'agent_payee_unknown'])
})

test('the wallet, its password and its keys must be correct', async (t) => {
  const app = createApp(t)
  const { create } = await prepare(app)
  assert.deepEqual(codeOf(await create({ wallet_id: 'unknown' })), [400, 'wallet_not_found'])
  assert.deepEqual(codeOf(await create({ wallet_password: 'wrong' })), [400, 'wrong_password'])
  const missing = await create({ addresses: [stranger] })
  assert.deepEqual(codeOf(missing), [400, 'key_not_found'])
  assert.equal(missing.json.message, `${stranger} is not a key of this wallet`)
  assert.equal((await create()).status, 200)
  assert.deepEqual(codeOf(await create()), [400, 'agent_name_taken'])
  assert.deepEqual(codeOf(await create({ name: 'SHOPPER' })), [400, 'agent_name_taken'])
})

test('wrong passwords count as for other operations', async (t) => {
  const app = createApp(t)
  const { create, id } = await prepare(app)
  const before = app.throttle.isOpen(id)
  for (let tries = 0; tries < 40; tries++) await create({ wallet_password: `wrong ${tries}` })
  assert.deepEqual([before, app.throttle.isOpen(id)], [true, false])
})

test('rules and expiry are replaced only with the password, and earlier spending still counts', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const sign = (amt: bigint) => agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address, { amt }) })
  assert.equal((await sign(900_000n)).status, 200)
  const lower = { ...rules, limits: [{ per: 'day', network, type: 'amount', amount: '1000000' }] }
  const request = { agent: agent.id, rules: lower, expires_at_ms: 0 }
  const wrong = await app.post('/latchkey/v1/agents/rules', { ...request, wallet_password: 'wrong' })
  assert.deepEqual(codeOf(wrong), [400, 'wrong_password'])
  const changed = await app.post('/latchkey/v1/agents/rules', { ...request, wallet_password: password })
  assert.equal(changed.json.agent.rules.limits[0].amount, '1000000')
  assert.deepEqual(codeOf(await sign(900_001n)), [403, 'agent_limit_exceeded'])
  assert.equal((await sign(90_000n)).status, 200)
})

test('testing a transaction returns the decision and counts nothing', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const transaction = payment(agent.address, { amt: 1_500_000n })
  for (let tries = 0; tries < 3; tries++) {
    const tested = await app.post('/latchkey/v1/agents/test', { agent: agent.id, transaction })
    assert.equal(tested.json.decision, 'refused')
    assert.deepEqual([tested.json.rule, tested.json.refusal.code], ['each 1 ALGO', 'agent_limit_exceeded'])
    const own = await agent.post('/latchkey/v1/agent/test', { transaction: payment(agent.address, { amt: 999_000n }) })
    assert.equal(own.json.decision, 'allowed')
    assert.equal('refusal' in own.json, false)
  }
  const { budget } = (await app.post('/latchkey/v1/agents/show', { agent: agent.id })).json
  assert.equal(budget[0].used, '0')
  const two = Buffer.concat([Buffer.from(transaction, 'base64'), Buffer.from(transaction, 'base64')])
  const several = await app.post('/latchkey/v1/agents/test', { agent: agent.id, transaction: two.toString('base64') })
  assert.deepEqual(codeOf(several), [400, 'bad_transaction'])
})

test('unknown agents are 404, and ended ones cannot be changed', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  for (const name of ['', 'nobody', '\u0000', 'x'.repeat(5_000)]) {
    assert.deepEqual(codeOf(await app.post('/latchkey/v1/agents/show', { agent: name })), [404, 'agent_not_found'])
  }
  assert.equal((await app.post('/latchkey/v1/agents/revoke', { agent: agent.id })).json.agent.state, 'revoked')
  for (const path of ['pause', 'resume', 'rotate']) {
    const body = { agent: agent.id, ...(path !== 'pause' && { wallet_password: password }) }
    assert.deepEqual(codeOf(await app.post(`/latchkey/v1/agents/${path}`, body)), [403, 'agent_ended'], path)
  }
  assert.equal((await app.post('/latchkey/v1/agents/show', { agent: agent.id })).json.agent.state, 'revoked')
})

test('an expired agent signs nothing', async (t) => {
  const app = createApp(t)
  const expiresAtMs = Date.now() + 3_600_000
  const agent = await makeAgent(app, { expiresAtMs })
  const handle = await agent.handle()
  // The test's clock starts in 1970.
  app.advance(expiresAtMs)
  const request = { wallet_handle_token: handle, transaction: payment(agent.address) }
  assert.deepEqual(codeOf(await agent.post('/v1/transaction/sign', request)), [403, 'agent_ended'])
  assert.equal((await app.post('/latchkey/v1/agents/show', { agent: agent.id })).json.agent.state, 'expired')
})

test('a key is not granted while it is being deleted', async (t) => {
  const app = createApp(t)
  const { handle, create } = await prepare(app)
  // The deletion happens at every point of the creation.
  for (let turns = 0; turns < 40; turns++) {
    const { address } = (await app.post('/v1/key', { wallet_handle_token: handle })).json
    const body = { wallet_handle_token: handle, address, wallet_password: password }
    const creating = create({ name: `agent ${turns}`, addresses: [address] })
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    const [created, removed] = await Promise.all([creating, app.request('DELETE', '/v1/key', { body })])
    assert.equal(removed.status, 200)
    const { agents = [] } = (await app.request('GET', '/latchkey/v1/agents')).json
    assert.deepEqual(
      agents.filter(({ state }: { state: string }) => state === 'active'),
      [],
      'an agent of a deleted key is alive',
    )
    if (created.status !== 200) assert.deepEqual(codeOf(created), [400, 'key_not_found'])
  }
})

test("an agent's history is its own, for itself and for its owner", async (t) => {
  const app = createApp(t)
  const [agent, other] = [await makeAgent(app), await makeAgent(app)]
  for (const amt of [1n, 2n, 3n]) {
    await agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address, { amt }) })
    await other.post('/latchkey/v1/agent/sign', { transaction: payment(other.address, { amt }) })
  }
  await agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address, { amt: 10n ** 9n }) })
  const { records } = (await agent.post('/latchkey/v1/agent/history', {})).json
  const events = records.map(({ event }: { event: string }) => event)
  assert.deepEqual(events, ['signature_refused', ...Array(3).fill('transaction_signed'), 'agent_created'])
  for (const { record } of records) assert.ok(!record.includes(other.id) && !record.includes(other.address))
  const shown = await app.post('/latchkey/v1/agents/show', { agent: agent.id })
  assert.deepEqual(shown.json.history, records)
  const page = await agent.post('/latchkey/v1/agent/history', { count: 2, before_number: records[0].number })
  assert.deepEqual(
    page.json.records.map(({ number }: { number: number }) => number),
    [records[1].number, records[2].number],
  )
  const rest = await agent.post('/latchkey/v1/agent/history', { before_number: page.json.continue_from })
  assert.equal(rest.json.records.length, 2)
  assert.deepEqual(codeOf(await agent.post('/latchkey/v1/agent/history', { count: 1_001 })), [400, 'bad_audit_query'])
})
