/** No secret of an agent is in any file of the daemon: tokens, derived keys, private keys, passwords. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as AgentToken from '../agents/AgentToken.js'
import { DaemonApp } from '../process/DaemonApp.js'
import { network, payment, rules } from '../testing/agents.test.helper.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'

// biome-ignore lint/suspicious/noExplicitAny: a test reads responses member by member
type Json = any

const passwords = { right: 'marked-password-1', wrong: 'marked-password-2', new: 'marked-password-3' }
const asking = { ...rules, ask: { above: [{ network, asset_id: '0', amount: '50000' }], over_limit: true } }

type Call = (path: string, body: object | undefined, expected?: number, token?: string) => Promise<Json>

async function open(t: TestContext): Promise<{ call: Call; dataDir: string }> {
  const dataDir = temporaryDirectory(t)
  const drivers = { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } } }
  // The webhook fails, so that the log also has the errors about it.
  const config = { drivers, audit: 'all', log_level: 'info', approval_webhook: 'http://127.0.0.1:9/' }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(config))
  const app = await DaemonApp.open({ dataDir })
  t.after(() => app.close())
  const owner = readFileSync(app.tokenFile, 'utf8').trim()
  const call: Call = async (path, body, expected = 200, token = owner) => {
    const method = body === undefined ? 'GET' : 'POST'
    const init = { method, headers: { 'X-KMD-API-Token': token }, ...(body && { body: JSON.stringify(body) }) }
    const response = await app.fetch(new Request(`http://localhost${path}`, init))
    const text = await response.text()
    assert.equal(response.status, expected, `${path}: ${text}`)
    return JSON.parse(text)
  }
  return { call, dataDir }
}

/** Performs every operation of agents and their owner with secrets, and returns the secrets. */
async function doEverything(call: Call): Promise<Map<string, string>> {
  const password = { wallet_password: passwords.right }
  const { wallet } = await call('/v1/wallet', { wallet_name: 'w', wallet_driver_name: 'sqlite', ...password })
  const unlocked = await call('/v1/wallet/init', { wallet_id: wallet.id, ...password })
  const held = { wallet_handle_token: unlocked.wallet_handle_token }
  const { address } = await call('/v1/key', held)
  const exported = await call('/v1/key/export', { ...held, ...password, address })
  const grant = { name: 'shopper', wallet_id: wallet.id, addresses: [address], rules: asking }
  await call('/latchkey/v1/agents', { ...grant, wallet_password: passwords.wrong }, 400)
  const { agent, token: first } = await call('/latchkey/v1/agents', { ...grant, ...password })
  await call('/latchkey/v1/agents/rotate', { agent: agent.id, wallet_password: passwords.wrong }, 400)
  const { token } = await call('/latchkey/v1/agents/rotate', { agent: agent.id, ...password })
  const own = (path: string, body: object | undefined, status?: number): Promise<Json> =>
    call(path, body, status, token)
  await call('/latchkey/v1/agent', undefined, 401, first)
  await own('/latchkey/v1/agent', undefined)
  const small = payment(address, { amt: 10n })
  await own('/latchkey/v1/agent/sign', { transaction: small, claimed_url: 'https://shop.example/' })
  const handle = (await own('/v1/wallet/init', { wallet_id: wallet.id, ...password })).wallet_handle_token
  await own('/v1/transaction/sign', { wallet_handle_token: handle, transaction: small, ...password })
  await own('/v1/key/export', { wallet_handle_token: handle, address, ...password }, 403)
  const [approved, denied] = [60_000n, 70_000n].map((amt) => ({ transaction: payment(address, { amt }) }))
  const { approval } = await own('/latchkey/v1/agent/sign', approved!, 202)
  const other = await own('/latchkey/v1/agent/sign', denied!, 202)
  await call('/latchkey/v1/approvals/approve', { approval_id: approval.id })
  await call('/latchkey/v1/approvals/deny', { approval_id: other.approval.id })
  await own('/latchkey/v1/agent/sign', approved!)
  await own('/latchkey/v1/agent/sign', denied!, 403)
  await call('/latchkey/v1/agents/pause', { agent: agent.id })
  await own('/latchkey/v1/agent/sign', approved!, 403)
  await call('/latchkey/v1/agents/resume', { agent: agent.id, ...password })
  const changed = { wallet_id: wallet.id, ...password, new_wallet_password: passwords.new }
  await call('/latchkey/v1/wallet/password', changed)
  await call('/latchkey/v1/agents/revoke', { agent: agent.id })
  await own('/latchkey/v1/agent/sign', approved!, 403)
  return secretsOf({ first, token, handle, ownerHandle: held.wallet_handle_token, key: exported.private_key })
}

function secretsOf(texts: { first: string; token: string; handle: string; ownerHandle: string; key: string }) {
  const secrets = new Map<string, string>(Object.entries(passwords))
  for (const [name, text] of Object.entries(texts)) secrets.set(name, text)
  const bytes = new Map<string, Uint8Array>([['private key', Buffer.from(texts.key, 'base64').subarray(0, 32)]])
  for (const name of ['first', 'token'] as const) {
    const parts = AgentToken.parse(texts[name])!
    bytes.set(`secret of ${name}`, parts.secret)
    bytes.set(`sealing key of ${name}`, AgentToken.derive(parts).sealingKey)
  }
  for (const [name, value] of bytes) {
    const buffer = Buffer.from(value)
    for (const encoding of ['latin1', 'hex', 'base64url'] as const) {
      secrets.set(`${name} as ${encoding}`, buffer.toString(encoding))
    }
    secrets.set(`${name} as base64`, buffer.toString('base64').replace(/=+$/, ''))
  }
  return secrets
}

test('no secret of an agent is in any file', async (t) => {
  const { call, dataDir } = await open(t)
  const secrets = await doEverything(call)
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(dataDir, file)).isFile(),
  )
  const expected = ['latchkey_state.db', 'latchkey_state.db-wal', 'latchkey_audit.head', 'kmd.log']
  for (const file of expected) assert.ok(files.includes(file), `${file} is not there`)
  for (const file of files) {
    const content = readFileSync(join(dataDir, file)).toString('latin1')
    for (const [name, secret] of secrets) {
      assert.ok(secret.length >= 16, name)
      assert.ok(!content.includes(secret), `${name} is in ${file}`)
    }
  }
})
