/** The reference wire with an agent's token. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, SignedTransaction, Transaction } from '@latchkey/algorand'
import { makeAgent, password, payment, type TestAgent } from '../testing/agents.test.helper.js'
import { createApp, quietNode, type TestResponse } from '../testing/TestApp.test.helper.js'

const codeOf = ({ status, headers }: TestResponse): [number, string | undefined] => [
  status,
  headers.get('latchkey-error'),
]

const sign = async (agent: TestAgent, handle: string, change: object = {}): Promise<TestResponse> =>
  agent.post('/v1/transaction/sign', {
    wallet_handle_token: handle,
    transaction: payment(agent.address),
    wallet_password: '',
    ...change,
  })

test('an agent sees only its own wallet and keys', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const other = await makeAgent(app)
  const { wallets } = (await agent.request('GET', '/v1/wallets')).json
  assert.deepEqual(
    wallets.map(({ id }: { id: string }) => id),
    [agent.walletId],
  )
  const handle = await agent.handle()
  const info = await agent.post('/v1/wallet/info', { wallet_handle_token: handle })
  assert.equal(info.json.wallet_handle.wallet.id, agent.walletId)
  const keys = await agent.post('/v1/key/list', { wallet_handle_token: handle })
  assert.deepEqual(keys.json.addresses, [agent.address])
  const foreign = await agent.post('/v1/wallet/init', { wallet_id: other.walletId, wallet_password: password })
  const unknown = await agent.post('/v1/wallet/init', { wallet_id: 'unknown', wallet_password: password })
  assert.deepEqual(codeOf(foreign), [403, 'agent_wallet_forbidden'])
  assert.deepEqual([foreign.text, foreign.status], [unknown.text, unknown.status])
})

test('a handle needs no password, and reveals nothing about one', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  for (let tries = 0; tries < 30; tries++) {
    const body = { wallet_id: agent.walletId, wallet_password: tries % 2 === 0 ? `wrong ${tries}` : password }
    assert.equal((await agent.post('/v1/wallet/init', body)).status, 200)
  }
  assert.ok(app.throttle.isOpen(agent.walletId), 'no wrong password is counted')
  const owner = await app.post('/v1/wallet/init', { wallet_id: agent.walletId, wallet_password: password })
  assert.equal(owner.status, 200)
})

test("a transaction within the limits is signed with the agent's key", async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const handle = await agent.handle()
  const { status, json } = await sign(agent, handle, { wallet_password: 'any' })
  assert.equal(status, 200)
  const signed = SignedTransaction.decode(Buffer.from(json.signed_transaction, 'base64'))
  assert.equal(Address.encode(signed.txn.snd), agent.address)
  assert.ok(signed.sig !== undefined && signed.sgnr === undefined)
  const named = await sign(agent, handle, { public_key: [...Address.decode(agent.address)] })
  assert.equal(named.status, 200)
})

test('beyond a limit the response is 403, with the refusal in a header and not in the body', async (t) => {
  const app = createApp(t, { wire: 'reference' })
  const agent = await makeAgent(app)
  const transaction = payment(agent.address, { amt: 1_500_000n })
  const refused = await sign(agent, await agent.handle(), { transaction })
  assert.deepEqual(codeOf(refused), [403, 'agent_limit_exceeded'])
  assert.deepEqual(Object.keys(refused.json), ['error', 'message'])
  const { code, rule, unit, asked, left, resetsAt } = JSON.parse(refused.headers.get('latchkey-refusal')!)
  assert.deepEqual([code, unit, asked, left], ['agent_limit_exceeded', 'ALGO', '1501000', '1000000'])
  assert.equal(rule, 'each 1 ALGO')
  assert.equal(resetsAt, null)
  const own = await agent.post('/latchkey/v1/agent/sign', { transaction })
  assert.deepEqual(codeOf(own), [403, 'agent_limit_exceeded'])
  assert.deepEqual(own.json.refusal, JSON.parse(refused.headers.get('latchkey-refusal')!))
  assert.equal(own.json.message, refused.json.message)
})

test("other keys of the wallet, and senders that are not the agent's, are refused", async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const handle = await agent.handle()
  const foreign = await sign(agent, handle, { transaction: payment(agent.otherAddress) })
  assert.deepEqual(codeOf(foreign), [403, 'agent_wallet_forbidden'])
  const named = await sign(agent, handle, { public_key: [...Address.decode(agent.otherAddress)] })
  assert.deepEqual(codeOf(named), [403, 'agent_wallet_forbidden'])
  const rekeyed = await sign(agent, handle, {
    transaction: payment(agent.otherAddress),
    public_key: [...Address.decode(agent.address)],
  })
  assert.equal(rekeyed.status, 403)
  const stranger = await sign(agent, handle, { public_key: [...Buffer.alloc(32, 5)] })
  assert.deepEqual(codeOf(stranger), [403, 'agent_wallet_forbidden'])
})

test('a handle works only with the token that opened it', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const other = await makeAgent(app)
  const handle = await agent.handle()
  const body = { wallet_handle_token: handle }
  assert.deepEqual(codeOf(await app.post('/v1/wallet/info', body)), [401, 'handle_unknown'], 'the owner')
  assert.deepEqual(codeOf(await app.post('/v1/key', body)), [401, 'handle_unknown'], 'the owner')
  assert.deepEqual(codeOf(await other.post('/v1/wallet/info', body)), [401, 'handle_unknown'])
  const owners = { wallet_handle_token: agent.ownerHandle }
  for (const path of ['/v1/wallet/info', '/v1/key/list', '/v1/wallet/release', '/v1/wallet/renew']) {
    assert.deepEqual(codeOf(await agent.post(path, owners)), [401, 'handle_unknown'], path)
  }
  assert.deepEqual(codeOf(await sign(agent, agent.ownerHandle)), [401, 'handle_unknown'])
  assert.equal((await app.post('/v1/wallet/info', owners)).status, 200, 'still open')
  const changed = `${handle.slice(0, -1)}${handle.endsWith('0') ? '1' : '0'}`
  assert.deepEqual(codeOf(await sign(agent, changed)), [401, 'handle_wrong_secret'])
  assert.deepEqual(codeOf(await sign(agent, 'nothing')), [401, 'wrong_token_parts'])
})

test('handles expire, are renewed and released', async (t) => {
  const app = createApp(t, { lifetimeMs: 60_000 })
  const agent = await makeAgent(app)
  const [released, renewed, left] = [await agent.handle(), await agent.handle(), await agent.handle()]
  assert.deepEqual((await agent.post('/v1/wallet/release', { wallet_handle_token: released })).json, {})
  assert.deepEqual(codeOf(await sign(agent, released)), [401, 'handle_unknown'])
  app.advance(45_000)
  const info = await agent.post('/v1/wallet/renew', { wallet_handle_token: renewed })
  assert.equal(info.json.wallet_handle.expires_seconds, 60)
  app.advance(30_000)
  assert.equal((await sign(agent, renewed)).status, 200)
  assert.deepEqual(codeOf(await sign(agent, left)), [401, 'handle_expired'])
})

test('handles that are never released do not accumulate', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const other = await makeAgent(app)
  const kept = await other.handle()
  const first = await agent.handle()
  for (let count = 0; count < 100; count++) await agent.handle()
  assert.ok(app.context.agentHandles.size <= 33)
  assert.deepEqual(codeOf(await sign(agent, first)), [401, 'handle_unknown'], 'its own oldest one')
  assert.equal((await sign(other, kept)).status, 200)
})

const endings: { [name: string]: (app: ReturnType<typeof createApp>, agent: TestAgent) => Promise<TestResponse> } = {
  'it was revoked': (app, { id }) => app.post('/latchkey/v1/agents/revoke', { agent: id }),
  'its key was deleted': (app, { address, ownerHandle }) =>
    app.request('DELETE', '/v1/key', {
      body: { wallet_handle_token: ownerHandle, address, wallet_password: password },
    }),
  'its wallet was deleted': (app, { walletId }) =>
    app.post('/latchkey/v1/wallet/delete', { wallet_id: walletId, wallet_password: password }),
}

for (const [name, end] of Object.entries(endings)) {
  test(`nothing is signed after ${name}, not even with an earlier handle`, async (t) => {
    const app = createApp(t)
    const agent = await makeAgent(app)
    const handle = await agent.handle()
    assert.equal((await sign(agent, handle)).status, 200)
    assert.equal((await end(app, agent)).status, 200)
    for (const response of [
      await sign(agent, handle),
      await sign(agent, handle, { transaction: payment(agent.address, { amt: 1n }) }),
      await agent.post('/v1/wallet/init', { wallet_id: agent.walletId }),
      await agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address) }),
      await agent.request('GET', '/latchkey/v1/agent'),
    ]) {
      assert.deepEqual(codeOf(response), [403, 'agent_ended'])
    }
    assert.equal(app.context.agentHandles.size, 0)
  })
}

test('deleting another key of the wallet does not end the agent', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const body = { wallet_handle_token: agent.ownerHandle, address: agent.otherAddress, wallet_password: password }
  assert.equal((await app.request('DELETE', '/v1/key', { body })).status, 200)
  assert.equal((await sign(agent, await agent.handle())).status, 200)
})

test('a wrong password deletes nothing and ends no agent', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const body = { wallet_handle_token: agent.ownerHandle, address: agent.address, wallet_password: 'wrong' }
  assert.equal((await app.request('DELETE', '/v1/key', { body })).status, 400)
  const wallet = { wallet_id: agent.walletId, wallet_password: 'wrong' }
  assert.equal((await app.post('/latchkey/v1/wallet/delete', wallet)).status, 400)
  assert.equal((await sign(agent, await agent.handle())).status, 200)
})

test('while an agent is paused nothing works, and afterwards no earlier handle does', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const handle = await agent.handle()
  await app.post('/latchkey/v1/agents/pause', { agent: agent.id })
  assert.deepEqual(codeOf(await sign(agent, handle)), [403, 'agent_paused'])
  const wrong = await app.post('/latchkey/v1/agents/resume', { agent: agent.id, wallet_password: 'wrong' })
  assert.deepEqual(codeOf(wrong), [400, 'wrong_password'])
  assert.deepEqual(codeOf(await agent.request('GET', '/v1/wallets')), [403, 'agent_paused'])
  const resumed = await app.post('/latchkey/v1/agents/resume', { agent: agent.id, wallet_password: password })
  assert.equal(resumed.json.agent.state, 'active')
  assert.deepEqual(codeOf(await sign(agent, handle)), [401, 'handle_unknown'])
  assert.equal((await sign(agent, await agent.handle())).status, 200)
})

test('a rotation ends the old token and its handles, with either token', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const handle = await agent.handle()
  const rotated = await app.post('/latchkey/v1/agents/rotate', { agent: agent.id, wallet_password: password })
  assert.equal(rotated.status, 200)
  assert.deepEqual(codeOf(await sign(agent, handle)), [401, 'invalid_token'])
  const headers = { 'x-kmd-api-token': rotated.json.token }
  const request = { wallet_handle_token: handle, transaction: payment(agent.address) }
  const old = await app.request('POST', '/v1/transaction/sign', { body: request, headers })
  assert.deepEqual(codeOf(old), [401, 'handle_unknown'])
  const body = { transaction: payment(agent.address) }
  assert.equal((await app.request('POST', '/latchkey/v1/agent/sign', { body, headers })).status, 200)
})

test('the node serves an agent only for its own addresses and its own transactions', async (t) => {
  const app = createApp(t, { node: quietNode })
  const agent = await makeAgent(app)
  const own = await agent.post('/latchkey/v1/accounts', { addresses: [agent.address] })
  assert.equal(own.json.accounts[0].address, agent.address)
  for (const [path, body] of [
    ['/latchkey/v1/accounts', { addresses: [agent.address, agent.otherAddress] }],
    ['/latchkey/v1/holdings', { asset_id: '1', addresses: [agent.otherAddress] }],
  ] as const) {
    assert.deepEqual(codeOf(await agent.post(path, body)), [403, 'agent_wallet_forbidden'], path)
  }
  const { json } = await agent.post('/latchkey/v1/agent/sign', { transaction: payment(agent.address) })
  const sent = await agent.post('/latchkey/v1/transaction/submit', { transaction: json.signed_transaction })
  assert.equal(sent.json.state, 'sent')
  const foreign = SignedTransaction.encode({
    txn: Transaction.decode(Buffer.from(payment(agent.otherAddress), 'base64')),
    sig: new Uint8Array(64).fill(1),
  })
  const group = Buffer.concat([Buffer.from(json.signed_transaction, 'base64'), foreign]).toString('base64')
  for (const transaction of [Buffer.from(foreign).toString('base64'), group]) {
    const refused = await agent.post('/latchkey/v1/transaction/submit', { transaction })
    assert.deepEqual(codeOf(refused), [403, 'agent_wallet_forbidden'])
  }
})
