/** KM: passwords and keys do not stay in the daemon's memory after the operation that needed them. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { start } from '../../process/commands.test.helper.js'
import { occurrences } from './memory.test.helper.js'

/** Returns a text that occurs nowhere else. */
const marker = (): string => `marker-${randomBytes(16).toString('hex')}`
/** Returns the key in its sent and stored forms. */
const forms = (name: string, key: Buffer): { [name: string]: Buffer } => ({
  [name]: key,
  [`${name} in base64`]: Buffer.from(key.toString('base64').slice(0, 42)),
  [`${name} as integers`]: Buffer.from([...key].join(',')),
})

for (const wire of ['reference', 'documented'] as const) {
  test(`secrets on the ${wire} wire are wiped`, { skip: process.platform !== 'linux' }, async (t) => {
    const kmd = await start(t, { settings: { wire } })
    const [password, next, wrong] = [marker(), marker(), marker()]
    const masterKey = randomBytes(32)
    const imported = randomBytes(32)
    const needles = {
      password: Buffer.from(password),
      'new password': Buffer.from(next),
      'wrong password': Buffer.from(wrong),
      ...forms('master derivation key', masterKey),
      ...forms('imported key', imported),
    }
    const left: string[] = []
    const look = async (operation: string): Promise<void> => {
      await kmd.wallets()
      for (const [name, { inRequests, elsewhere }] of Object.entries(occurrences(kmd.pid, needles))) {
        if (elsewhere > 0) left.push(`${operation}: ${name}, ${elsewhere}`)
        // A secret that was sent once is in at most one buffer of the runtime, and not in the body that the daemon
        // received.
        if (name === 'wrong password' && inRequests > 1) left.push(`${operation}: ${name}, in ${inRequests} requests`)
      }
    }
    const created = await kmd.ok('POST', '/v1/wallet', {
      wallet_name: 'w',
      wallet_driver_name: 'sqlite',
      wallet_password: password,
      master_derivation_key: wire === 'reference' ? masterKey.toString('base64') : [...masterKey],
    })
    await look('create')
    const id = created.wallet.id
    assert.equal((await kmd.tryUnlock(id, wrong)).status, 401)
    await look('a wrong password')
    const open = { wallet_handle_token: await kmd.unlock(id, password), wallet_password: password }
    const release = async (): Promise<unknown> =>
      kmd.ok('POST', '/v1/wallet/release', { wallet_handle_token: open.wallet_handle_token })
    const sealed = wire === 'reference' ? imported.toString('base64') : [...imported]
    const { address } = await kmd.ok('POST', '/v1/key/import', {
      wallet_handle_token: open.wallet_handle_token,
      private_key: sealed,
    })
    await kmd.ok('POST', '/v1/program/sign', { ...open, address, data: 'AQ==' })
    await release()
    await look('unlock, import, sign')
    open.wallet_handle_token = await kmd.unlock(id, password)
    await kmd.ok('POST', '/v1/key/export', { ...open, address })
    await release()
    await look('export a key')
    open.wallet_handle_token = await kmd.unlock(id, password)
    await kmd.ok('POST', '/v1/master-key/export', open)
    await release()
    await look('export the master derivation key')
    const byId = { wallet_id: id, wallet_password: password }
    await kmd.ok('POST', '/v1/wallet/rename', { ...byId, wallet_name: 'x' })
    await look('rename')
    await kmd.ok('POST', '/latchkey/v1/wallet/password', { ...byId, new_wallet_password: next })
    await look('change the password')
    assert.deepEqual(left, [])
  })
}
