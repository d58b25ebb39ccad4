import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Address, Bytes, Mnemonic, Network, Transaction } from '@latchkey/algorand'
import { operations } from '../api/Operations.js'
import { createApp, quietNode, type TestApp, token } from '../testing/TestApp.test.helper.js'
import type { FoundRecord } from './searchLog.js'

const base64 = (bytes: Uint8Array): string => Bytes.toBase64(bytes)

test('an operation whose response is a secret must be recorded', () => {
  for (const { id, response, audit } of operations) {
    const isSecret = response.some(({ shape }) => shape.type === 'key')
    if (isSecret) assert.equal(typeof audit === 'object' && audit.required, 'always', id)
  }
})

async function recordsOf(app: TestApp): Promise<readonly FoundRecord[]> {
  return (await app.context.audit.search({ afterNumber: 0, count: 1_000 })).records
}

const secrets = {
  password: 'marked-password-1',
  newPassword: 'marked-password-2',
  wrongPassword: 'marked-password-3',
  seed: Buffer.alloc(32, 'marked-seed'),
  masterKey: Buffer.alloc(32, 'marked-master'),
}

/** Performs everything that is recorded, once, and returns the values that must never be in a file. */
async function doEverything(app: TestApp): Promise<{ leaked: Map<string, string>; id: string; address: string }> {
  const ok = async (path: string, body: object, method = 'POST') => {
    const response = await app.request(method, path, { body })
    assert.equal(response.status, 200, `${path}: ${response.text}`)
    return response.json
  }
  const { password, newPassword, wrongPassword, seed, masterKey } = secrets
  const secretsOf = { wallet_password: password }
  const create = {
    wallet_name: 'one',
    wallet_driver_name: 'sqlite',
    ...secretsOf,
    master_derivation_key: base64(masterKey),
  }
  const { id } = (await ok('/v1/wallet', create)).wallet
  const handle = (await ok('/v1/wallet/init', { wallet_id: id, ...secretsOf })).wallet_handle_token
  const wrong = await app.post('/v1/wallet/init', { wallet_id: id, wallet_password: wrongPassword })
  assert.equal(wrong.status, 401)
  const held = { wallet_handle_token: handle }
  const { address } = await ok('/v1/key', held)
  const imported = (await ok('/v1/key/import', { ...held, private_key: base64(seed) })).address
  const exported = await ok('/v1/key/export', { ...held, ...secretsOf, address })
  const master = await ok('/v1/master-key/export', { ...held, ...secretsOf })
  const member = Address.decode(address)
  const pks = [member, Address.decode(imported)].map(base64)
  const account = (await ok('/v1/multisig/import', { ...held, multisig_version: 1, threshold: 2, pks })).address
  await ok('/v1/multisig/export', { ...held, address: account })
  const pay = { type: 'pay', rcv: member, amt: 7n, fee: 1000n, fv: 1n, lv: 9n, gh: new Uint8Array(32) } as const
  const transaction = base64(Transaction.encode({ ...pay, snd: member }))
  const fromAccount = base64(Transaction.encode({ ...pay, snd: Address.decode(account) }))
  await ok('/v1/transaction/sign', { ...held, ...secretsOf, transaction })
  await ok('/v1/multisig/sign', { ...held, ...secretsOf, transaction: fromAccount, public_key: base64(member) })
  const program = { data: 'AQ==' }
  await ok('/v1/program/sign', { ...held, ...secretsOf, ...program, address })
  const programBody = { ...held, ...secretsOf, ...program, address: account, public_key: base64(member) }
  await ok('/v1/multisig/signprogram', programBody)
  const sold = { network: Network.testnet.caip2, resource_url: 'https://shop.example/a', payer: imported }
  await ok('/latchkey/v1/receipt/sign', { ...held, ...secretsOf, ...sold, address, transaction_id: 'A'.repeat(52) })
  const { payer: _, ...resource } = sold
  const terms = { scheme: 'exact', asset: '0', pay_to: imported, amount: '5', valid_until: 2_000_000_000 }
  await ok('/latchkey/v1/offer/sign', { ...held, ...secretsOf, ...resource, ...terms, address })
  app.context.pendingBackups.add(id)
  await ok('/latchkey/v1/wallet/backup', { ...held, ...secretsOf })
  await ok('/v1/multisig', { ...held, ...secretsOf, address: account }, 'DELETE')
  await ok('/v1/key', { ...held, ...secretsOf, address: imported }, 'DELETE')
  await ok('/v1/wallet/rename', { wallet_id: id, ...secretsOf, wallet_name: 'two' })
  await ok('/latchkey/v1/wallet/password', { wallet_id: id, ...secretsOf, new_wallet_password: newPassword })
  const ticket = app.tickets.create()
  const session = (await ok('/latchkey/v1/console/session', { ticket })).session_token
  const { note } = await ok('/latchkey/v1/audit/anchor', {})
  const anchored = { note, transaction_id: 'A'.repeat(52), address, network: base64(new Uint8Array(32)), round: 3 }
  await ok('/latchkey/v1/audit/anchored', anchored)
  await ok('/latchkey/v1/wallet/delete', { wallet_id: id, wallet_password: newPassword })
  const leaked = new Map([
    ...[
      ['handle', handle],
      ['API token', token],
      ['ticket', ticket],
      ['session', session],
    ],
    ...[
      ['private key', exported.private_key],
      ['master key', master.master_derivation_key],
    ],
  ] as [string, string][])
  return { leaked, id, address }
}

const changes = [
  ...['wallet_created', 'wallet_unlocked', 'wrong_password', 'key_generated', 'key_imported', 'key_exported'],
  ...['master_key_exported', 'multisig_imported', 'multisig_exported'],
]
const signatures = [
  ...['transaction_signed', 'multisig_signed', 'program_signed', 'multisig_signed', 'receipt_signed', 'offer_signed'],
]
const ends = [
  ...['master_key_exported', 'multisig_deleted', 'key_deleted', 'wallet_renamed', 'password_changed'],
  ...['console_opened', 'log_anchored', 'wallet_deleted'],
]

for (const mode of ['agents', 'all'] as const) {
  test(`everything important is recorded, with audit: ${mode}`, async (t) => {
    const app = createApp(t, { node: quietNode, mode })
    const { id, address } = await doEverything(app)
    const records = await recordsOf(app)
    assert.deepEqual(
      records.map(({ event }) => event),
      [...changes, ...(mode === 'all' ? signatures : []), ...ends],
    )
    for (const { event, wallet } of records) {
      assert.equal(wallet, ['console_opened', 'log_anchored'].includes(event) ? undefined : id, event)
    }
    const one = (event: string) => records.find((record) => record.event === event)!
    assert.equal(one('key_exported').address, address)
    assert.deepEqual(one('wallet_renamed').detail, { wallet_name: 'one', new_name: 'two' })
    assert.equal(one('wallet_deleted').detail!['wallet_name'], 'two')
    assert.deepEqual(one('wrong_password').detail, { operation: 'InitWalletHandleToken' })
    assert.deepEqual(one('console_opened').actor, { type: 'console' })
    if (mode === 'all') {
      const { transaction, detail } = one('transaction_signed')
      assert.match(transaction!, /^[A-Z2-7]{52}$/)
      const fees = { fee_micro_algos: '1000', asset_id: '0' }
      assert.deepEqual(detail, { ...fees, type: 'pay', sender: address, receiver: address, amount: '7' })
    }
    assert.equal((await app.context.audit.verify()).problem, undefined)
  })
}

test('no file of the log contains a secret', async (t) => {
  const app = createApp(t, { node: quietNode, mode: 'all' })
  const { leaked } = await doEverything(app)
  for (const [name, value] of Object.entries(secrets)) {
    const bytes = Buffer.from(value)
    leaked.set(`${name} as text`, bytes.toString('latin1'))
    leaked.set(`${name} in base64`, bytes.toString('base64').replace(/=+$/, ''))
    leaked.set(`${name} in hex`, bytes.toString('hex'))
  }
  for (const [name, value] of [...leaked]) {
    if (!name.endsWith('key')) continue
    const bytes = Buffer.from(value, 'base64')
    leaked.set(`${name} as bytes`, bytes.toString('latin1'))
    leaked.set(`${name} in hex`, bytes.toString('hex'))
    if (bytes.length >= 32) leaked.set(`${name} as a mnemonic`, Mnemonic.encode(bytes.subarray(0, 32)))
  }
  const files = readdirSync(app.stateDirectory)
  assert.ok(files.some((file) => file.endsWith('-wal')))
  for (const file of files) {
    const content = readFileSync(join(app.stateDirectory, file)).toString('latin1')
    for (const [name, value] of leaked) {
      assert.ok(value.length >= 8, name)
      assert.ok(!content.includes(value), `${name} is in ${file}`)
    }
  }
})

test('the actor is the console for requests of its sessions', async (t) => {
  const app = createApp(t)
  const { handle } = await app.unlocked()
  const headers = { 'x-kmd-api-token': app.sessions.open() }
  await app.request('POST', '/v1/key', { headers, body: { wallet_handle_token: handle } })
  assert.deepEqual((await recordsOf(app)).at(-1)!.actor, { type: 'console' })
})
