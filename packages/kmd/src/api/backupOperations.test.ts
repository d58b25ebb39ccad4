/** A console session sees the recovery mnemonic of a wallet that it created, until the wallet is backed up. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createApp, type TestApp, type TestResponse, temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { PendingBackups } from '../wallet/PendingBackups.js'

type Client = (
  path: string,
  body?: object,
) => Promise<Pick<TestResponse, 'status' | 'json'> & { code: string | undefined }>

/** A page of the console with its own session. */
function openPage(app: TestApp): Client {
  const headers = { 'x-kmd-api-token': app.sessions.open() }
  return async (path, body) => {
    const response = await app.request(body === undefined ? 'GET' : 'POST', path, { headers, body })
    return { status: response.status, code: response.headers.get('latchkey-error'), json: response.json }
  }
}

async function createInConsole(page: Client): Promise<{ id: string; handle: string }> {
  const created = await page('/v1/wallet', {
    wallet_name: 'w',
    wallet_driver_name: 'sqlite',
    wallet_password: 'secret',
  })
  const { id } = created.json.wallet
  const opened = await page('/v1/wallet/init', { wallet_id: id, wallet_password: 'secret' })
  return { id, handle: opened.json.wallet_handle_token }
}

const backUp = '/latchkey/v1/wallet/backup'
const pending = async (page: Client): Promise<string[]> =>
  (await page('/latchkey/v1/wallet/backups')).json.wallet_ids ?? []

test('the key of a wallet created in the console is shown with the password, until its backup is finished', async (t) => {
  const app = createApp(t)
  const page = openPage(app)
  const { id, handle } = await createInConsole(page)
  assert.deepEqual(await pending(page), [id])
  const credentials = { wallet_handle_token: handle, wallet_password: 'secret' }
  const shown = await page(backUp, credentials)
  const exported = await app.post('/v1/master-key/export', credentials)
  assert.equal(shown.json.master_derivation_key, exported.json.master_derivation_key)
  assert.equal((await page(backUp, { ...credentials, wallet_password: 'wrong' })).code, 'wrong_password')
  assert.equal((await page(backUp, { ...credentials, wallet_password: '' })).code, 'wrong_password')

  assert.equal((await page(`${backUp}/finish`, { wallet_id: id })).status, 200)
  assert.deepEqual(await pending(page), [])
  assert.deepEqual(
    [(await page(backUp, credentials)).status, (await page(backUp, credentials)).code],
    [403, 'backup_not_pending'],
  )
  assert.equal((await page('/v1/master-key/export', credentials)).code, 'console_refused')
})

test('a session cannot see the key of a wallet that it did not create', async (t) => {
  const app = createApp(t)
  const page = openPage(app)
  const { id, handle } = await app.unlocked()
  assert.deepEqual(await pending(page), [])
  const credentials = { wallet_handle_token: handle, wallet_password: 'secret' }
  assert.equal((await page(backUp, credentials)).code, 'backup_not_pending')
  // Renaming the wallet or marking it as backed up does not help either.
  await page('/v1/wallet/rename', { wallet_id: id, wallet_password: 'secret', wallet_name: 'other' })
  await page(`${backUp}/finish`, { wallet_id: id })
  assert.equal((await page(backUp, credentials)).code, 'backup_not_pending')
})

test('the key is not shown if the backup was finished while a request waited for the password check', async (t) => {
  const app = createApp(t)
  const page = openPage(app)
  const { id, handle } = await createInConsole(page)
  const wrong = { wallet_handle_token: handle, wallet_password: 'wrong' }
  for (let guess = 0; guess < 5; guess++) await page(backUp, wrong)
  const waiting = page(backUp, { ...wrong, wallet_password: 'secret' })
  app.context.pendingBackups.remove(id)
  assert.equal((await waiting).code, 'backup_not_pending')
})

function fileOf(t: TestContext): string {
  return join(temporaryDirectory(t), 'latchkey_backups.json')
}

test('pending backups survive a restart, in a file that only the owner can read', (t) => {
  const file = fileOf(t)
  const backups = new PendingBackups({ file })
  backups.add('one')
  backups.add('two')
  backups.remove('one')
  backups.remove('unknown')
  assert.deepEqual(new PendingBackups({ file }).list(), ['two'])
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('a damaged list prevents no wallet creation, is reported and stays unchanged', (t) => {
  const file = fileOf(t)
  for (const content of ['{', '{"version":2,"wallets":[]}', '{"version":1,"wallets":[1]}']) {
    writeFileSync(file, content)
    const failures: unknown[] = []
    const backups = new PendingBackups({ file, onFailure: (error) => failures.push(error) })
    backups.add('one')
    assert.equal((failures[0] as { code?: string }).code, 'state_file_damaged')
    assert.throws(() => backups.has('one'), { code: 'state_file_damaged' })
    assert.equal(readFileSync(file, 'utf8'), content)
  }
})

test('a list that cannot be written is reported when a wallet is created', (t) => {
  const file = fileOf(t)
  mkdirSync(`${file}.new`)
  const failures: unknown[] = []
  new PendingBackups({ file, onFailure: (error) => failures.push(error) }).add('one')
  assert.equal((failures[0] as { code?: string }).code, 'state_file_not_saved')
})
