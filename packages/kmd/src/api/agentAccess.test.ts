import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentAccess, documentAccess, wires } from '@latchkey/kmd-api'
import { makeAgent, payment } from '../testing/agents.test.helper.js'
import { createApp, quietNode } from '../testing/TestApp.test.helper.js'
import { operations } from './Operations.js'

/** The documents served in addition to operations, by name in the table. */
const documents = [
  { id: 'SwaggerHandler', method: 'GET', path: '/swagger.json' },
  { id: 'GetMetrics', method: 'GET', path: '/latchkey/v1/metrics' },
  { id: 'ConsoleFiles', method: 'GET', path: '/console/' },
]

const access = new Map<string, AgentAccess>([
  ...operations.map(({ id, access: { agent } }) => [id, agent] as const),
  ...Object.entries(documentAccess),
])
const mayUse = (id: string): boolean => access.get(id)!.use !== 'refused'

test('every operation and every document has a rule for agents, with its reason', () => {
  assert.deepEqual(Object.keys(documentAccess).sort(), documents.map(({ id }) => id).sort())
  for (const [id, { why }] of access) assert.notEqual(why, '', id)
})

test('an operation that agents may use has a function of its own for them', () => {
  const { runAsAgent: forbidden } = operations.find(({ id }) => id === 'ExportKey')!
  for (const { id, runAsAgent } of operations) assert.equal(runAsAgent !== forbidden, mayUse(id), id)
})

/** Everything that an agent may do. Repeat any change to the descriptions here. */
const allowed = [
  ...['GetVersion', 'ListWallets', 'InitWalletHandleToken', 'GetWalletInfo', 'RenewWalletHandleToken'],
  ...['ReleaseWalletHandleToken', 'ListKeysInWallet', 'SignTransaction'],
  ...['GetNode', 'GetTransactionParameters', 'GetAssets', 'GetAccounts', 'GetHoldings', 'SubmitTransaction'],
  ...['GetTransactionOutcome', 'GetOwnAgent', 'SignAsAgent', 'SignUptoAsAgent', 'TestOwnAgent', 'ListOwnRecords'],
  'WaitForApproval',
  'SwaggerHandler',
]

test('an agent may do no more than this', () => {
  assert.deepEqual([...access.keys()].filter(mayUse).sort(), [...allowed].sort())
})

for (const wire of wires) {
  test(`an agent's token is rejected with 403 for everything else, on the ${wire} wire`, async (t) => {
    const consoleFile = () => undefined
    const app = createApp(t, { wire, node: quietNode, consoleFile })
    const agent = await makeAgent(app)
    for (const { id, method, path } of [...operations, ...documents]) {
      for (const headers of [
        headersOf('x-kmd-api-token', agent.token),
        headersOf('authorization', `Bearer ${agent.token}`),
      ]) {
        // Nothing is done with any token, because the body is not an object.
        const { status, json } = await app.request(method, path, { headers, body: '"nothing"' })
        if (mayUse(id)) assert.ok(status === 200 || status === 400, `${id}: ${status} ${JSON.stringify(json)}`)
        else {
          const message = 'an agent may not use this operation'
          assert.deepEqual([id, status, json], [id, 403, { error: true, message }])
        }
      }
    }
    assert.deepEqual(app.failures, [])
  })

  test(`a forbidden operation does nothing even with a valid body, on the ${wire} wire`, async (t) => {
    const app = createApp(t, { wire, node: quietNode })
    const agent = await makeAgent(app)
    const handle = await agent.handle()
    const body = { wallet_handle_token: handle, address: agent.address, wallet_password: 'secret' }
    const owners = { ...body, wallet_handle_token: agent.ownerHandle }
    for (const each of [body, owners]) {
      for (const [method, path] of [
        ['POST', '/v1/key/export'],
        ['POST', '/v1/master-key/export'],
        ['DELETE', '/v1/key'],
      ] as const) {
        const { status, headers } = await agent.request(method, path, each)
        assert.deepEqual([path, status, headers.get('latchkey-error')], [path, 403, 'agent_operation_forbidden'])
      }
    }
    const listed = await app.post('/v1/key/list', { wallet_handle_token: agent.ownerHandle })
    assert.equal(listed.json.addresses.length, 2)
  })
}

/** Removes the owner's token, which the test app sends by default. */
function headersOf(name: string, value: string): Record<string, string> {
  return { 'x-kmd-api-token': undefined as unknown as string, [name]: value }
}

test("a second token next to an agent's is rejected, even the owner's", async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  const bearer = `Bearer ${agent.token}`
  // The owner's token is in the other header.
  const both = await app.request('GET', '/v1/wallets', { headers: { authorization: bearer } })
  assert.deepEqual([both.status, both.headers.get('latchkey-error')], [401, 'invalid_token'])
  const session = { authorization: bearer, 'x-kmd-api-token': app.sessions.open() }
  assert.equal((await app.request('GET', '/v1/wallets', { headers: session })).status, 401)
  const other = await makeAgent(app)
  const two = { authorization: bearer, 'x-kmd-api-token': other.token }
  assert.equal((await app.request('GET', '/v1/wallets', { headers: two })).status, 401)
  const twice = { authorization: bearer, 'x-kmd-api-token': agent.token }
  assert.equal((await app.request('GET', '/v1/wallets', { headers: twice })).status, 200)
  const unrelated = { authorization: 'Bearer something-else' }
  assert.equal((await app.request('GET', '/v1/wallets', { headers: unrelated })).status, 200, 'the owner')
})

test('an invalid token is 401, even where no token is needed', async (t) => {
  const app = createApp(t, { wire: 'reference' })
  const { token } = await makeAgent(app)
  const last = token.at(-1) === 'A' ? 'B' : 'A'
  const wrong = [
    'lka_',
    'lka_short',
    `${token}A`,
    `${token.slice(0, -1)}${last}`,
    token.toUpperCase().replace('LKA_', 'lka_'),
  ]
  const random = `lka_${Buffer.alloc(45, 3).toString('base64url')}`
  for (const text of [...wrong, random]) {
    for (const path of ['/v1/wallets', '/versions', '/swagger.json', '/latchkey/v1/agent']) {
      for (const headers of [headersOf('x-kmd-api-token', text), headersOf('authorization', `bearer  ${text}`)]) {
        const { status, json } = await app.request('GET', path, { headers })
        assert.deepEqual([status, json], [401, { error: true, message: 'invalid API token' }], `${path} ${text}`)
      }
    }
  }
})

test("the agents' operations are not for the owner", async (t) => {
  const app = createApp(t)
  const { address } = await makeAgent(app)
  const tries = [
    app.request('GET', '/latchkey/v1/agent'),
    app.post('/latchkey/v1/agent/sign', { transaction: payment(address) }),
    app.post('/latchkey/v1/agent/test', { transaction: payment(address) }),
  ]
  for (const { status, headers } of await Promise.all(tries)) {
    assert.deepEqual([status, headers.get('latchkey-error')], [403, 'agent_token_required'])
  }
})
