/** The behaviour if the log cannot be written, and if an event repeats too often. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Bytes, Transaction } from '@latchkey/algorand'
import { createApp, type TestApp, type TestAppOptions } from '../testing/TestApp.test.helper.js'
import { hold } from '../testing/WalletFixture.test.helper.js'
import type { FoundRecord } from './searchLog.js'

/** Makes the database reject writes, as on a full disk, until the returned function is called. */
const block = (app: TestApp): (() => void) => hold(join(app.stateDirectory, 'latchkey_state.db'))

async function recordsOf(app: TestApp): Promise<readonly FoundRecord[]> {
  return (await app.context.audit.search({ afterNumber: 0, count: 1_000 })).records
}

const password = { wallet_password: 'secret' }

async function prepare(t: TestContext, options: TestAppOptions = {}) {
  const app = createApp(t, options)
  const { id, handle } = await app.unlocked()
  const held = { wallet_handle_token: handle }
  const { address } = (await app.post('/v1/key', held)).json as { address: string }
  const transaction = Bytes.toBase64(Transaction.encode({ type: 'pay', snd: Address.decode(address) }))
  return { app, id, held, address, transaction }
}

for (const mode of ['agents', 'all'] as const) {
  test(`no secret leaves and nothing is deleted without a record, with audit: ${mode}`, async (t) => {
    const { app, id, held, address } = await prepare(t, { mode })
    app.context.pendingBackups.add(id)
    const release = block(app)
    const before = app.handles.size
    const requests = [
      ['POST', '/v1/key/export', { ...held, ...password, address }],
      ['POST', '/v1/master-key/export', { ...held, ...password }],
      ['POST', '/latchkey/v1/wallet/backup', { ...held, ...password }],
      ['DELETE', '/v1/key', { ...held, ...password, address }],
      ['DELETE', '/v1/multisig', { ...held, ...password, address }],
      ['POST', '/latchkey/v1/wallet/delete', { wallet_id: id, ...password }],
    ] as const
    for (const [method, path, body] of requests) {
      const { status, headers, json } = await app.request(method, path, { body })
      assert.deepEqual([path, status, headers.get('latchkey-error')], [path, 503, 'state_not_written'])
      assert.deepEqual(Object.keys(json).sort(), ['error', 'message'])
    }
    release()
    assert.equal(app.handles.size, before)
    assert.deepEqual((await app.post('/v1/key/list', held)).json.addresses, [address])
    assert.equal((await app.post('/v1/key/export', { ...held, ...password, address })).status, 200)
    assert.equal((await app.context.audit.verify()).problem, undefined)
  })
}

test('a deletion is recorded even if its subject could not be determined', async (t) => {
  const { app, id } = await prepare(t)
  const { wallets } = app.context
  const { find } = wallets
  t.mock.method(wallets, 'find', find).mock.mockImplementationOnce(() => Promise.reject(new Error('EMFILE')))
  const { status } = await app.post('/latchkey/v1/wallet/delete', { wallet_id: id, ...password })
  assert.equal(status, 200)
  assert.equal((await recordsOf(app)).at(-1)!.event, 'wallet_deleted')
})

test('a defect in the state database is reported with its cause, not as a log that cannot be written', async (t) => {
  const { app, id, held, address } = await prepare(t)
  const { audit } = app.context
  const requests = [
    ['POST', '/v1/key/export', { ...held, ...password, address }, 'ExportKey'],
    ['DELETE', '/v1/key', { ...held, ...password, address }, 'DeleteKey'],
    ['POST', '/latchkey/v1/wallet/delete', { wallet_id: id, ...password }, 'DeleteWallet'],
  ] as const
  const change = t.mock.method(audit, 'change', () => Promise.reject(new TypeError('event is undefined')))
  const probe = t.mock.method(audit, 'probe', () => Promise.reject(new TypeError('event is undefined')))
  for (const [method, path, body, operation] of requests) {
    const { status, headers } = await app.request(method, path, { body })
    assert.deepEqual([path, status, headers.get('latchkey-error')], [path, 500, 'internal'])
    assert.equal(app.failures.at(-1), `${operation}: TypeError: event is undefined`)
  }
  for (const { mock } of [change, probe]) mock.restore()
  assert.deepEqual((await app.post('/v1/key/list', held)).json.addresses, [address])
})

test('the owner can work without a log, and the log later states how many records it missed', async (t) => {
  const { app, id, held, transaction } = await prepare(t)
  const release = block(app)
  assert.equal((await app.post('/v1/wallet/init', { wallet_id: id, ...password })).status, 200)
  assert.equal((await app.post('/v1/key', held)).status, 200)
  assert.equal((await app.post('/v1/transaction/sign', { ...held, ...password, transaction })).status, 200)
  assert.equal((await app.post('/v1/wallet/init', { wallet_id: id, wallet_password: 'no' })).status, 401)
  await app.recorder.flush()
  assert.equal(app.recorder.lost, 3)
  release()
  await app.post('/v1/key', held)
  const records = await recordsOf(app)
  assert.deepEqual(
    records.slice(-2).map(({ event, detail }) => [event, detail]),
    [
      ['records_lost', { count: '3' }],
      ['key_generated', undefined],
    ],
  )
  await app.post('/v1/key', held)
  assert.equal((await recordsOf(app)).filter(({ event }) => event === 'records_lost').length, 1)
})

test('with audit: all, nothing is done without a record, and no signature leaves', async (t) => {
  const { app, id, held, address, transaction } = await prepare(t, { mode: 'all' })
  const release = block(app)
  const { size } = app.handles
  const requests = [
    ['/v1/wallet', { wallet_name: 'two', wallet_driver_name: 'sqlite', ...password }],
    ['/v1/wallet/init', { wallet_id: id, ...password }],
    ['/v1/wallet/rename', { wallet_id: id, ...password, wallet_name: 'other' }],
    ['/latchkey/v1/wallet/password', { wallet_id: id, ...password, new_wallet_password: 'new' }],
    ['/v1/key', held],
    ['/v1/key/import', { ...held, private_key: Bytes.toBase64(new Uint8Array(32).fill(5)) }],
    ['/v1/transaction/sign', { ...held, ...password, transaction }],
    ['/v1/program/sign', { ...held, ...password, address, data: 'AQ==' }],
  ] as const
  for (const [path, body] of requests) {
    const { status, headers, json } = await app.post(path, body)
    assert.deepEqual([path, status, headers.get('latchkey-error')], [path, 503, 'state_not_written'])
    assert.deepEqual(Object.keys(json).sort(), ['error', 'message'])
  }
  release()
  assert.equal(app.handles.size, size, 'a handle that was not recorded is closed')
  assert.deepEqual((await app.post('/v1/key/list', held)).json.addresses, [address])
  const { wallets } = (await app.request('GET', '/v1/wallets')).json
  assert.deepEqual([wallets.length, wallets[0].name], [1, 'one'])
  assert.equal((await app.post('/v1/transaction/sign', { ...held, ...password, transaction })).status, 200)
  assert.equal((await recordsOf(app)).at(-1)!.event, 'transaction_signed')
})

test("with audit: agents, the owner's signatures are not recorded, but a wrong password for one is", async (t) => {
  const { app, id, held, transaction } = await prepare(t)
  const { length } = await recordsOf(app)
  assert.equal((await app.post('/v1/transaction/sign', { ...held, ...password, transaction })).status, 200)
  assert.equal((await recordsOf(app)).length, length)
  const wrong = await app.post('/v1/transaction/sign', { ...held, wallet_password: 'wrong', transaction })
  assert.equal(wrong.status, 400)
  const { event, wallet, detail } = (await recordsOf(app)).at(-1)!
  assert.deepEqual([event, wallet, detail], ['wrong_password', id, { operation: 'SignTransaction' }])
})

test('a flood of wrong passwords leaves a few records a minute for each wallet, and a count', async (t) => {
  const { app, id } = await prepare(t)
  const other = await app.unlocked('two')
  const wrong = (wallet: string) => app.post('/v1/wallet/init', { wallet_id: wallet, wallet_password: '' })
  for (let index = 0; index < 100; index++) assert.equal((await wrong(id)).status, 401)
  await wrong(other.id)
  const found = async () => (await recordsOf(app)).filter(({ event }) => event === 'wrong_password')
  assert.deepEqual(
    (await found()).map(({ wallet }) => wallet),
    [id, id, id, id, id, other.id],
  )
  app.advance(60_000)
  await wrong(id)
  const counted = (await found()).slice(6)
  assert.deepEqual(
    counted.map(({ wallet, detail }) => [wallet, detail!['more']]),
    [
      [id, '95'],
      [id, undefined],
    ],
  )
  for (let index = 0; index < 10; index++) await wrong(id)
  await app.recorder.close()
  assert.equal((await found()).at(-1)!.detail!['more'], '6')
})
