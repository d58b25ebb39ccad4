/** A derivation takes long enough for the wallet's password to change in the meantime. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Derivation } from '../derivation/Job.js'
import { ScryptPool } from '../derivation/ScryptPool.js'
import { createApp, type TestResponse } from '../testing/TestApp.test.helper.js'
import { sql } from '../testing/WalletFixture.test.helper.js'

/** A derivation that can be held after it has begun. */
class HeldDerivation {
  readonly #pool = new ScryptPool()
  #held: (() => void)[] | undefined

  hold(): void {
    this.#held = []
  }

  get isHolding(): boolean {
    return this.#held !== undefined && this.#held.length > 0
  }

  /** Lets later derivations pass. Held derivations stay held until the returned function is called. */
  keep(): () => void {
    const held = this.#held ?? []
    this.#held = undefined
    return () => {
      for (const release of held) release()
    }
  }

  async derive(derivation: Derivation): Promise<Buffer> {
    const key = await this.#pool.derive(derivation)
    const held = this.#held
    if (held !== undefined) await new Promise<void>((resolve) => held.push(resolve))
    return key
  }
}

async function start(t: TestContext) {
  const derivation = new HeldDerivation()
  const app = createApp(t, { derivation })
  const { id, handle } = await app.unlocked('one', 'old')
  const byId = (password: string, more: object = {}) => ({ wallet_id: id, wallet_password: password, ...more })
  const init = (password: string): Promise<TestResponse> => app.post('/v1/wallet/init', byId(password))
  const change = (password: string, next: string): Promise<TestResponse> =>
    app.post('/latchkey/v1/wallet/password', byId(password, { new_wallet_password: next }))
  /** Starts a request, holds its derivation while `meanwhile` runs, and returns its response. */
  const during = async (request: () => Promise<TestResponse>, meanwhile: () => unknown): Promise<TestResponse> => {
    derivation.hold()
    const response = request()
    while (!derivation.isHolding) await new Promise(setImmediate)
    const release = derivation.keep()
    await meanwhile()
    release()
    return response
  }
  const path = (): string => join(app.directory, readdirSync(app.directory)[0]!)
  return { ...app, id, handle, byId, init, change, during, path }
}

const wrongPassword = (response: TestResponse, status: number): void =>
  assert.deepEqual([response.status, response.json.message], [status, 'error decrypting. wrong password?'])

test('an unlock in progress opens no handle if the password was changed in the meantime', async (t) => {
  const { init, change, during, handles } = await start(t)
  const response = await during(
    () => init('old'),
    async () => assert.equal((await change('old', 'new')).status, 200),
  )
  wrongPassword(response, 401)
  assert.equal(handles.size, 0)
  assert.equal((await init('new')).status, 200)
})

test('the same holds for a rename, a deletion and another password change', async (t) => {
  const { post, byId, change, during, init, wallets } = await start(t)
  const late: [path: string, more: object][] = [
    ['/v1/wallet/rename', { wallet_name: 'stolen' }],
    ['/latchkey/v1/wallet/delete', {}],
    ['/latchkey/v1/wallet/password', { new_wallet_password: 'stolen' }],
  ]
  let password = 'old'
  for (const [index, [path, more]] of late.entries()) {
    const next = `new ${index}`
    const response = await during(
      () => post(path, byId(password, more)),
      async () => assert.equal((await change(password, next)).status, 200),
    )
    wrongPassword(response, 400)
    password = next
  }
  assert.deepEqual(
    (await wallets.list()).map(({ name }) => name.toString()),
    ['one'],
  )
  assert.equal((await init(password)).status, 200)
})

test('of two concurrent password changes one succeeds, and its password opens the wallet', async (t) => {
  const { change, init } = await start(t)
  const responses = await Promise.all([change('old', 'a'), change('old', 'b')])
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 400])
  const opened = await Promise.all([init('a'), init('b')])
  assert.deepEqual(
    opened.map(({ status }) => status),
    responses.map(({ status }) => (status === 200 ? 200 : 401)),
  )
})

test('an unlock in progress uses the wrapped key that another program has replaced in the meantime', async (t) => {
  const { init, during, path, change } = await start(t)
  const [{ mep: old }] = sql(path(), 'SELECT mep_encrypted AS mep FROM metadata') as [{ mep: Uint8Array }]
  await change('old', 'old')
  const same = await during(
    () => init('old'),
    () => sql(path(), 'UPDATE metadata SET mep_encrypted = ?', old),
  )
  assert.equal(same.status, 200, 'wrapped again, under the same password')
  await change('old', 'new')
  const restored = await during(
    () => init('new'),
    () => sql(path(), 'UPDATE metadata SET mep_encrypted = ?', old),
  )
  wrongPassword(restored, 401)
})

test('a live handle exports nothing with a password that another program has changed', async (t) => {
  const { post, handle, change, init, path } = await start(t)
  const [{ mep: old }] = sql(path(), 'SELECT mep_encrypted AS mep FROM metadata') as [{ mep: Uint8Array }]
  const exporting = (token: string, password: string): Promise<TestResponse> =>
    post('/v1/master-key/export', { wallet_handle_token: token, wallet_password: password })
  assert.equal((await exporting(handle, 'old')).status, 200)
  await change('old', 'new')
  const opened = (await init('new')).json.wallet_handle_token
  assert.equal((await exporting(opened, 'new')).status, 200)
  sql(path(), 'UPDATE metadata SET mep_encrypted = ?', old)
  // A request after the change is in a later turn of the event loop, because the file is checked once per turn.
  await new Promise(setImmediate)
  wrongPassword(await exporting(opened, 'new'), 400)
})

test('a handle that is being opened while the wallet is deleted does not outlive it', async (t) => {
  const { post, byId, init, during, handles } = await start(t)
  const response = await during(
    () => init('old'),
    async () => assert.equal((await post('/latchkey/v1/wallet/delete', byId('old'))).status, 200),
  )
  assert.notEqual(response.status, 200)
  assert.equal(handles.size, 0)
})
