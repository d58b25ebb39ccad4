/** A thief has either the files or the token, but not both. With either alone, nothing can be signed. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Sqlite from '@latchkey/system/sqlite'
import { Daemon } from '../process/Daemon.js'
import { network, payment, rules } from '../testing/agents.test.helper.js'
import * as AgentToken from './AgentToken.js'

const password = 'secret'
const stateFile = 'latchkey_state.db'

// biome-ignore lint/suspicious/noExplicitAny: the test reads responses member by member
type Answer = { status: number; code: string | null; json: any }
type Machine = {
  dataDir: string
  call: (token: string, method: string, path: string, body?: object) => Promise<Answer>
}

function makeDirectory(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'kmd-stolen-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}

/** A daemon in a directory, as if on a separate machine. */
async function startMachine(
  t: TestContext,
  dataDir = makeDirectory(t),
): Promise<Machine & { stop: () => Promise<void> }> {
  const drivers = { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: '127.0.0.1:0', drivers }))
  const daemon = await Daemon.start({ dataDir, limits: { stopMs: 100 } })
  t.after(() => daemon.stop())
  const call: Machine['call'] = async (token, method, path, body) => {
    const response = await fetch(`http://${daemon.address}${path}`, {
      method,
      headers: { 'x-kmd-api-token': token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, code: response.headers.get('latchkey-error'), json: await response.json() }
  }
  return { dataDir, call, stop: () => daemon.stop() }
}

type Owned = Machine & {
  stop: () => Promise<void>
  owner: string
  walletId: string
  address: string
  agentId: string
  token: string
}

/** A machine with a wallet, a key and an agent that has signed once. */
async function startOwned(t: TestContext): Promise<Owned> {
  const machine = await startMachine(t)
  const owner = readFileSync(join(machine.dataDir, 'kmd.token'), 'utf8')
  const post = async (path: string, body: object) => (await machine.call(owner, 'POST', path, body)).json
  const wallet = { wallet_name: 'purse', wallet_driver_name: 'sqlite', wallet_password: password }
  const walletId: string = (await post('/v1/wallet', wallet)).wallet.id
  const handle = await post('/v1/wallet/init', { wallet_id: walletId, wallet_password: password })
  const { address } = await post('/v1/key', { wallet_handle_token: handle.wallet_handle_token })
  const grant = { wallet_id: walletId, wallet_password: password, addresses: [address], rules }
  const { agent, token } = await post('/latchkey/v1/agents', { name: 'shopper', ...grant })
  const owned = { ...machine, owner, walletId, address, agentId: agent.id, token }
  assert.equal((await sign(owned, token, address, 1n)).status, 200)
  return owned
}

function sign(machine: Machine, token: string, address: string, amt: bigint): Promise<Answer> {
  const body = { transaction: payment(address, { amt }) }
  return machine.call(token, 'POST', '/latchkey/v1/agent/sign', body)
}

/** Tries every way to a signature with a token. */
async function signsNothing(machine: Machine, token: string, { walletId, address }: Owned, expected: [number, string]) {
  const init = await machine.call(token, 'POST', '/v1/wallet/init', { wallet_id: walletId })
  const handle = { wallet_handle_token: `${'0'.repeat(16)}.${'0'.repeat(64)}` }
  const signed = await machine.call(token, 'POST', '/v1/transaction/sign', { ...handle, transaction: payment(address) })
  for (const { status, code } of [
    await sign(machine, token, address, 2n),
    await sign(machine, token, address, 1n),
    init,
    signed,
  ]) {
    assert.deepEqual([status, code], expected)
  }
}

function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
}

function contain(directory: string, bytes: Buffer): string[] {
  return filesOf(directory).filter((path) => readFileSync(path).includes(bytes))
}

test('the token alone signs nothing on another machine', async (t) => {
  const owned = await startOwned(t)
  const empty = await startMachine(t)
  await signsNothing(empty, owned.token, owned, [401, 'invalid_token'])
  // With the wallets, whose password the thief does not know, but without the agents' database.
  const half = makeDirectory(t)
  cpSync(join(owned.dataDir, 'sqlite_wallets'), join(half, 'sqlite_wallets'), { recursive: true })
  await signsNothing(await startMachine(t, half), owned.token, owned, [401, 'invalid_token'])
  // Next to the thief's own agent.
  await signsNothing(await startOwned(t), owned.token, owned, [401, 'invalid_token'])
})

test('the files alone sign nothing, and contain neither the key nor the token', async (t) => {
  const owned = await startOwned(t)
  const handle = await owned.call(owned.owner, 'POST', '/v1/wallet/init', {
    wallet_id: owned.walletId,
    wallet_password: password,
  })
  const request = {
    ...handle.json,
    error: undefined,
    message: undefined,
    address: owned.address,
    wallet_password: password,
  }
  const exported = await owned.call(owned.owner, 'POST', '/v1/key/export', request)
  const privateKey = Buffer.from(exported.json.private_key)
  const parts = AgentToken.parse(owned.token)!
  const forms = [privateKey.subarray(0, 32), parts.secret, AgentToken.derive(parts).sealingKey]
  for (const secret of forms) {
    assert.equal(secret.length, 32)
    for (const bytes of [
      secret,
      ...['base64', 'base64url', 'hex'].map((form) => Buffer.from(secret.toString(form as 'hex'))),
    ]) {
      assert.deepEqual(contain(owned.dataDir, bytes), [])
    }
  }
  assert.deepEqual(contain(owned.dataDir, Buffer.from(owned.token)), [])
  await owned.stop()
  const copy = makeDirectory(t)
  cpSync(owned.dataDir, copy, { recursive: true })
  const thief = await startMachine(t, copy)
  // A well-formed token with the agent's id, which is in the files; the secret is not.
  const guess = AgentToken.create(owned.agentId)
  assert.equal(guess.id, owned.agentId)
  await signsNothing(thief, guess.token, owned, [401, 'invalid_token'])
  // The API token is in the files, but without the wallet's password it cannot sign.
  const own = readFileSync(join(copy, 'kmd.token'), 'utf8')
  const stolen = { agent: owned.agentId, wallet_password: '' }
  for (const path of ['rotate', 'resume']) {
    assert.deepEqual((await thief.call(own, 'POST', `/latchkey/v1/agents/${path}`, stolen)).code, 'wrong_password')
  }
  const change = { ...stolen, rules: { ...rules, networks: [network] } }
  assert.equal((await thief.call(own, 'POST', '/latchkey/v1/agents/rules', change)).code, 'wrong_password')
  assert.equal((await sign(thief, own, owned.address, 3n)).code, 'agent_token_required')
  // Both together are the agent: that is the purpose of a machine's backup.
  assert.equal((await sign(thief, owned.token, owned.address, 4n)).status, 200)
})

/** The sealed keys, as another program reads them from the database. */
function sealedKeys(dataDir: string): Buffer[] {
  const database = Sqlite.open(join(dataDir, stateFile))
  try {
    const rows = database.prepare('SELECT sealed FROM agent_keys').all() as { sealed: Uint8Array }[]
    return rows.map(({ sealed }) => Buffer.from(sealed))
  } finally {
    Sqlite.close(database)
  }
}

const endings: { [name: string]: (owned: Owned) => Promise<Answer> } = {
  revoking: ({ call, owner, agentId }) => call(owner, 'POST', '/latchkey/v1/agents/revoke', { agent: agentId }),
  'another token': ({ call, owner, agentId }) =>
    call(owner, 'POST', '/latchkey/v1/agents/rotate', { agent: agentId, wallet_password: password }),
  'deleting the key': async ({ call, owner, walletId, address }) => {
    const wallet = { wallet_id: walletId, wallet_password: password }
    const { wallet_handle_token } = (await call(owner, 'POST', '/v1/wallet/init', wallet)).json
    return call(owner, 'DELETE', '/v1/key', { wallet_handle_token, address, wallet_password: password })
  },
  'deleting the wallet': ({ call, owner, walletId }) =>
    call(owner, 'POST', '/latchkey/v1/wallet/delete', { wallet_id: walletId, wallet_password: password }),
}

for (const [name, end] of Object.entries(endings)) {
  test(`after ${name} the files no longer contain the sealed key, even after a restart`, async (t) => {
    const owned = await startOwned(t)
    const sealed = sealedKeys(owned.dataDir)
    assert.equal(sealed.length, 1)
    assert.notDeepEqual(contain(owned.dataDir, sealed[0]!), [])
    assert.equal((await end(owned)).status, 200)
    assert.deepEqual(contain(owned.dataDir, sealed[0]!), [])
    const expected: [number, string] = name === 'another token' ? [401, 'invalid_token'] : [403, 'agent_ended']
    await signsNothing(owned, owned.token, owned, expected)
    await owned.stop()
    await signsNothing(await startMachine(t, owned.dataDir), owned.token, owned, expected)
    assert.deepEqual(contain(owned.dataDir, sealed[0]!), [])
  })
}

test('renaming the wallet or changing its password ends no agent, and its token is not the password', async (t) => {
  const { call, owner, walletId, agentId, token, ...rest } = await startOwned(t)
  const wallet = { wallet_id: walletId, wallet_password: password }
  const renamed = await call(owner, 'POST', '/v1/wallet/rename', { ...wallet, wallet_name: 'another name' })
  const changed = await call(owner, 'POST', '/latchkey/v1/wallet/password', { ...wallet, new_wallet_password: 'new' })
  assert.deepEqual([renamed.status, changed.status], [200, 200])
  assert.equal((await sign({ call, dataDir: rest.dataDir }, token, rest.address, 5n)).status, 200)
  const rotate = { agent: agentId, wallet_password: password }
  assert.equal((await call(owner, 'POST', '/latchkey/v1/agents/rotate', rotate)).code, 'wrong_password')
  const again = await call(owner, 'POST', '/latchkey/v1/agents/rotate', { ...rotate, wallet_password: 'new' })
  assert.equal(again.status, 200)
})
